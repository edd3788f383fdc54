"""Why there is no record: what the question names and the index lacks, and which kind of lack."""

from dataclasses import dataclass

import numpy as np

from index.analysis.normalise import name_key
from index.types import BoolArray, Int64Array, from_millis
from index.view import View
from query.graph import SearchGraph
from query.plan import rows_of_name
from query.types import Outcome, Stopped
from query.words import Name, names, years


@dataclass(frozen=True, slots=True)
class Missing:
    """Names of a question that the searched chunks do not hold, and why."""

    names: tuple[str, ...]
    outside: bool
    once_known: bool

    def outcome(self, backlog: int) -> Outcome:
        """Outside the filter, expired, not yet indexed, or never seen."""
        if self.outside:
            return Outcome.OUTSIDE_FILTER
        if self.once_known:
            return Outcome.EXPIRED
        return Outcome.NOT_YET_INDEXED if backlog else Outcome.NEVER_SEEN


def missing(text: str, view: View, graph: SearchGraph, rows: BoolArray) -> Missing | None:
    """The names in a question that no allowed chunk holds; None where all are held."""
    absent, outside, once_known = [], True, True
    for name in names(text):
        held = _rows_of(name, view, graph)
        if rows[held].any():
            continue
        absent.append(name.text)
        outside &= len(held) > 0
        once_known &= _once_known(name.text, graph)
    if not absent:
        absent = _years_ahead(text, view, graph, rows)
        outside = once_known = False
    return Missing(tuple(absent), outside, once_known) if absent else None


def _years_ahead(text: str, view: View, graph: SearchGraph, rows: BoolArray) -> list[str]:
    """Years after all that the index has seen, that no chunk names beside a name asked about."""
    last = from_millis(graph.snapshot.head.watermark).year
    named = np.zeros(len(rows), np.bool_)
    asked = names(text)
    for name in asked:
        named[_rows_of(name, view, graph)] = True
    absent = []
    for year in years(text):
        held = rows_of_name(str(year), view, graph)
        if year > last and not (rows & (named | (not asked)))[held].any():
            absent.append(str(year))
    return absent


def _rows_of(name: Name, view: View, graph: SearchGraph) -> Int64Array:
    """The rows of a name; of the rest of it where its first word is an ordinary one."""
    held = rows_of_name(name.text, view, graph)
    first, _, rest = name.text.partition(" ")
    if len(held) or not (name.opens_sentence and rest):
        return held
    return rows_of_name(rest, view, graph) if len(view.full_text((first,), 1)[0]) else held


def _once_known(name: str, graph: SearchGraph) -> bool:
    keys = (name_key(name.split()), name.lower())
    return any(graph.snapshot.concept(key) is not None for key in keys)


def why_nothing(*, stopped: Stopped, outside: bool, documents: int, backlog: int) -> Outcome:
    """The outcome of a search that found nothing relevant, though it names nothing unknown."""
    if outside:
        return Outcome.OUTSIDE_FILTER
    if backlog or not documents:
        return Outcome.NOT_YET_INDEXED
    if stopped in {Stopped.BUDGET_SPENT, Stopped.DEADLINE, Stopped.CANCELLED}:
        return Outcome.BUDGET_SPENT
    return Outcome.NEVER_SEEN
