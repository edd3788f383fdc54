"""The JSON of stories, communities and concepts: the frozen types under the same names."""

from datetime import datetime

from pydantic import Field

from query.service.models import CitationModel, Identifier, Model, Moment


class DocumentBriefModel(Model):
    """A document in a list; ``change`` is insert, edit or delete, the last without a title."""

    document_id: str
    title: str
    source: str
    url: str
    observed_at: Moment
    event_at: Moment
    change: str
    lang: str = ""


class StoryModel(Model):
    """A community that arrivals touched, with what they were."""

    community: Identifier
    level: int
    concepts: list[str]
    first: DocumentBriefModel
    other_sources: list[str]
    documents: list[DocumentBriefModel]
    document_count: int
    inserts: int
    edits: int
    withdrawals: int
    newest_at: Moment
    quote: CitationModel | None


class NewsModel(Model):
    """What arrived in a window, told as stories, the most recent first."""

    about: str | None
    matched: list[str]
    since: Moment
    until: Moment
    changes: int
    stories_count: int
    stories: list[StoryModel]
    generation: int
    expired: int = Field(0, description="Documents that left the index meanwhile, being too old")


class TimeRowModel(Model):
    """Changes in one interval."""

    start: datetime
    documents: int
    edits: int
    withdrawals: int


class TimeseriesModel(Model):
    """Changes that concern a concept, one row for each interval of `time`."""

    concept: str
    time: str
    interval_seconds: int
    rows: list[TimeRowModel]
    generation: int


class TimelineModel(Model):
    """Documents by event time, one count for each interval from ``start``."""

    start: Moment
    interval_seconds: int
    documents: list[int]


class CommunityModel(Model):
    """A community in a list; ``growth`` is the ratio of recent arrivals to those expected."""

    id: Identifier
    level: int
    parent: Identifier
    concept_count: int
    concepts: list[str]
    documents: int
    recent: int
    growth: float
    samples: list[DocumentBriefModel]
    timeline: TimelineModel | None = None


class CommunityListModel(Model):
    """Communities of one level; ``levels`` is how many there are, ``count`` those of this one."""

    level: int
    levels: int
    count: int
    since: Moment
    order: str
    communities: list[CommunityModel]
    generation: int


class SourceCountModel(Model):
    """Documents of a source."""

    source: str
    documents: int


class SourceListModel(Model):
    """The sources, those with the most documents first."""

    sources: list[SourceCountModel]
    generation: int


class ConceptItemModel(Model):
    """A concept in a list."""

    key: str
    display: str
    kind: str
    frequency: int


class CommunityStoryModel(Model):
    """A community told: its concepts, documents by time, sources, edits, withdrawals, parts."""

    brief: CommunityModel
    keys: list[str] = Field(description="Keys of `concepts`, in the same order")
    concepts: list[ConceptItemModel] = Field(description="The most telling first")
    children: list[CommunityModel]
    documents: list[DocumentBriefModel]
    document_count: int
    sources: list[SourceCountModel]
    edits: int
    withdrawals: int
    generation: int


class ConceptNeighbourModel(Model):
    """A concept seen together with another; ``together`` chunks hold both."""

    key: str
    display: str
    kind: str
    together: int
    weight: float


class ConceptModel(Model):
    """A concept: its neighbours, its communities from C0 down, its newest documents."""

    key: str
    display: str
    kind: str
    frequency: int
    document_count: int
    communities: list[Identifier]
    neighbours: list[ConceptNeighbourModel]
    documents: list[DocumentBriefModel]
    generation: int


class ConceptListModel(Model):
    """Concepts whose key begins with what was asked, the most frequent first."""

    concepts: list[ConceptItemModel]
    generation: int


class TrendModel(Model):
    """A concept or a community that rose beyond its past.

    `key` is the concept's key or the community's id. `expected` are the recent documents that the
    rate of the past would give, `growth` is recent to expected, null without a past. `counts` has
    one count for each interval: a sparkline. `score` is the log-likelihood ratio G2 of the recent
    and the past count, divided by the dispersion of the past; 3.84 is chance at 5%.
    """

    key: str
    label: str
    kind: str
    concepts: list[str]
    recent: int
    past: int
    expected: float
    growth: float | None
    score: float
    counts: list[int]
    newest: DocumentBriefModel


class TrendsModel(Model):
    """What rose since `since`, compared with the window before it, the highest score first.

    All counts have the same intervals, the first from `start`; those from index `recent_from` on
    are recent, and that one begins at `since`. The first and the last may be cut by the window.
    `documents` counts all documents so. A document counts once for each interval.
    """

    kind: str
    level: int | None
    time: str
    past_since: Moment
    since: Moment
    until: Moment
    start: Moment
    interval_seconds: int
    recent_from: int
    recent_documents: int
    past_documents: int
    documents: list[int]
    trends: list[TrendModel]
    generation: int
