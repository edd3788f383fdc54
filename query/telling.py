"""What a search tells while it unfolds: its steps as events with plain values."""

from collections.abc import Iterable, Sequence

from query.assessor import Verdict
from query.lazy import Descent, RelevanceTest
from query.types import Citation, Claim, EventKind, SearchEvent


def tested(step: RelevanceTest, verdicts: Iterable[Verdict], budget: int) -> SearchEvent:
    """A test was made; ``verdicts`` are all so far."""
    so_far = list(verdicts)
    return SearchEvent(
        EventKind.TESTED,
        {
            "subquery": step.subquery,
            "community": step.community,
            "level": step.level,
            "tested": len(so_far),
            "relevant": sum(bool(verdict.relevant) for verdict in so_far),
            "budget": budget,
        },
    )


def descended(step: Descent) -> SearchEvent:
    """The search went down."""
    return SearchEvent(
        EventKind.DESCENDED,
        {
            "subquery": step.subquery,
            "relevant": list(step.relevant),
            "entered": list(step.entered),
        },
    )


def claimed(claim: Claim, citations: Sequence[Citation]) -> SearchEvent:
    """A claim stands, with the document of its first citation."""
    first = citations[claim.citations[0] - 1]
    return SearchEvent(
        EventKind.CLAIM,
        {
            "text": claim.text,
            "citations": list(claim.citations),
            "community": claim.community,
            "score": claim.score,
            "document_id": first.document_id,
            "title": first.title,
        },
    )
