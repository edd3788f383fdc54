"""What an asking brings along: the subqueries and verdicts of those before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from query.assessor import Assessor, Candidate, OfflineAssessor, Verdict
from query.model.refine import Refined
from query.model.session import ModelSession
from query.plan import Subquery


@dataclass(frozen=True, slots=True)
class Remembered:
    """A verdict that does not depend on a slot. ``sentences`` count those of the chunk."""

    score: float
    relevant: bool
    sentences: tuple[int, ...]
    support: float

    def of(self, slot: int) -> Verdict:
        """The verdict on the chunk as it stands now."""
        return Verdict(slot, self.score, self.relevant, self.sentences, self.support)


@dataclass(slots=True)
class Recall:
    """One asking: what was known before, what is new, and how much may be.

    At most ``allowance`` chunks get their first test; the others count as untested. A chunk is
    known by its words and its title, under one subquery and one assessor (``judge`` tells models
    and their rules apart), so an edit makes it a new one. The offline assessor judges what it
    knows again: its verdicts follow the ranking of the moment, and cost nothing.
    """

    allowance: int
    known: Mapping[bytes, Remembered] = field(default_factory=dict)
    refined: Refined | None = None
    judge: str = ""
    used: dict[bytes, Remembered] = field(default_factory=dict)
    tests: int = 0
    remembered: int = 0
    untested: int = 0

    def over(self, inner: Assessor) -> Assessor:
        """The assessor of this asking."""
        return _Recalling(inner, self)


class _Recalling:
    """Tests what is new with another assessor; see ``Assessor``."""

    def __init__(self, inner: Assessor, recall: Recall) -> None:
        self._inner = inner
        self._recall = recall
        self._who = f"{inner.name} {recall.judge}"
        self._follows_ranking = inner.name == OfflineAssessor().name

    @property
    def name(self) -> str:
        """Whose verdicts these are."""
        return self._inner.name

    def assess(self, subquery: Subquery, candidates: Sequence[Candidate]) -> list[Verdict]:
        """See ``Assessor.assess``."""
        recall = self._recall
        keys = [_key(self._who, subquery, candidate) for candidate in candidates]
        asked, found = [], dict[int, Verdict]()
        for candidate, name in zip(candidates, keys, strict=True):
            before = recall.used.get(name) or recall.known.get(name)
            if before is not None:
                recall.remembered += 1
                recall.used[name] = before
                if not self._follows_ranking:
                    found[candidate.slot] = before.of(candidate.slot)
                    continue
            elif recall.tests >= recall.allowance:
                recall.untested += 1
                found[candidate.slot] = Verdict(candidate.slot, 0.0, None)
                continue
            else:
                recall.tests += 1
            asked.append((candidate, name))
        self._assess(subquery, asked, found)
        return [found[candidate.slot] for candidate in candidates]

    def _assess(
        self,
        subquery: Subquery,
        asked: Sequence[tuple[Candidate, bytes]],
        found: dict[int, Verdict],
    ) -> None:
        """Have the inner assessor test some; what it did without its model is not kept."""
        if not asked:
            return
        verdicts = self._inner.assess(subquery, [candidate for candidate, _ in asked])
        lost = isinstance(self._inner, ModelSession) and self._inner.lost
        for (_, name), verdict in zip(asked, verdicts, strict=True):
            found[verdict.slot] = verdict
            if verdict.relevant is not None and not lost:
                self._recall.used[name] = Remembered(
                    verdict.score, verdict.relevant, verdict.sentences, verdict.support
                )


def _key(who: str, subquery: Subquery, candidate: Candidate) -> bytes:
    digest = blake2b(digest_size=16)
    for part in (who, subquery.text, candidate.title, candidate.text):
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.digest()
