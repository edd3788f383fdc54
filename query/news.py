"""What can be had without a question, behind one door for the service and the command line."""

from index.types import Millis
from index.view import View
from query import overview, stories, trends
from query.changes import Time
from query.errors import BadFilterError
from query.graph import GraphCache, SearchGraph
from query.trends import TrendsAsked
from query.types_news import (
    Communities,
    CommunityCard,
    ConceptCard,
    News,
    Order,
    TimeRow,
    Trends,
)


class Newsroom:
    """Stories, counts over time, communities and concepts of a pinned view.

    Uses no model and no budget. Safe to use from several threads. Windows are half open, in
    milliseconds since 1970.
    """

    def __init__(self, graphs: GraphCache | None = None) -> None:
        self._graphs = graphs or GraphCache()

    def new(
        self,
        view: View,
        *,
        about: str | None = None,
        since: Millis,
        until: Millis,
        limit: int = 20,
    ) -> News:
        """See ``stories.new``."""
        _check(since, until)
        return stories.new(view, self._graph(view), about, since, until, limit)

    def timeseries(
        self,
        view: View,
        *,
        concept: str,
        interval: Millis,
        since: Millis,
        until: Millis,
        time: Time = Time.OBSERVED,
    ) -> tuple[TimeRow, ...]:
        """See ``stories.timeseries``."""
        _check(since, until)
        if interval <= 0:
            raise BadFilterError("the interval must be longer than nothing")
        return stories.timeseries(view, self._graph(view), concept, interval, since, until, time)

    def trends(self, view: View, asked: TrendsAsked) -> Trends:
        """See ``trends.trends``."""
        return trends.trends(view, self._graph(view), asked)

    def communities(
        self,
        view: View,
        *,
        level: int = 0,
        order: Order = Order.SIZE,
        since: Millis,
        limit: int = 20,
    ) -> Communities:
        """See ``overview.communities``."""
        return overview.communities(view, self._graph(view), level, order, since, limit)

    def community(self, view: View, community: int, *, since: Millis) -> CommunityCard:
        """See ``overview.community``."""
        return overview.community(view, self._graph(view), community, since)

    def concept(self, view: View, key: str) -> ConceptCard:
        """See ``overview.concept``."""
        return overview.concept(view, self._graph(view), key)

    def _graph(self, view: View) -> SearchGraph:
        return self._graphs.of(view.snapshot)


def _check(since: Millis, until: Millis) -> None:
    if since >= until:
        raise BadFilterError("the window is empty: since must be before until")
