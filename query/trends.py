"""Trends: what grew faster than its own past would have it, over windows chosen when asked.

Counted in the change log, as news and counts over time are; ``query.burst`` says how scored.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from index.change_log import DELETE, ChangeColumns
from index.communities.hierarchy import Hierarchy
from index.types import BoolArray, Float64Array, Int64Array, Millis
from index.view import View
from query.briefs import brief_of_change
from query.burst import due, scored, weights
from query.changes import Axis, Time, axis_of, shown
from query.errors import UnknownCommunityError
from query.graph import SearchGraph
from query.homes import Lists, homes
from query.labels import named_by
from query.types_news import Trend, Trends

LEAST_RECENT = 2
"""Recent documents below which nothing is a trend; ours."""
LEAST_SCORE = 3.84
"""Score below which a rise is chance: chi-square of one degree of freedom at 5%."""
NAMED = 5
"""Concepts that a community is named by."""


class Subject(StrEnum):
    """What is looked at."""

    CONCEPT = "concept"
    COMMUNITY = "community"


@dataclass(frozen=True, slots=True)
class TrendsAsked:
    """``[since, until)`` is compared with the ``window`` milliseconds before ``since``.

    ``level`` is of communities; None takes C1, or C0 where there is no deeper level.
    ``half_life`` in milliseconds, None for none: a document counts half for the score when it is
    that much older; the counts told stay whole.
    """

    since: Millis
    until: Millis
    window: Millis
    subject: Subject = Subject.CONCEPT
    time: Time = Time.OBSERVED
    level: int | None = None
    half_life: Millis | None = None
    limit: int = 20


@dataclass(frozen=True, slots=True, eq=False)
class _Named:
    """Changes in order of time, with what each names.

    ``bar`` int64[n] is the interval of each change. ``subjects`` are n lists of places in
    ``ids``, of which only those with ``held`` bool[k] count.
    """

    changes: ChangeColumns
    bar: Int64Array
    subjects: Lists
    ids: Int64Array
    held: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class _Risen:
    """What rose, the highest score first.

    ``places`` int64[k] among the subjects, ``counts`` int64[k, intervals], ``score`` float64[k],
    ``newest`` int64[k] the last change that names each; the intervals before ``since`` are the
    past.
    """

    places: Int64Array
    counts: Int64Array
    newest: Int64Array
    score: Float64Array
    since: int

    @property
    def recent(self) -> Int64Array:
        """int64[k]: recent documents of each."""
        found: Int64Array = self.counts[:, self.since :].sum(1)
        return found

    @property
    def past(self) -> Int64Array:
        """int64[k]: past documents of each."""
        found: Int64Array = self.counts[:, : self.since].sum(1)
        return found


def trends(view: View, graph: SearchGraph, asked: TrendsAsked) -> Trends:
    """What rose most beyond its past, the highest score first.

    A document counts once in each interval in which it arrived or was edited, unless it was
    withdrawn in it.

    Raises:
        BadFilterError: A window is empty.
        UnknownCommunityError: The hierarchy has no such level.
    """
    level = _level(graph, asked)
    axis = axis_of(asked.since, asked.until, asked.window)
    changes, bar = _counted(view, asked, axis)
    if asked.subject is Subject.COMMUNITY:
        named = _communities(graph, changes, bar, level)
    else:
        named = _concepts(graph, changes, bar)
    everything = np.bincount(bar, minlength=axis.count)
    weight = weights(everything, axis, asked.until, asked.half_life)
    chosen, counts, newest = _rising(named, everything, weight, axis.past)
    score = scored(counts, everything, weight, axis.past)
    order = np.lexsort((chosen, -score))
    order = order[score[order] >= LEAST_SCORE][: asked.limit]
    risen = _Risen(chosen[order], counts[order], newest[order], score[order], axis.past)
    expected = due(risen.past, everything, axis.past)
    return Trends(
        kind=asked.subject.value,
        level=level if asked.subject is Subject.COMMUNITY else None,
        time=asked.time.value,
        past_since=Millis(asked.since - asked.window),
        since=asked.since,
        until=asked.until,
        start=axis.start,
        interval_seconds=axis.length // 1000,
        recent_from=axis.past,
        recent_documents=int(everything[axis.past :].sum()),
        past_documents=int(everything[: axis.past].sum()),
        documents=tuple(everything.tolist()),
        trends=_told(view, graph, asked.subject, named, risen, expected),
        generation=graph.snapshot.generation,
    )


def _level(graph: SearchGraph, asked: TrendsAsked) -> int:
    depth = graph.snapshot.hierarchy.depth
    if asked.level is None:
        return max(min(1, depth - 1), 0)
    if not 0 <= asked.level < max(depth, 1):
        raise UnknownCommunityError(
            f"there is no level {asked.level}; the levels are 0 to {max(depth - 1, 0)}"
        )
    return asked.level


def _counted(view: View, asked: TrendsAsked, axis: Axis) -> tuple[ChangeColumns, Int64Array]:
    """The changes that count, in order of time, and the interval of each."""
    first = Millis(asked.since - asked.window)
    changes = view.change_columns(asked.time.between(first, asked.until))
    changes = shown(changes, view.snapshot.head.horizon)
    moments = asked.time.of(changes)
    rows = np.flatnonzero((moments >= first) & (moments < asked.until))
    bar = (moments[rows] - axis.start) // axis.length
    # Of a document's changes in one interval the last counts, in order of commit.
    place = changes.document[rows] * np.int64(axis.count) + bar
    _, last = np.unique(place[::-1], return_index=True)
    kept = np.sort(len(rows) - 1 - last)  # so that equal moments stay in order of commit
    kept = kept[changes.kind[rows[kept]] != DELETE]
    kept = kept[np.argsort(moments[rows[kept]], kind="stable")]
    return changes.take(rows[kept]), bar[kept]


def _concepts(graph: SearchGraph, changes: ChangeColumns, bar: Int64Array) -> _Named:
    """Each change names the concepts of its document that are still there."""
    held = graph.snapshot.frequency > 0
    named = Lists(changes.begin, changes.end, changes.concepts)
    return _Named(changes, bar, named, np.arange(len(held)), held)


def _communities(graph: SearchGraph, changes: ChangeColumns, bar: Int64Array, level: int) -> _Named:
    """Each change names the one community of a level where its document is at home."""
    named = Lists(changes.begin, changes.end, changes.concepts)
    home, _ = homes(named, graph.branches, level, graph.idf)
    inside = home != Hierarchy.NONE
    ids, subject = np.unique(home[inside], return_inverse=True)
    offsets = np.append(0, np.cumsum(inside))
    subjects = Lists.joined(offsets, subject.astype(np.int32))
    return _Named(changes, bar, subjects, ids, np.ones(len(ids), np.bool_))


def _rising(
    named: _Named, everything: Int64Array, weight: Float64Array, past: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """What has a larger share of the recent documents than of the past ones.

    int64[k], places in ``named.ids``; int64[k, intervals], the documents of each; int64[k], the
    last change that names each.
    """
    from query.kernels import count_chosen, weigh_subjects  # noqa: PLC0415  numba loads slowly

    lists, subjects = named.subjects.arrays(), len(named.ids)
    recent, now, before = np.zeros(subjects, np.int64), np.zeros(subjects), np.zeros(subjects)
    if everything[:past].any():
        weigh_subjects(*lists, named.bar, past, weight, recent, now, before)
    rising = now * everything[:past].sum() > before * everything[past:].sum()
    chosen = np.flatnonzero(rising & (recent >= LEAST_RECENT) & named.held)
    row_of = np.full(len(named.ids), -1, np.int32)
    row_of[chosen] = np.arange(len(chosen))
    counts = np.zeros((len(chosen), len(everything)), np.int64)
    newest = np.zeros(len(chosen), np.int64)
    if len(chosen):
        count_chosen(*lists, named.bar, row_of, counts, newest)
    return chosen, counts, newest


def _told(
    view: View,
    graph: SearchGraph,
    subject: Subject,
    named: _Named,
    risen: _Risen,
    expected: Float64Array,
) -> tuple[Trend, ...]:
    """The rows, with names and newest documents read from the store at once."""
    newest = risen.newest.tolist()
    documents = view.documents_named([named.changes.name(at) for at in newest])
    name = _community_names if subject is Subject.COMMUNITY else _concept_names
    rows = zip(
        name(view, graph, named.ids[risen.places].tolist()),
        risen.recent.tolist(),
        risen.past.tolist(),
        expected.tolist(),
        risen.score.tolist(),
        risen.counts.tolist(),
        newest,
        strict=True,
    )
    return tuple(
        Trend(
            key=key,
            label=label,
            kind=kind,
            concepts=concepts,
            recent=recent,
            past=past,
            expected=usual,
            growth=recent / usual if usual else None,
            score=score,
            counts=tuple(counts),
            newest=brief_of_change(named.changes, at, documents),
        )
        for (key, label, kind, concepts), recent, past, usual, score, counts, at in rows
    )


_Name = tuple[str, str, str, tuple[str, ...]]
"""Key, label, kind, concepts."""


def _concept_names(view: View, graph: SearchGraph, numbers: list[int]) -> list[_Name]:
    vocabulary = graph.snapshot.vocabulary
    displays = view.displays(numbers)
    return [
        (vocabulary.key(n), displays[n], vocabulary.kind(n).value, (displays[n],)) for n in numbers
    ]


def _community_names(view: View, graph: SearchGraph, numbers: list[int]) -> list[_Name]:
    names = named_by(view, graph, numbers, NAMED)
    return [
        (str(n), ", ".join(concepts), Subject.COMMUNITY.value, concepts)
        for n, concepts in zip(numbers, names, strict=True)
    ]
