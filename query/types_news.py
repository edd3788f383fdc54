"""What can be had without a question: stories, counts over time, communities, concepts.

Everything here is frozen; the service turns it into JSON field by field, under the same names.
"""

from dataclasses import dataclass
from enum import StrEnum

from index.types import Millis
from query.types import Citation


@dataclass(frozen=True, slots=True)
class DocumentBrief:
    """A document in a list. ``change`` is ``insert``, ``edit`` or ``delete``.

    A withdrawn document has no title and no address any more: both are "".
    """

    document_id: str
    title: str
    source: str
    url: str
    observed_at: Millis
    event_at: Millis
    change: str
    lang: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """A community that arrivals touched, with what they were.

    ``concepts`` are surface forms, the most telling first. ``first`` is the arrival that came
    first, ``other_sources`` are the sources after its own, in order of arrival. ``documents``
    are the latest state of each document touched, newest first, at most as many as the caller's
    limit for one story; ``document_count`` counts all. ``inserts``, ``edits`` and
    ``withdrawals`` count changes, not documents.
    """

    community: int
    level: int
    concepts: tuple[str, ...]
    first: DocumentBrief
    other_sources: tuple[str, ...]
    documents: tuple[DocumentBrief, ...]
    document_count: int
    inserts: int
    edits: int
    withdrawals: int
    newest_at: Millis
    quote: Citation | None


@dataclass(frozen=True, slots=True)
class News:
    """What arrived in ``[since, until)``, told as stories, the most recent first.

    ``matched`` are the surface forms of the concepts that X stood for; empty together with a
    given ``about`` means that the index has no concept of that name. ``changes`` counts all
    changes in the window that concern X; ``stories_count`` all stories before the limit;
    ``expired`` the documents that left the index meanwhile, which are no story.
    """

    about: str | None
    matched: tuple[str, ...]
    since: Millis
    until: Millis
    changes: int
    stories_count: int
    stories: tuple[Story, ...]
    generation: int
    expired: int = 0


@dataclass(frozen=True, slots=True)
class TimeRow:
    """Changes in ``[start, start + interval)``; ``start`` is ISO 8601 in UTC."""

    start: str
    documents: int
    edits: int
    withdrawals: int


@dataclass(frozen=True, slots=True)
class CommunityBrief:
    """A community in a list.

    ``concept_count`` is its size; ``documents`` counts those with a chunk that counts in it;
    ``recent`` those of them that arrived in the window asked for. ``growth`` is the ratio of
    recent arrivals to those expected from the community's share of all documents (1: as
    expected). ``samples`` are its newest documents.
    """

    id: int
    level: int
    parent: int
    concept_count: int
    concepts: tuple[str, ...]
    documents: int
    recent: int
    growth: float
    samples: tuple[DocumentBrief, ...]


class Order(StrEnum):
    """How communities are ordered."""

    SIZE = "size"
    GROWTH = "growth"


@dataclass(frozen=True, slots=True)
class Communities:
    """The first communities of a level in the order asked for."""

    level: int
    levels: int
    count: int
    since: Millis
    communities: tuple[CommunityBrief, ...]
    generation: int


@dataclass(frozen=True, slots=True)
class CommunityCard:
    """A community by id with its children; ``concepts`` with keys, the most frequent first."""

    brief: CommunityBrief
    keys: tuple[str, ...]
    children: tuple[CommunityBrief, ...]
    generation: int


@dataclass(frozen=True, slots=True)
class ConceptNeighbour:
    """A concept seen together with another: ``together`` chunks hold both.

    ``weight`` is ``p(x,y) * log2(p(x,y) / (p(x) p(y)))`` with the exact sums of the generation.
    """

    key: str
    display: str
    kind: str
    together: int
    weight: float


@dataclass(frozen=True, slots=True)
class ConceptCard:
    """A concept: its chunk frequency f, its heaviest neighbours, its newest documents.

    ``communities`` are the communities that hold it, from C0 down; ``document_count`` counts
    all documents that name it in a chunk or in their title.
    """

    key: str
    display: str
    kind: str
    frequency: int
    document_count: int
    communities: tuple[int, ...]
    neighbours: tuple[ConceptNeighbour, ...]
    documents: tuple[DocumentBrief, ...]
    generation: int


@dataclass(frozen=True, slots=True)
class Trend:
    """A concept or a community that rose beyond its past.

    ``key`` is the concept's key or the community's id, ``label`` what people read, ``kind`` the
    concept's kind or ``community``, ``concepts`` surface forms. ``recent`` and ``past`` count
    documents; ``expected`` are the recent ones that the rate of the past would give, ``growth``
    is recent to expected, None without a past. ``counts`` has one count for each interval.
    ``newest`` is the document that named it last.
    """

    key: str
    label: str
    kind: str
    concepts: tuple[str, ...]
    recent: int
    past: int
    expected: float
    growth: float | None
    score: float
    counts: tuple[int, ...]
    newest: DocumentBrief


@dataclass(frozen=True, slots=True)
class Trends:
    """What rose in ``[since, until)`` against ``[past_since, since)``, the highest score first.

    ``kind`` is ``concept`` or ``community`` (then of ``level``), ``time`` ``observed`` or
    ``event``. All counts have the same intervals of ``interval_seconds``, the first from
    ``start``; those from index ``recent_from`` on are recent, and that one begins at ``since``.
    The first and the last may be cut by the window. ``documents`` counts all documents so.
    """

    kind: str
    level: int | None
    time: str
    past_since: Millis
    since: Millis
    until: Millis
    start: Millis
    interval_seconds: int
    recent_from: int
    recent_documents: int
    past_documents: int
    documents: tuple[int, ...]
    trends: tuple[Trend, ...]
    generation: int
