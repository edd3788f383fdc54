"""Why there is no record: what the question names and the index lacks, and which kind of lack."""

from dataclasses import dataclass

from index.types import BoolArray
from index.view import View
from query.graph import SearchGraph
from query.plan import rows_of_name
from query.types import Outcome, Stopped
from query.words import names


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
        held = rows_of_name(name, view, graph)
        if rows[held].any():
            continue
        absent.append(name)
        outside &= len(held) > 0
        once_known &= graph.snapshot.concept(name.lower()) is not None
    return Missing(tuple(absent), outside, once_known) if absent else None


def why_nothing(*, stopped: Stopped, outside: bool, documents: int, backlog: int) -> Outcome:
    """The outcome of a search that found nothing relevant, though it names nothing unknown."""
    if outside:
        return Outcome.OUTSIDE_FILTER
    if backlog or not documents:
        return Outcome.NOT_YET_INDEXED
    if stopped in {Stopped.BUDGET_SPENT, Stopped.DEADLINE, Stopped.CANCELLED}:
        return Outcome.BUDGET_SPENT
    return Outcome.NEVER_SEEN
