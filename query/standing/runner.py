"""The process that runs the standing questions: notices generations, asks, keeps what changed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from index.errors import IndexingError
from index.snapshot import Snapshot
from index.types import Millis
from index.view import SnapshotSource
from query.errors import QueryError
from query.language import Language
from query.model.refine import Refined
from query.service.times import moment
from query.standing.difference import difference, key, told
from query.standing.recall import Recall
from query.standing.store import StandingStore
from query.standing.types import Interest, Standing, State, Terms, Told, Update, day_of
from query.standing.waking import interest_of, touched, wakes
from query.types import Answer, Filters, Question, Stopped, TimeAxis

WHOLE = ("model", "embedder")
"""Parts that an answer must not lack: without them claims would come and go with a server."""
_SECOND = 1000
_LOOK_EVERY = 60 * _SECOND
"""Between two looks for questions that are due by the clock alone."""


class Asks(Protocol):
    """What answers; ``query.search.Engine``."""

    def answer(self, question: Question, recall: Recall | None = None) -> Answer:
        """The answer to a question, with what is remembered of it."""


@dataclass(frozen=True, slots=True)
class AskedReport:
    """One standing question asked. ``problem`` is "" where it was answered.

    ``number`` is that of the update, 0 where nothing changed; ``tests`` were first tests.
    """

    id: str
    generation: int
    number: int
    outcome: str
    tests: int
    remembered: int
    untested: int
    added: int
    withdrawn: int
    reworded: int
    problem: str = ""


class Runner:
    """Asks what is due; used by one thread. Does nothing while another process has the lease.

    Args:
        store: The questions.
        source: The generations.
        asks: Answers them.
        language: The analyzer of the index.
        clock: Milliseconds since 1970.
        judge: Names the model that tests, with its rules: verdicts of another do not count.
    """

    def __init__(
        self,
        store: StandingStore,
        source: SnapshotSource,
        asks: Asks,
        language: Language,
        *,
        clock: Callable[[], Millis],
        judge: str = "",
    ) -> None:
        self._judge = judge
        self._store = store
        self._settings = store.settings
        self._source = source
        self._asks = asks
        self._language = language
        self._clock = clock
        self._seen: Snapshot | None = None
        self._look_at = Millis(0)

    def step(self) -> AskedReport | None:
        """Wake what the newest generation touched, and ask one question that is due."""
        if not self._store.lease():
            return None
        self._notice()
        now = self._clock()
        least = int(self._settings.every * _SECOND)
        for one in self._store.due():
            state = one.state
            if state.wait_until <= now and (not state.asked_at or state.asked_at + least <= now):
                return self._ask(one)
        return None

    def _notice(self) -> None:
        """After a start whatever was not asked at this generation is, since nobody looked."""
        latest, now = self._source.latest(), self._clock()
        if self._seen is None:
            behind = [s.id for s in self._store.all() if s.state.generation != latest.generation]
            self._store.wake(behind)
        elif latest.generation != self._seen.generation:
            by = touched(self._seen, latest)
            self._store.wake([n for n, interest in self._store.interests() if wakes(interest, by)])
        if now >= self._look_at:
            self._look_at = Millis(now + _LOOK_EVERY)
            self._store.wake([s.id for s in self._store.all() if self._stale(s.state, now)])
        self._seen = latest

    def _stale(self, state: State, now: Millis) -> bool:
        """Whether a question waits for a day's tests, or was not asked for too long."""
        return (state.owed and state.day != day_of(now)) or (
            state.asked_at + int(self._settings.anew * _SECOND) <= now
        )

    def _ask(self, one: Standing) -> AskedReport:
        now = self._clock()
        day = day_of(now)
        spent = one.state.spent if one.state.day == day else 0
        refined = None
        if one.state.subqueries:
            refined = Refined(one.state.subqueries, one.state.expanded)
        recall = Recall(
            max(0, one.terms.tests_a_day - spent),
            self._store.verdicts(one.id),
            refined,
            self._judge,
        )
        state = replace(one.state, asked_at=now, day=day, spent=spent)
        try:
            answer = self._asks.answer(self._question(one.terms, now), recall)
        except (QueryError, IndexingError) as error:
            return self._failed(one, state, recall, str(error))
        except Exception as error:  # noqa: BLE001  one that cannot be asked must not stop the others
            return self._failed(one, state, recall, f"{type(error).__name__}: {error}")
        lost = [part for part in WHOLE if part in answer.degraded]
        if lost:
            return self._failed(one, state, recall, f"without its {' and '.join(lost)}")
        if answer.stopped in (Stopped.DEADLINE, Stopped.CANCELLED):
            return self._failed(one, state, recall, "the search did not come to its end in time")
        return self._answered(one, state, recall, answer)

    def _question(self, terms: Terms, now: Millis) -> Question:
        """The question of this moment: spans count back as for one that is asked once."""
        if terms.time is TimeAxis.EVENT:
            now = self._source.latest().head.watermark
        filters = Filters(
            since=None if terms.since is None else moment(terms.since, now),
            until=None if terms.until is None else moment(terms.until, now),
            time=terms.time,
            source=terms.source,
            lang=terms.lang,
            where=terms.where,
        )
        return Question(
            terms.question,
            terms.budget,
            terms.mode,
            filters,
            window=terms.window,
            amounts=terms.amounts,
            preset=terms.preset,
            payer=terms.payer,
        )

    def _answered(self, one: Standing, state: State, recall: Recall, answer: Answer) -> AskedReport:
        claims = told(answer)
        if recall.untested:
            claims = (*claims, *self._kept(one.state.claims, claims))
        changes = difference(one.state.claims, claims)
        counted = answer.counted is not None and answer.text != one.state.answer
        said = changes or counted or answer.outcome != one.state.outcome or not one.updates
        update = None
        if said:
            update = Update(
                id=one.id,
                number=one.updates + 1,
                question=one.terms.question,
                generation=answer.generation,
                at=state.asked_at,
                outcome=answer.outcome.value,
                answer=answer.text,
                citations=answer.citations,
                claims=claims,
                changes=changes,
                tests=recall.tests,
                remembered=recall.remembered,
                untested=recall.untested,
                assessor=answer.assessor,
            )
        refined = recall.refined
        state = replace(
            state,
            generation=answer.generation,
            outcome=answer.outcome.value,
            answer=answer.text,
            claims=claims,
            subqueries=() if refined is None else refined.subqueries,
            expanded="" if refined is None else refined.expanded,
            spent=state.spent + recall.tests,
            failures=0,
            owed=bool(recall.untested),
            problem="the day's tests are spent" if recall.untested else "",
            wait_until=Millis(0),
        )
        self._store.asked(
            one,
            state,
            interest=self._interest(one, answer),
            update=update,
            verdicts=recall.used,
            due=False,
        )
        return AskedReport(
            one.id, answer.generation, one.updates + 1 if said else 0, answer.outcome.value,
            recall.tests, recall.remembered, recall.untested, len(changes.added),
            len(changes.withdrawn), len(changes.reworded),
        )  # fmt: skip

    def _kept(self, before: Sequence[Told], after: Sequence[Told]) -> list[Told]:
        """Claims that the search did not come to and whose sources still say what they said.

        Where the day's tests are spent, new chunks take the place of old ones and have no
        verdict: a claim is then withdrawn only where its text is gone.
        """
        left = [claim for claim in before if key(claim) not in {key(other) for other in after}]
        names = {source.document_id for claim in left for source in claim.sources}
        with self._source.pin() as view:
            found = view.documents_named(sorted(names))
        return [
            claim
            for claim in left
            if all(s.document_id in found and s.quote in found[s.document_id].text
                   for s in claim.sources)
        ]  # fmt: skip

    def _interest(self, one: Standing, answer: Answer) -> Interest:
        texts = tuple(dict.fromkeys((one.terms.question, *answer.subqueries)))
        communities = frozenset(claim.community for claim in answer.claims if claim.community)
        return interest_of(texts, communities, self._language)

    def _failed(self, one: Standing, state: State, recall: Recall, why: str) -> AskedReport:
        """Keep the former answer and try again later; verdicts that were made are kept."""
        failures = state.failures + 1
        settings = self._settings
        wait = min(settings.longest_wait, settings.first_wait * 2 ** min(failures - 1, 20))
        state = replace(
            state,
            spent=state.spent + recall.tests,
            failures=failures,
            problem=why,
            wait_until=Millis(state.asked_at + int(wait * _SECOND)),
        )
        self._store.asked(one, state, interest=None, update=None, verdicts=recall.used, due=True)
        return AskedReport(
            one.id, state.generation, 0, "", recall.tests, recall.remembered, recall.untested,
            0, 0, 0, why,
        )  # fmt: skip
