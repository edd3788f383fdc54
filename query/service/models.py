"""The JSON of questions and answers: the frozen types, field by field, under the same names.

Times become ISO 8601 in UTC, ids strings, positions lists. Within ``/v1`` fields are only added.
"""

from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import Annotated, Any, overload

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt
from pydantic_core import PydanticCustomError

from index.types import from_millis
from query.service.times import MOMENT, MOMENT_OR_NULL_SCHEMA
from query.types import CONTEXT, Mode, Outcome, Preset, Stopped, TimeAxis


@overload
def when(millis: int) -> datetime: ...
@overload
def when(millis: None) -> None: ...
def when(millis: int | None) -> datetime | None:
    """The moment of milliseconds since 1970, where there is one."""
    return None if millis is None else from_millis(millis)


def _moment(value: Any) -> Any:
    return from_millis(value) if isinstance(value, int) else value


def _positions(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return [
        {"topic": topic, "partition": partition, "offset": offset}
        for (topic, partition), offset in sorted(value.items())
    ]


Moment = Annotated[datetime, BeforeValidator(_moment)]
"""Milliseconds since 1970 inside, ISO 8601 in UTC outside."""
Identifier = Annotated[str, BeforeValidator(str)]
"""A number inside, a string outside, so that no client counts with it."""
JsonScalar = str | int | float | bool | None


def _whole(value: Any) -> Any:
    """1.0 as 1: JSON does not tell them apart, and a schema calls both an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _storable(value: Any) -> Any:
    """A value that metadata can hold and the store can be asked for."""
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise PydanticCustomError("whole_number_size", "A whole number has at most 64 bits")
    if isinstance(value, float) and not isfinite(value):
        raise PydanticCustomError("finite_number", "A number must be finite")
    return value


Wanted = Annotated[JsonScalar, BeforeValidator(_storable)]
"""A value that metadata shall have."""
WholeNumber = Annotated[StrictInt, BeforeValidator(_whole)]


class Model(BaseModel):
    """Base of the responses: built from the frozen types by attribute."""

    model_config = ConfigDict(from_attributes=True)


class PositionModel(Model):
    """A stream position: the next offset of a partition."""

    topic: str
    partition: int
    offset: int


Positions = Annotated[list[PositionModel], BeforeValidator(_positions)]


class QuestionRequest(BaseModel):
    """A question with its budget and filters; filters hold before anything is ranked."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(description="The question, in any language", min_length=1)
    budget: WholeNumber | None = Field(
        default=None,
        description="Relevance tests that may be spent; the service's default when left out",
        json_schema_extra={"minimum": 1},
    )
    mode: Mode = Field(default=Mode.LAZY, description="The method, or a baseline beside it")
    since: str | None = Field(
        default=None,
        description=f"First moment: {MOMENT}",
        json_schema_extra=MOMENT_OR_NULL_SCHEMA,
    )
    until: str | None = Field(
        default=None,
        description=f"First moment after: {MOMENT}",
        json_schema_extra=MOMENT_OR_NULL_SCHEMA,
    )
    time: TimeAxis = Field(
        default=TimeAxis.EVENT, description="The time that since and until speak of"
    )
    source: list[str] = Field(default_factory=list, description="Only these sources")
    lang: list[str] = Field(default_factory=list, description="Only these languages")
    where: dict[str, Wanted] = Field(
        default_factory=dict,
        description="Only documents whose metadata has these values",
        max_length=50,
    )
    window: StrictBool = Field(
        default=True,
        description="Whether times in the question's words become a window of event time, by the "
        "index's own clock; with since or until none is read",
    )
    amounts: StrictBool = Field(
        default=True,
        description="Whether amounts that the question compares with limit what is searched",
    )
    preset: Preset | None = Field(
        default=None,
        description="Budget and roles of models as the announcement of LazyGraphRAG measured them",
    )


class SearchRequest(QuestionRequest):
    """A question that is asked once."""

    context: WholeNumber = Field(
        default=CONTEXT,
        description="Tokens of text that a model answers from in modes vector, bm25 and hybrid, "
        "or reads at once in mode global",
    )
    level: WholeNumber | None = Field(
        default=None,
        description="Mode global: the level of the communities that are read, 0 for C0; when left "
        "out the deepest that the budget can visit",
    )


class CitationModel(Model):
    """A quoted sentence: ``quote`` is the document's text from ``start`` to ``end``."""

    document_id: str
    chunk_id: str
    start: int
    end: int
    quote: str
    title: str
    source: str
    url: str
    published_at: Moment | None
    observed_at: Moment
    lang: str = Field(default="", description="Language of the document; empty: not known")


class ClaimModel(Model):
    """A statement; ``citations`` are numbers, from 1, into the answer's citations."""

    text: str
    citations: list[int]
    community: Identifier
    score: float


class StageCostModel(Model):
    """What one stage of the search has spent."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    relevance_tests: int
    remembered: int
    untested: int
    seconds: float


class SearchedModel(Model):
    """What stood to be searched after the filters."""

    documents: int
    chunks: int
    since: Moment | None
    until: Moment | None
    newest_arrival: Moment | None


class FoundModel(Model):
    """A document of the final ranking, best first."""

    document_id: str
    title: str
    score: float
    tested: bool
    relevant: bool


class WindowModel(Model):
    """A time read from the question's words, [since, until) by the index's own clock."""

    since: Moment | None
    until: Moment | None
    time: TimeAxis
    from_words: str
    applied: bool = Field(
        description="False: it is before the first document, and all times were searched"
    )


class AmountModel(Model):
    """Values that the question asks for; null is without an end."""

    kind: str
    unit: str
    low: float | None
    high: float | None
    from_words: str
    strict: bool = Field(description="Whether the ends themselves are left out")


class CountedDocumentModel(Model):
    """A document that was counted."""

    document_id: str
    title: str


class CountedConceptModel(Model):
    """A concept that was counted, with the number of its documents and the first of them."""

    name: str
    key: str
    documents: int
    document_ids: list[str]


class CountedModel(Model):
    """What was counted: ``value`` is exact, the lists may stop before it."""

    value: int
    what: str
    documents: list[CountedDocumentModel]
    concepts: list[CountedConceptModel]


class AnswerModel(Model):
    """An answer: ``answer`` cites by ``[n]``, n counting ``citations`` from 1."""

    question: str
    answer: str = Field(validation_alias="text")
    outcome: Outcome
    stopped: Stopped
    citations: list[CitationModel]
    claims: list[ClaimModel]
    ranking: list[FoundModel]
    searched: SearchedModel
    ledger: dict[str, StageCostModel]
    budget: int
    assessor: str
    mode: Mode
    generation: int
    watermark: Moment
    positions: Positions
    subqueries: list[str]
    degraded: list[str]
    window: WindowModel | None = Field(
        default=None, description="The time that was read from the question's words"
    )
    amounts: list[AmountModel] = Field(
        default_factory=list, description="The amounts that were read from the question's words"
    )
    counted: CountedModel | None = Field(
        default=None, description="The number that the question asked for, with its list"
    )
    preset: Preset | None = None
