"""The search: which chunks to test next, given the verdicts so far.

It knows no model, no store and no clock: a generator yields what to test and is sent the
verdicts, so that every rule of it can be tested with scripted ones. The rules are those of the
table in the announcement of LazyGraphRAG (Microsoft Research, November 2024):

1. Communities are visited best first, by the ranks of their best chunks; of each the best
   ``k`` untested chunks are tested (breadth first).
2. After ``z`` communities in a row without a relevant chunk the search goes down into the
   children of the relevant ones (iterative deepening); a relevant community without children is
   entered again itself, for its next ``k``. A barren community is never entered again, nor are
   its children.
3. When a descent is done, the round above goes on where it was left. A round below C0 is given up
   after ``z`` barren communities in a row with nothing to descend into, the whole search after
   ``patience`` visits in a row without a relevant chunk.
4. Level -1 is the whole corpus: before each community the best ``root_k`` untested chunks of all
   are tested, and when the rounds are over it is read on. Chunks without a community also form a
   group of their own there.
5. At the end of a subquery, what is left of its tests goes to the neighbours of its relevant
   chunks, then to the next subquery.

No chunk is tested twice for a subquery. A subquery's order of tests depends on its ranking and
its verdicts alone, and its tests grow with the budget: a larger budget tests a superset.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from query.settings import LazySettings
from query.types import Stopped

ROOT = 0
"""The community that is the whole corpus, level -1."""

Verdicts = Sequence[bool | None]
"""Whether each chunk asked for is relevant; None where no verdict could be had."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The candidates of one subquery by community, from its chunk ranking.

    ``ranked`` holds the slots of all candidates, best first; ``chunks`` those of each community,
    best first; ``order`` the rank of every community of ``chunks``; ``children`` the communities
    below one (none for a leaf); ``first`` are those of the first round (C0 and the group of
    level -1); ``level`` names each one's.
    """

    ranked: Sequence[int]
    chunks: Mapping[int, Sequence[int]]
    order: Mapping[int, int]
    children: Mapping[int, Sequence[int]]
    level: Mapping[int, int]
    first: Sequence[int]


@dataclass(frozen=True, slots=True)
class RelevanceTest:
    """Chunks to be tested for a subquery; ``community`` is None for neighbours."""

    subquery: int
    slots: tuple[int, ...]
    community: int | None
    level: int


@dataclass(frozen=True, slots=True)
class Descent:
    """The search goes down: from relevant communities into others."""

    subquery: int
    relevant: tuple[int, ...]
    entered: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Explored:
    """What a subquery has tested (in order), what of it was relevant, and why it ended."""

    tested: tuple[int, ...]
    relevant: tuple[int, ...]
    stopped: Stopped


Steps = Generator[RelevanceTest | Descent, Verdicts | None, Explored]


def shares(budget: int, subqueries: int) -> list[int]:
    """The tests of each subquery: equal, the first ones take what does not divide."""
    share, rest = divmod(budget, subqueries)
    return [share + (number < rest) for number in range(subqueries)]


def search(
    groups: Sequence[Groups],
    budget: int,
    neighbours: Callable[[int], Sequence[int]],
    settings: LazySettings,
) -> Generator[RelevanceTest | Descent, Verdicts | None, tuple[Explored, ...]]:
    """Search all subqueries in order within one budget; each leaves the rest to the next.

    Args:
        groups: One for each subquery.
        budget: Tests in all, at least 1.
        neighbours: The slots beside a slot in its document, those that may be tested.
        settings: k, z and patience.

    Returns:
        What each subquery explored.
    """
    explored: list[Explored] = []
    left = 0
    for number, share in enumerate(shares(budget, len(groups))):
        left += share
        result = yield from explore(number, groups[number], left, neighbours, settings)
        left -= len(result.tested)
        explored.append(result)
    return tuple(explored)


def explore(
    subquery: int,
    groups: Groups,
    budget: int,
    neighbours: Callable[[int], Sequence[int]],
    settings: LazySettings,
) -> Steps:
    """Search for one subquery with at most ``budget`` tests."""
    if not groups.ranked:
        return Explored((), (), Stopped.NO_CANDIDATES)
    exploration = _Exploration(subquery, groups, budget, settings)
    stopped = yield from exploration.rounds()
    yield from exploration.beside(neighbours)
    if exploration.left <= 0:
        stopped = Stopped.BUDGET_SPENT
    return Explored(tuple(exploration.tested), tuple(exploration.relevant), stopped)


@dataclass(slots=True)
class _Round:
    """One round: the communities still to visit, and what was seen since the last descent."""

    waiting: Iterator[int]
    relevant: list[int] = field(default_factory=list)
    barren: int = 0


class _Exploration:
    """The state of one subquery's search."""

    def __init__(self, subquery: int, groups: Groups, budget: int, settings: LazySettings) -> None:
        self.subquery = subquery
        self.groups = groups
        self.left = budget
        self.settings = settings
        self.tested: dict[int, None] = {}
        self.relevant: dict[int, None] = {}
        self.closed: set[int] = set()
        self.visited: set[int] = set()
        self.whole = iter(groups.ranked)
        self.in_vain = 0

    def rounds(self) -> Generator[RelevanceTest | Descent, Verdicts | None, Stopped]:
        """Rounds within rounds until nothing is left, all is barren or the budget is spent."""
        open_rounds = [_Round(self._best_first(self.groups.first))]
        while open_rounds and self._going():
            current = open_rounds[-1]
            community = next(current.waiting, None)
            if community is not None:
                yield from self._visit(current, community)
            barren = current.barren >= self.settings.z
            if current.relevant and (barren or community is None):
                relevant, current.relevant, current.barren = current.relevant, [], 0
                if community is None:
                    open_rounds.pop()
                open_rounds.append((yield from self._descend(relevant)))
            elif community is None or (barren and len(open_rounds) > 1):
                open_rounds.pop()
        while self._going() and self.settings.root_k and (yield from self._visit_whole()):
            pass
        return Stopped.BARREN if self.in_vain >= self.settings.patience else Stopped.NOTHING_LEFT

    def _going(self) -> bool:
        return self.left > 0 and self.in_vain < self.settings.patience

    def _visit(
        self, current: _Round, community: int
    ) -> Generator[RelevanceTest | Descent, Verdicts | None, None]:
        """Test the best k untested chunks of a community and note what it was."""
        if community in self.closed:
            return
        yield from self._visit_whole()
        chunks = self.groups.chunks[community]
        known = community not in self.visited and any(slot in self.relevant for slot in chunks)
        self.visited.add(community)
        slots = self._untested(chunks, self.settings.k)
        found = False
        if slots and self.left > 0:
            verdicts = yield from self._test(slots, community, self.groups.level[community])
            found = any(verdicts)
            current.barren = 0 if found else current.barren + (False in verdicts)
        if found or known:
            current.relevant.append(community)
        elif not any(slot in self.relevant for slot in chunks):
            self.closed.add(community)

    def _visit_whole(self) -> Generator[RelevanceTest | Descent, Verdicts | None, bool]:
        """Test the best untested chunks of the whole corpus; tell whether any was left."""
        slots = self._untested(self.whole, self.settings.root_k)
        if slots and self.left > 0:
            yield from self._test(slots, ROOT, -1)
        return bool(slots)

    def _untested(self, slots: Iterable[int], count: int) -> list[int]:
        return list(islice((slot for slot in slots if slot not in self.tested), count))

    def _test(
        self, slots: Sequence[int], community: int | None, level: int
    ) -> Generator[RelevanceTest | Descent, Verdicts | None, Verdicts]:
        """Ask for verdicts, as many as the budget allows, and remember them."""
        asked = tuple(slots[: self.left])
        verdicts = yield RelevanceTest(self.subquery, asked, community, level)
        if verdicts is None or len(verdicts) != len(asked):
            raise ValueError(f"{len(asked)} verdicts were asked for, got {verdicts!r}")
        self.left -= len(asked)
        self.in_vain = 0 if any(verdicts) else self.in_vain + 1
        self.tested.update(dict.fromkeys(asked))
        self.relevant.update(
            dict.fromkeys(slot for slot, yes in zip(asked, verdicts, strict=True) if yes)
        )
        return verdicts

    def _descend(
        self, relevant: Sequence[int]
    ) -> Generator[RelevanceTest | Descent, Verdicts | None, _Round]:
        """Open a round over the children of relevant communities, a leaf standing for itself."""
        entered: dict[int, None] = {}
        for community in relevant:
            entered.update(dict.fromkeys(self.groups.children.get(community) or (community,)))
        below = list(self._best_first([c for c in entered if c not in self.closed]))
        yield Descent(self.subquery, tuple(relevant), tuple(below))
        return _Round(iter(below))

    def _best_first(self, communities: Sequence[int]) -> Iterator[int]:
        return iter(sorted(communities, key=self.groups.order.__getitem__))

    def beside(
        self, neighbours: Callable[[int], Sequence[int]]
    ) -> Generator[RelevanceTest | Descent, Verdicts | None, None]:
        """Test what stands beside the relevant chunks, in the order in which they were found."""
        for slot in tuple(self.relevant):
            fresh = [n for n in neighbours(slot) if n not in self.tested]
            if self.left <= 0:
                return
            if fresh:
                yield from self._test(fresh, None, -1)
