"""Trends: what grew faster than its own past would have it, over windows chosen when asked.

Counted in the change log, as news and counts over time are; ``query.burst`` says how scored.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from index.change_log import DELETE, ChangeColumns
from index.communities.hierarchy import Hierarchy
from index.types import Float64Array, Int64Array, Millis
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

    ``bar`` int64[n] is the interval of each change. Change ``owner[i]`` names ``ids[subject[i]]``.
    """

    changes: ChangeColumns
    bar: Int64Array
    owner: Int64Array
    subject: Int64Array
    ids: Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class _Risen:
    """What rose, the highest score first.

    ``places`` int64[k] among the subjects, ``counts`` int64[k, intervals], ``score`` float64[k];
    the intervals before ``since`` are the past.
    """

    places: Int64Array
    counts: Int64Array
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
    chosen, counts = _rising(named, everything, weight, axis.past)
    score = scored(counts, everything, weight, axis.past)
    order = np.lexsort((chosen, -score))
    order = order[score[order] >= LEAST_SCORE][: asked.limit]
    risen = _Risen(chosen[order], counts[order], score[order], axis.past)
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
    changes = view.change_columns(asked.time.reaching(first))
    changes = shown(changes, view.snapshot.head.horizon)
    moments = asked.time.of(changes)
    rows = np.flatnonzero((moments >= first) & (moments < asked.until))
    bar = (moments[rows] - axis.start) // axis.length
    # Of a document's changes in one interval the last counts, in order of commit.
    place = changes.document[rows] * np.int64(axis.count) + bar
    _, last = np.unique(place[::-1], return_index=True)
    kept = len(rows) - 1 - last
    kept = kept[changes.kind[rows[kept]] != DELETE]
    kept = kept[np.argsort(moments[rows[kept]], kind="stable")]
    return changes.take(rows[kept]), bar[kept]


def _concepts(graph: SearchGraph, changes: ChangeColumns, bar: Int64Array) -> _Named:
    """Each change names the concepts of its document that are still there."""
    held = graph.snapshot.frequency > 0
    inside = held[changes.concepts]
    named = changes.concepts[inside].astype(np.int64)
    ids = np.arange(len(held))
    return _Named(changes, bar, changes.owners()[inside], named, ids)


def _communities(graph: SearchGraph, changes: ChangeColumns, bar: Int64Array, level: int) -> _Named:
    """Each change names the one community of a level where its document is at home."""
    named = Lists(changes.offsets, changes.concepts)
    home, _ = homes(named, graph.branches, level, graph.idf)
    owner = np.flatnonzero(home != Hierarchy.NONE)
    ids, subject = np.unique(home[owner], return_inverse=True)
    return _Named(changes, bar, owner, subject, ids)


def _rising(
    named: _Named, everything: Int64Array, weight: Float64Array, past: int
) -> tuple[Int64Array, Int64Array]:
    """What has a larger share of the recent documents than of the past ones, and its counts.

    int64[k], places in ``named.ids``, and int64[k, intervals].
    """
    bar, size = named.bar[named.owner], len(named.ids)
    told = np.bincount(named.subject[bar >= past], minlength=size) >= LEAST_RECENT
    chosen = np.flatnonzero(told)
    place = np.full(size, -1, np.int64)
    place[chosen] = np.arange(len(chosen))
    kept = np.flatnonzero(told[named.subject])
    cells = place[named.subject[kept]] * len(everything) + bar[kept]
    counts = np.bincount(cells, minlength=len(chosen) * len(everything))
    counts = counts.reshape(-1, len(everything))
    now, before = counts[:, past:] @ weight[past:], counts[:, :past] @ weight[:past]
    rising = now * everything[:past].sum() > before * everything[past:].sum()
    return chosen[rising], counts[rising]


def _told(
    view: View,
    graph: SearchGraph,
    subject: Subject,
    named: _Named,
    risen: _Risen,
    expected: Float64Array,
) -> tuple[Trend, ...]:
    """The rows, with names and newest documents read from the store at once."""
    newest = _newest(named, risen.places)
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


def _newest(named: _Named, places: Int64Array) -> list[int]:
    """The last change that names each of some subjects."""
    wanted = np.full(len(named.ids), -1, np.int64)
    wanted[places] = np.arange(len(places))
    at = wanted[named.subject]
    last = np.zeros(len(places), np.int64)
    np.maximum.at(last, at[at >= 0], named.owner[at >= 0])
    found: list[int] = last.tolist()
    return found


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
