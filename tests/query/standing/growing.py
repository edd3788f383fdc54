"""An index in memory that grows by generations: chunks keep their slots, edits take new ones."""

from contextlib import contextmanager
from dataclasses import replace

from query.assessor import Verdict
from tests.query.memory import MemoryView
from tests.query.small import DIMENSIONS, document


class GrowingIndex:
    """A ``SnapshotSource``: ``put`` and ``delete`` make the next generation."""

    def __init__(self, *given):
        self.given = []
        self.alive = {}
        self.generation = 0
        self.next(put=given)

    def next(self, put=(), delete=()):
        """One generation; documents given anew replace their former revision."""
        for name in (*delete, *(one.id for one in put)):
            self.alive.pop(name, None)
        for one in put:
            self.alive[one.id] = len(self.given)
            self.given.append(one)
        self.generation += 1
        self.view = self._view()

    def put(self, name, text, title="", **more):
        self.next(put=[document(name, title, text, **more)])

    def delete(self, *names):
        self.next(delete=names)

    def _view(self):
        living, dead, slot = set(self.alive.values()), [], 0
        for number, one in enumerate(self.given):
            for _ in one.analysis.chunks:
                if number not in living:
                    dead.append(slot)
                slot += 1
        view = MemoryView(self.given, DIMENSIONS, retracted=dead)
        view.stored = {n: d for n, d in view.stored.items() if n in living}
        head = replace(view.snapshot.head, generation=self.generation)
        view.snapshot = replace(view.snapshot, head=head)
        return view

    @contextmanager
    def pin(self):
        yield self.view

    def latest(self):
        return self.view.snapshot


class WordAssessor:
    """A chunk is relevant where it holds a word; ``asked`` are the texts that were tested."""

    name = "scripted"

    def __init__(self, word):
        self.word = word
        self.asked = []

    def assess(self, subquery, candidates):
        self.asked += [candidate.text for candidate in candidates]
        return [self._verdict(candidate) for candidate in candidates]

    def _verdict(self, candidate):
        met = tuple(
            at
            for at, (start, end) in enumerate(candidate.sentences)
            if self.word in candidate.text[start:end].lower()
        )
        return Verdict(candidate.slot, 0.9 if met else 0.1, bool(met), met)
