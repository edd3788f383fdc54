"""Extractive claims: quoted sentences, grouped by community, with all their sources."""

from collections.abc import Sequence
from dataclasses import dataclass

from index.view import StoredChunk, StoredDocument
from query.assessor import Verdict, stems
from query.settings import ClaimSettings
from query.types import Citation, Claim


@dataclass(frozen=True, slots=True)
class Evidence:
    """A chunk to quote, with its verdict and what it is worth in the end.

    ``sentences`` are offsets into the chunk's text, ``community`` is the chunk's main home.
    """

    chunk: StoredChunk
    document: StoredDocument
    sentences: tuple[tuple[int, int], ...]
    verdict: Verdict
    worth: float
    community: int


@dataclass(frozen=True, slots=True)
class _Quote:
    citation: Citation
    stems: frozenset[str]
    community: int
    score: float
    worth: float


def extract(
    evidence: Sequence[Evidence], settings: ClaimSettings
) -> tuple[tuple[Claim, ...], tuple[Citation, ...]]:
    """Claims from relevant chunks, best first, and the citations that they number from 1.

    Each chunk gives its best sentences; sentences that say nearly the same are one claim with
    all their sources. Claims of one community stand together, communities in the order of their
    best claim, no community with more than its share while others have claims left.
    """
    merged = _merged(_quotes(evidence, settings), settings.same)
    chosen = _spread(merged, settings)
    citations: list[Citation] = []
    claims = []
    for quotes in _by_community(chosen):
        numbers = []
        for quote in quotes[: settings.sources_each]:
            citations.append(quote.citation)
            numbers.append(len(citations))
        first = quotes[0]
        claims.append(Claim(first.citation.quote, tuple(numbers), first.community, first.score))
    return tuple(claims), tuple(citations)


def _quotes(evidence: Sequence[Evidence], settings: ClaimSettings) -> list[_Quote]:
    found = []
    for item in evidence:
        for place, at in enumerate(item.verdict.sentences[: settings.sentences_each]):
            citation = cite(item.chunk, item.document, item.sentences[at], settings.longest)
            if citation is not None:
                found.append(
                    _Quote(
                        citation=citation,
                        stems=frozenset(stems(citation.quote)),
                        community=item.community,
                        score=item.verdict.score,
                        worth=item.worth - place,
                    )
                )
    return sorted(found, key=lambda q: (-q.worth, q.citation.document_id, q.citation.start))


def cite(
    chunk: StoredChunk, document: StoredDocument, sentence: tuple[int, int], longest: int
) -> Citation | None:
    """Quote a sentence of a chunk, cut at a word where it is too long; None where it is blank."""
    text = chunk.text[sentence[0] : sentence[1]]
    start = chunk.start + sentence[0] + len(text) - len(text.lstrip())
    quote = text.strip()
    if len(quote) > longest:
        quote = quote[:longest].rsplit(maxsplit=1)[0]
    if not quote or document.text[start : start + len(quote)] != quote:
        return None
    return Citation(
        document_id=document.id,
        chunk_id=chunk.id,
        start=start,
        end=start + len(quote),
        quote=quote,
        title=document.title,
        source=document.source,
        url=document.url,
        published_at=document.published_at,
        observed_at=document.observed_at,
        lang=document.lang,
    )


def _merged(quotes: Sequence[_Quote], same: float) -> list[list[_Quote]]:
    """Quotes that say nearly the same together, the best one first; one of each document."""
    claims: list[list[_Quote]] = []
    for quote in quotes:
        for claim in claims:
            if _alike(claim[0].stems, quote.stems, same):
                if all(q.citation.document_id != quote.citation.document_id for q in claim):
                    claim.append(quote)
                break
        else:
            claims.append([quote])
    return claims


def _alike(left: frozenset[str], right: frozenset[str], same: float) -> bool:
    union = len(left | right)
    return union > 0 and len(left & right) >= same * union


def _spread(claims: Sequence[list[_Quote]], settings: ClaimSettings) -> list[list[_Quote]]:
    """The best claims; first at most ``share`` of a community, then whatever is best."""
    taken: dict[int, int] = {}
    first: list[list[_Quote]] = []
    later: list[list[_Quote]] = []
    for claim in claims:
        community = claim[0].community
        taken[community] = taken.get(community, 0) + 1
        (first if taken[community] <= settings.share else later).append(claim)
    chosen: list[list[_Quote]] = []
    words = 0
    for claim in [*first, *later]:
        words += len(claim[0].citation.quote.split())
        if len(chosen) >= settings.most or (chosen and words > settings.words):
            break
        chosen.append(claim)
    return chosen


def _by_community(claims: Sequence[list[_Quote]]) -> list[list[_Quote]]:
    place: dict[int, int] = {}
    for claim in claims:
        place.setdefault(claim[0].community, len(place))
    return sorted(claims, key=lambda claim: place[claim[0].community])
