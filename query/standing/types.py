"""A standing question, what is kept of it between two askings, and what an update says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from index.types import Millis, Scalar, from_millis
from query.errors import QueryError
from query.types import Citation, Mode, Preset, TimeAxis

NEVER = Millis(0)


def day_of(now: Millis) -> str:
    """The day (UTC) that a question's tests are counted in."""
    return f"{from_millis(now):%Y-%m-%d}"


class UnknownStandingError(QueryError):
    """There is no standing question of that id."""

    code = "unknown_standing"


class TooManyStandingError(QueryError):
    """There are as many standing questions as the settings allow."""

    code = "too_many_standing"


class BadWebhookError(QueryError):
    """The address of a webhook cannot be used."""

    code = "bad_webhook"


class StandingStoreError(QueryError):
    """The store of the standing questions cannot be read or written."""

    code = "standing_store"


@dataclass(frozen=True, slots=True)
class Terms:
    """What is asked, as it was given; the spans of a window move with the stream.

    ``window``, ``amounts``, ``preset`` and ``payer`` as in ``query.types.Question``.
    ``tests_a_day`` bounds the chunks that are tested for the first time in a day (UTC).
    """

    question: str
    budget: int
    mode: Mode = Mode.LAZY
    since: str | None = None
    until: str | None = None
    time: TimeAxis = TimeAxis.EVENT
    source: tuple[str, ...] = ()
    lang: tuple[str, ...] = ()
    where: Mapping[str, Scalar] = field(default_factory=dict)
    webhook: str = ""
    tests_a_day: int = 1000
    window: bool = True
    amounts: bool = True
    preset: Preset | None = None
    payer: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """A claim as subscribers know it: its words, and the quoted sentences that carry it."""

    text: str
    sources: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class Reworded:
    """A claim that says the same thing in other words, or the same words by other sources."""

    before: Told
    after: Told


@dataclass(frozen=True, slots=True)
class Changes:
    """What became of the claims; ``sourced``: the same words, carried by other sources."""

    added: tuple[Told, ...] = ()
    withdrawn: tuple[Told, ...] = ()
    reworded: tuple[Reworded, ...] = ()
    sourced: tuple[Reworded, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything changed."""
        return bool(self.added or self.withdrawn or self.reworded or self.sourced)


@dataclass(frozen=True, slots=True)
class Interest:
    """What wakes a question.

    ``keys`` of concepts that its words may name, held by the index or not yet; ``communities``
    that its claims belong to; ``broad`` where any change does.
    """

    keys: frozenset[str] = frozenset()
    communities: frozenset[int] = frozenset()
    broad: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """What an asking leaves for the next one.

    ``generation`` is the last one asked (0: none), ``day`` and ``spent`` the chunks tested for
    the first time in that day (UTC). ``subqueries`` and ``expanded`` are the model's refinement,
    made once. ``owed`` says that chunks were left untested when the day's budget was spent;
    ``wait_until`` holds the next asking back after a failure.
    """

    generation: int = 0
    asked_at: Millis = NEVER
    outcome: str = ""
    answer: str = ""
    claims: tuple[Told, ...] = ()
    subqueries: tuple[str, ...] = ()
    expanded: str = ""
    day: str = ""
    spent: int = 0
    owed: bool = False
    failures: int = 0
    problem: str = ""
    wait_until: Millis = NEVER


@dataclass(frozen=True, slots=True)
class Standing:
    """A standing question. ``updates`` is the number of its newest update, 0 before the first.

    ``secret`` signs what its webhook is sent; ``undelivered`` says what is wrong there.
    """

    id: str
    terms: Terms
    created_at: Millis
    paused: bool
    secret: str
    updates: int
    state: State
    undelivered: str = ""


@dataclass(frozen=True, slots=True)
class Update:
    """A new answer to a standing question, and what changed against the one before.

    ``tests`` chunks were tested for the first time, ``remembered`` verdicts were used again,
    ``untested`` chunks found the day's budget spent.
    """

    id: str
    number: int
    question: str
    generation: int
    at: Millis
    outcome: str
    answer: str
    citations: tuple[Citation, ...]
    claims: tuple[Told, ...]
    changes: Changes
    tests: int
    remembered: int
    untested: int
    assessor: str


class Channel(StrEnum):
    """Where updates are delivered beside the event stream."""

    TOPIC = "topic"
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True)
class StandingSettings:
    """Bounds of the standing questions; all are ours.

    Attributes:
        most: Standing questions at once.
        history: Updates kept of each.
        verdicts: Verdicts remembered for each.
        every: Least seconds between two askings of one question.
        anew: Seconds after which a question is asked whatever was touched: windows move, and
            what lies outside its concepts may have changed the ranking.
        first_wait, longest_wait: Seconds before a failed asking is tried again; doubled each time.
        topic: Whether updates go to a topic too.
    """

    most: int = 100
    history: int = 100
    verdicts: int = 20_000
    every: float = 5.0
    anew: float = 24 * 3600.0
    first_wait: float = 30.0
    longest_wait: float = 3600.0
    topic: bool = False
