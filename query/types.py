"""What goes into a search and what comes out of it.

Everything here is frozen; the service turns it into JSON field by field, under the same names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from index.types import Millis, Scalar


class Mode(StrEnum):
    """How chunks are found: the method itself, or a baseline beside it."""

    LAZY = "lazy"
    HYBRID = "hybrid"
    VECTOR = "vector"
    BM25 = "bm25"
    GLOBAL = "global"


CONTEXT = 8_000
"""Tokens of text that a model answers from in a baseline, unless a question says otherwise."""

BASELINES = frozenset({Mode.HYBRID, Mode.VECTOR, Mode.BM25})
"""Modes that rank and spend no relevance test."""


class Outcome(StrEnum):
    """What an answer is; a closed list. All but ``ANSWERED`` are ways of having no record."""

    ANSWERED = "answered"
    NEVER_SEEN = "never_seen"
    EXPIRED = "expired"
    OUTSIDE_FILTER = "outside_filter"
    NOT_YET_INDEXED = "not_yet_indexed"
    BUDGET_SPENT = "budget_spent"


class Stopped(StrEnum):
    """Why a search ended; a closed list."""

    BUDGET_SPENT = "budget_spent"
    NOTHING_LEFT = "nothing_left"
    BARREN = "barren"
    NO_CANDIDATES = "no_candidates"
    CANCELLED = "cancelled"
    DEADLINE = "deadline"


class TimeAxis(StrEnum):
    """Which time ``since`` and ``until`` speak of."""

    OBSERVED = "observed"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Filters:
    """Limits applied before anything is ranked; ``[since, until)`` on one axis of time."""

    since: Millis | None = None
    until: Millis | None = None
    time: TimeAxis = TimeAxis.EVENT
    source: tuple[str, ...] = ()
    lang: tuple[str, ...] = ()
    where: Mapping[str, Scalar] = field(default_factory=dict)


class Preset(StrEnum):
    """A budget with the roles of models that the announcement of LazyGraphRAG measured."""

    Z100_LITE = "z100_lite"
    Z500 = "z500"
    Z1500 = "z1500"


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its one knob, the relevance test budget (at least 1).

    ``window`` and ``amounts`` say whether times and amounts in its words become filters;
    ``preset`` whether it was asked as one of those. ``context`` is how many tokens of text a
    model answers from in a baseline, or reads at once in mode ``global``; ``level`` (0 is C0) the
    communities that this mode reads, None the deepest that the budget can visit. ``payer`` names
    the account that its spending on models counts towards, beside the day's; "" is none.
    """

    text: str
    budget: int
    mode: Mode = Mode.LAZY
    filters: Filters = field(default_factory=Filters)
    window: bool = True
    amounts: bool = True
    preset: Preset | None = None
    context: int = CONTEXT
    level: int | None = None
    payer: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """A time read from a question's words, ``[since, until)`` by the index's own clock.

    ``applied`` is False where the time lies before the first document, and the whole index was
    searched: what a document tells of may be older than the document.
    """

    since: Millis | None
    until: Millis | None
    time: TimeAxis
    from_words: str
    applied: bool = True


@dataclass(frozen=True, slots=True)
class AmountRange:
    """Values that a question asks for; None is without an end.

    Both ends are included, or with ``strict`` neither. ``kind`` and ``unit`` as in
    ``index.types.Facet``; a count without a unit may be of anything.
    """

    kind: str
    unit: str
    low: float | None
    high: float | None
    from_words: str
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Citation:
    """A quoted sentence: ``quote == document.text[start:end]``. Times in milliseconds."""

    document_id: str
    chunk_id: str
    start: int
    end: int
    quote: str
    title: str
    source: str
    url: str
    published_at: Millis | None
    observed_at: Millis
    lang: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement with the numbers (from 1) of the citations that carry it.

    ``community`` is the community that its group belongs to (0, the root, for none).
    """

    text: str
    citations: tuple[int, ...]
    community: int
    score: float


@dataclass(frozen=True, slots=True)
class StageCost:
    """What one stage of a search has spent; ``untested`` of the tests brought no verdict."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    relevance_tests: int = 0
    remembered: int = 0
    untested: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Searched:
    """What stood to be searched, after the filters: for an honest "no record"."""

    documents: int
    chunks: int
    since: Millis | None
    until: Millis | None
    newest_arrival: Millis | None


@dataclass(frozen=True, slots=True)
class Found:
    """A document of the final ranking, best first; ``score`` orders and means no more."""

    document_id: str
    title: str
    score: float
    tested: bool
    relevant: bool


@dataclass(frozen=True, slots=True)
class CountedDocument:
    """A document that was counted."""

    document_id: str
    title: str


@dataclass(frozen=True, slots=True)
class CountedConcept:
    """A concept that was counted, with the ids of its documents."""

    name: str
    key: str
    documents: int
    document_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """What a question asked to be counted: ``value`` is exact, over all that was searched.

    ``documents`` and ``concepts`` list what was counted, most first, up to a limit; ``value`` tells
    where there are more.
    """

    value: int
    what: str
    documents: tuple[CountedDocument, ...] = ()
    concepts: tuple[CountedConcept, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer. ``text`` cites by ``[n]``, n counting ``citations`` from 1."""

    question: str
    text: str
    outcome: Outcome
    stopped: Stopped
    citations: tuple[Citation, ...]
    claims: tuple[Claim, ...]
    ranking: tuple[Found, ...]
    searched: Searched
    ledger: Mapping[str, StageCost]
    budget: int
    assessor: str
    mode: Mode
    generation: int
    watermark: Millis
    positions: Mapping[tuple[str, int], int]
    subqueries: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    window: Window | None = None
    amounts: tuple[AmountRange, ...] = ()
    counted: Counted | None = None
    preset: Preset | None = None


class EventKind(StrEnum):
    """What a search tells while it unfolds; the names of its server-sent events."""

    STARTED = "started"
    RANKED = "ranked"
    TESTED = "tested"
    DESCENDED = "descended"
    CLAIM = "claim"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class SearchEvent:
    """One step of a search; ``detail`` holds plain JSON values, ``answer`` only the last one."""

    kind: EventKind
    detail: Mapping[str, object] = field(default_factory=dict)
    answer: Answer | None = None
