"""The model within one search: what it is asked, what that costs, and what happens without it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from query.assessor import Assessor, Candidate, Verdict
from query.context import Context, Source
from query.ledger import Ledger
from query.memory import Memory
from query.model import assessor, grounded, points, reduce, refine
from query.model.calls import Model, ModelError, Prompt, Reply, Role, read
from query.model.points import Mapped
from query.model.reduce import Sentences
from query.model.refine import Refined
from query.plan import Subquery
from query.types import Citation, Claim

NAME = "model"

_UNUSABLE = "The model's answer could not be used; these are its sources' words."


class ModelSession:
    """An assessor for one search, with refinement and reduction; used by one thread.

    After the first call without a reply the model is left alone: ``fallback`` tests the rest,
    ``lost`` is set, and ``notes`` says in words what the model did not do. What ``memory`` holds
    the model is not asked for; ``lite`` has the model that tests do all the rest too. After
    ``deadline`` (seconds of the ledger) nothing is asked for once more.
    """

    def __init__(
        self,
        model: Model,
        fallback: Assessor,
        ledger: Ledger,
        memory: Memory | None = None,
        *,
        lite: bool = False,
        payer: str = "",
        deadline: float = math.inf,
    ) -> None:
        self._model = model.for_question(payer)
        self._fallback = fallback
        self._ledger = ledger
        self._memory = memory
        self._lite = lite
        self._deadline = deadline
        self._replied = False
        self.lost = False
        self.notes: list[str] = []

    @property
    def name(self) -> str:
        """Whose verdicts these are: the fallback's where the model never replied."""
        return self._fallback.name if self.lost and not self._replied else NAME

    def refine(self, text: str) -> Refined:
        """Subqueries and expanded query; the question itself where none can be had."""
        if self._memory is not None:
            known = self._memory.refinement(text, lite=self._lite)
            if known is not None:
                self._ledger.remembered("refine", 1)
                return known
        (reply,) = self._ask("refine", [refine.question(text)])
        refined = None if reply is None else refine.refined(reply.text)
        if refined is None and not self.lost:
            self.notes.append("The model's subqueries could not be used; the question was asked.")
        if refined is not None and self._memory is not None:
            self._memory.keep_refinement(text, refined, lite=self._lite)
        return refined or Refined((text,), text)

    def assess(self, subquery: Subquery, candidates: Sequence[Candidate]) -> list[Verdict]:
        """See ``Assessor.assess``; what gets no usable verdict is asked for once more."""
        found = self._remembered(subquery, candidates)
        for again in (False, True):
            left = [c for c in candidates if c.slot not in found]
            if left and not self.lost and not (again and self._late):
                found |= self._assessed(subquery, left)
        left = [c for c in candidates if c.slot not in found]
        if self.lost:
            found |= {v.slot: v for v in self._fallback.assess(subquery, left)}
        elif left:
            self._ledger.untested("test", len(left))
        return [found.get(c.slot) or assessor.untested(c) for c in candidates]

    def _remembered(
        self, subquery: Subquery, candidates: Sequence[Candidate]
    ) -> dict[int, Verdict]:
        if self._memory is None:
            return {}
        known = self._memory.verdicts(subquery.text, candidates)
        if known:
            self._replied = True
            self._ledger.remembered("test", len(known))
        return known

    def reduce(self, text: str, claims: Sequence[Claim]) -> str | None:
        """The words of the answer, None where the claims must stand for themselves."""
        (reply,) = self._ask("answer", [reduce.question(text, claims)])
        if reply is None:
            return None
        marks = {n: claim.citations for n, claim in enumerate(claims, start=1)}
        reduced = reduce.reduced(read(reply.text, Sentences), marks)
        if reduced is None:
            self.notes.append(_UNUSABLE)
            return None
        self.notes += reduced.notes
        return reduced.text

    def answer_from(
        self, text: str, context: Context, cite: Callable[[Source], Citation | None]
    ) -> tuple[tuple[Citation, ...], str] | None:
        """What is cited and the words of an answer; none of both where the context says nothing.

        None where there is no answer that could be used.
        """
        (reply,) = self._ask("answer", [grounded.question(text, context)])
        said = None if reply is None else read(reply.text, Sentences)
        if said is not None and not said.sentences:
            return (), ""
        found = None if said is None else grounded.grounded(said, context, cite)
        if found is None:
            if not self.lost:
                self.notes.append(_UNUSABLE)
            return None
        self.notes += found.answer.notes
        return found.citations, found.answer.text

    def collect(self, text: str, contexts: Sequence[Context]) -> list[Mapped | None]:
        """The points of each context; what is not usable is asked for once more, then None."""
        found: dict[int, Mapped] = {}
        for again in (False, True):
            left = [at for at in range(len(contexts)) if at not in found]
            if left and not (again and self._late):
                prompts = [points.question(text, contexts[at]) for at in left]
                for at, reply in zip(left, self._ask("map", prompts), strict=True):
                    mapped = None if reply is None else points.mapped(reply.text, contexts[at])
                    if mapped is not None:
                        found[at] = mapped
        return [found.get(at) for at in range(len(contexts))]

    def _assessed(self, subquery: Subquery, chunks: Sequence[Candidate]) -> dict[int, Verdict]:
        numbered = assessor.batches(chunks)
        replies = self._ask("test", [assessor.question(subquery.text, batch) for batch in numbered])
        fresh = {
            verdict.slot: verdict
            for batch, reply in zip(numbered, replies, strict=True)
            if reply is not None
            for verdict in assessor.verdicts(reply.text, subquery, batch).values()
        }
        if self._memory is not None:
            self._memory.keep(subquery.text, chunks, fresh)
        return fresh

    def _ask(self, stage: str, prompts: Sequence[Prompt]) -> list[Reply | None]:
        """Replies, None for those that did not come; each call is counted, also one in vain."""
        if self.lost:
            return [None] * len(prompts)
        if self._lite:
            prompts = [replace(prompt, role=Role.TESTS) for prompt in prompts]
        replies: list[Reply | None] = []
        for reply in self._model.ask(prompts):
            if isinstance(reply, ModelError):
                self._ledger.call(stage)
                self._lose(reply)
                replies.append(None)
            else:
                self._ledger.call(stage, reply.prompt_tokens, reply.completion_tokens)
                self._replied = True
                replies.append(reply)
        return replies

    @property
    def _late(self) -> bool:
        return self._ledger.seconds > self._deadline

    def _lose(self, error: ModelError) -> None:
        if not self.lost:
            self.lost = True
            self.notes.append(
                f"The language model could not be used ({error}); the rest was done without it."
            )
