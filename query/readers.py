"""What a model reads in the modes beside the lazy search: a context, or every community."""

from collections.abc import Sequence
from dataclasses import dataclass

from query.assessor import Verdict
from query.candidates import Texts
from query.claims import cite
from query.context import Context, Source, filled
from query.lazy import ROOT, RelevanceTest
from query.ledger import Ledger
from query.model.assessor import untested
from query.model.points import Mapped, Point, best
from query.model.session import ModelSession
from query.parts import Part
from query.types import Citation, Claim


@dataclass(frozen=True, slots=True)
class Gathered:
    """Claims with the citations that they number; ``text`` where they are worded already."""

    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    text: str | None = None


class Reader:
    """Reads for one search; ``tokens`` bound a context, and the points that are reduced."""

    def __init__(
        self, model: ModelSession, texts: Texts, ledger: Ledger, *, tokens: int, longest: int
    ) -> None:
        self._model = model
        self._texts = texts
        self._ledger = ledger
        self._tokens = tokens
        self._longest = longest
        self._mapped: list[tuple[int, Context, Mapped]] = []

    def from_top(self, part: Part, text: str, slots: Sequence[int]) -> Gathered | None:
        """Answer from the first chunks that fit; None where the model could not."""
        contexts = filled(part.candidates.of(slots), self._tokens)
        if not contexts:
            return Gathered((), ())
        found = self._model.answer_from(text, contexts[0], self._cite)
        if found is None:
            return None
        citations, words = found
        claims = [
            Claim(citation.quote, (number,), ROOT, 1.0)
            for number, citation in enumerate(citations, start=1)
        ]
        return Gathered(tuple(claims), citations, words or None)

    def collect(self, part: Part, text: str, steps: Sequence[RelevanceTest]) -> list[Verdict]:
        """The map step: have the model say what each of some communities holds on a question."""
        asked = [
            (step.community or ROOT, context)
            for step in steps
            for context in filled(part.candidates.of(step.slots), self._tokens)
        ]
        found = self._model.collect(text, [context for _, context in asked])
        verdicts: list[Verdict] = []
        for (community, context), mapped in zip(asked, found, strict=True):
            if mapped is not None:
                self._mapped.append((community, context, mapped))
                verdicts += _verdicts(context, mapped)
            elif self._model.lost:
                verdicts += self._model.assess(part.candidates.subquery, context.chunks)
            else:
                self._ledger.untested("map", len(context.chunks))
                verdicts += [untested(chunk) for chunk in context.chunks]
        return verdicts

    def gathered(self) -> Gathered | None:
        """The points of all communities as claims; None where the model was lost on the way."""
        if self._model.lost:
            return None
        numbers: dict[Citation, int] = {}
        claims = []
        groups = [((community, context), mapped) for community, context, mapped in self._mapped]
        for (community, context), point in best(groups, self._tokens):
            quotes = [self._cite(context.sources[at]) for at in point.sources]
            cited = [
                numbers.setdefault(quote, len(numbers) + 1) for quote in quotes if quote is not None
            ]
            if cited:
                claims.append(Claim(point.text, tuple(cited), community, point.score))
        removed = sum(mapped.removed for _, _, mapped in self._mapped)
        if removed:
            self._model.notes.append(
                f"Citations of sentences that do not exist were removed from points: {removed}."
            )
        return Gathered(tuple(claims), tuple(numbers))

    def _cite(self, source: Source) -> Citation | None:
        slot = source.candidate.slot
        chunk, document = self._texts.chunk(slot), self._texts.document(slot)
        return cite(chunk, document, source.candidate.sentences[source.sentence], self._longest)


def _verdicts(context: Context, mapped: Mapped) -> list[Verdict]:
    """A chunk is relevant where a point cites it, with the score of the best such point."""
    by_slot: dict[int, list[tuple[Point, int]]] = {chunk.slot: [] for chunk in context.chunks}
    for point in mapped.points:
        for at in point.sources:
            source = context.sources[at]
            by_slot[source.candidate.slot].append((point, source.sentence))
    verdicts = []
    for slot, cited in by_slot.items():
        cited.sort(key=lambda item: -item[0].score)
        sentences = tuple(dict.fromkeys(sentence for _, sentence in cited))
        score = cited[0][0].score if cited else 0.0
        verdicts.append(Verdict(slot, score, bool(cited), sentences))
    return verdicts
