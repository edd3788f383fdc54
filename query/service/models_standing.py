"""The JSON of standing questions and of their updates."""

from pydantic import Field, StrictBool

from index.types import Millis
from query.service.models import (
    CitationModel,
    JsonScalar,
    Model,
    Moment,
    QuestionRequest,
    WholeNumber,
    when,
)
from query.standing.types import Standing, Update, day_of
from query.types import Mode, Preset, TimeAxis


class StandingRequest(QuestionRequest):
    """A question that stays. Spans of its window move with the stream."""

    webhook: str | None = Field(
        default=None, description="Address that updates are posted to, signed", max_length=2000
    )
    tests_a_day: WholeNumber | None = Field(
        default=None,
        description="Chunks tested for the first time in a day (UTC); the service's default "
        "when left out",
        ge=0,
    )


class StandingChange(Model):
    """What is to become of a standing question."""

    paused: StrictBool = Field(description="Whether it sleeps; one that wakes up is asked anew")


class ToldModel(Model):
    """A claim with the quoted sentences that carry it."""

    text: str
    sources: list[CitationModel]


class RewordedModel(Model):
    """A claim before and after."""

    before: ToldModel
    after: ToldModel


class ChangesModel(Model):
    """What became of the claims: all changes from the first on add up to the claims."""

    added: list[ToldModel]
    withdrawn: list[ToldModel]
    reworded: list[RewordedModel] = Field(description="The same said in other words")
    sourced: list[RewordedModel] = Field(description="The same words, carried by other sources")


class UpdateModel(Model):
    """A new answer to a standing question, and what changed against the one before."""

    id: str
    number: int = Field(description="From 1; the id of its event")
    question: str
    generation: int
    at: Moment
    outcome: str
    answer: str = Field(description="Cites by [n], n counting citations from 1")
    citations: list[CitationModel]
    claims: list[ToldModel]
    changes: ChangesModel
    tests: int = Field(description="Chunks tested for the first time")
    remembered: int = Field(description="Chunks whose former verdict was known")
    untested: int = Field(description="Chunks that found the day's tests spent")
    assessor: str


class StandingModel(Model):
    """A standing question and how it stands."""

    id: str
    question: str
    budget: int
    mode: Mode
    since: str | None
    until: str | None
    time: TimeAxis
    source: list[str]
    lang: list[str]
    where: dict[str, JsonScalar]
    webhook: str
    tests_a_day: int
    window: bool = Field(description="Whether times in its words become a window")
    amounts: bool = Field(description="Whether amounts in its words become filters")
    preset: Preset | None
    created_at: Moment
    paused: bool
    updates: int = Field(description="Number of the newest update; 0 before the first")
    generation: int = Field(description="The last one asked; 0 before the first")
    asked_at: Moment | None
    outcome: str
    answer: str
    claims: list[ToldModel]
    tests_today: int
    problem: str = Field(description="What is wrong with its askings, or nothing")
    undelivered: str = Field(description="What is wrong with its deliveries, or nothing")
    secret: str | None = Field(
        default=None, description="Signs what the webhook is sent; told once, at creation"
    )


class StandingListModel(Model):
    """All standing questions, oldest first."""

    available: bool = Field(description="Whether this service keeps standing questions")
    most: int = Field(description="How many there may be")
    standing: list[StandingModel]


class UpdatesModel(Model):
    """Updates of a standing question, oldest first; a bounded number is kept."""

    updates: list[UpdateModel]


def update_json(update: Update) -> bytes:
    """An update as its event has it, and as webhooks and the topic get it."""
    return UpdateModel.model_validate(update).model_dump_json().encode()


def shown(one: Standing, now: Millis, *, secret: bool = False) -> StandingModel:
    """A standing question as clients see it at a moment."""
    terms, state = one.terms, one.state
    return StandingModel(
        id=one.id,
        question=terms.question,
        budget=terms.budget,
        mode=terms.mode,
        since=terms.since,
        until=terms.until,
        time=terms.time,
        source=list(terms.source),
        lang=list(terms.lang),
        where=dict(terms.where),
        webhook=terms.webhook,
        tests_a_day=terms.tests_a_day,
        window=terms.window,
        amounts=terms.amounts,
        preset=terms.preset,
        created_at=when(one.created_at),
        paused=one.paused,
        updates=one.updates,
        generation=state.generation,
        asked_at=when(state.asked_at or None),
        outcome=state.outcome,
        answer=state.answer,
        claims=[ToldModel.model_validate(claim) for claim in state.claims],
        tests_today=state.spent if state.day == day_of(now) else 0,
        problem=state.problem,
        undelivered=one.undelivered,
        secret=one.secret if secret else None,
    )
