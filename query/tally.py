"""Counts over documents from the postings: exact, with the list and its sources."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from index.types import BoolArray, ConceptKind, Int64Array
from index.view import StoredDocument, View
from query.aliases import concepts_named, other_names
from query.claims import cite
from query.counting import Wanted
from query.graph import SearchGraph, listed
from query.language import Language
from query.types import Citation, Claim, Counted, CountedConcept, CountedDocument, Found
from query.words import words

MOST_LISTED = 1_000
"""Documents or concepts that an answer lists."""
MOST_SHOWN = 20
"""Of those, in the words of the answer; all are ours, for an answer that can be read."""
_MOST_IDS = 100
_SOURCES = 3
_LONGEST_QUOTE = 600
_NOUNS = {
    ConceptKind.PERSON: ("person", "people"),
    ConceptKind.PLACE: ("place", "places"),
    ConceptKind.ORGANISATION: ("organisation", "organisations"),
    ConceptKind.IDENTIFIER: ("identifier", "identifiers"),
    None: ("concept", "concepts"),
}


@dataclass(frozen=True, slots=True)
class Tally:
    """What was counted, in words and with its sources."""

    counted: Counted
    text: str
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    ranking: tuple[Found, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Thing:
    """A thing that documents name: bool[document_rows], and the rows of chunks where it stands."""

    name: str
    documents: BoolArray
    rows: Int64Array


class Counter:
    """Counts within the chunks that a search may see (``rows``, bool[rows])."""

    def __init__(self, view: View, graph: SearchGraph, language: Language, rows: BoolArray) -> None:
        self._view = view
        self._graph = graph
        self._language = language
        self._rows = rows
        self._snapshot = view.snapshot

    def tally(self, asked: Wanted) -> Tally:
        """Count what is wanted."""
        things = [self._thing(name) for name in asked.things]
        return self._concepts(asked, things) if asked.concepts else self._documents(asked, things)

    def _documents(self, asked: Wanted, things: Sequence[_Thing]) -> Tally:
        mask = self._met(asked, things)
        rows = np.flatnonzero(mask)
        order = rows[np.lexsort((-self._snapshot.documents[rows], -self._snapshot.event_at[rows]))]
        stored = self._stored(order[:MOST_LISTED])
        what = _said(len(rows), "document", "documents") + _naming(asked, len(rows) == 1)
        claims, citations, lines = [], [], []
        for document in stored[:MOST_SHOWN]:
            citation = self._cited(document, [t.name for t in things])
            mark = ""
            if citation is not None:
                citations.append(citation)
                claims.append(Claim(citation.quote, (len(citations),), 0, 1.0))
                mark = f" [{len(citations)}]"
            lines.append(f"- {_titled(document)}{mark}")
        documents = tuple(CountedDocument(d.id, d.title) for d in stored)
        return Tally(
            Counted(len(rows), what, documents),
            _text(what, things, lines, len(rows)),
            tuple(claims),
            tuple(citations),
            tuple(Found(d.id, d.title, 1.0, tested=False, relevant=True) for d in stored[:100]),
        )

    def _concepts(self, asked: Wanted, things: Sequence[_Thing]) -> Tally:
        mask = self._all() if asked.apart else self._met(asked, things)
        concepts, documents = self._pairs(np.flatnonzero(mask), asked, things)
        for thing in things if asked.apart else ():
            held = np.unique(concepts[thing.documents[documents]])
            keep = np.isin(concepts, held)
            concepts, documents = concepts[keep], documents[keep]
        numbers, counts = np.unique(concepts, return_counts=True)
        enough = counts >= asked.least
        numbers, counts = numbers[enough], counts[enough]
        order = np.lexsort((numbers, -counts))
        total, first = len(numbers), numbers[order][:MOST_LISTED]
        displays = self._view.displays(first.tolist())
        what = self._what(asked, total)
        listed_, claims, citations, lines = [], [], [], []
        for place, number in enumerate(first.tolist()):
            within = documents[concepts == number]
            stored = self._stored(within[: _MOST_IDS if place < MOST_SHOWN else _SOURCES])
            name = displays[number]
            key = self._snapshot.vocabulary.key(number)
            ids = tuple(d.id for d in stored)
            listed_.append(CountedConcept(name, key, len(within), ids))
            if place < MOST_SHOWN:
                marks = []
                for document in stored[:_SOURCES]:
                    citation = self._cited(document, [name, key])
                    if citation is not None:
                        citations.append(citation)
                        marks.append(len(citations))
                said = f"{name}: {_said(len(within), 'document', 'documents')}"
                claims.append(Claim(said, tuple(marks), 0, 1.0))
                shown = ", ".join(ids[:_SOURCES]) + (", ..." if len(within) > _SOURCES else "")
                lines.append(f"- {said}: {shown} {''.join(f'[{n}]' for n in marks)}".rstrip())
        counted = Counted(total, what, (), tuple(listed_))
        text = _text(what, things, lines, total)
        return Tally(counted, text, tuple(claims), tuple(citations), ())

    def _what(self, asked: Wanted, total: int) -> str:
        said = _said(total, *_NOUNS[asked.kind])
        if asked.apart:
            return f"{said} named in each of {_listed(asked.things, 'and')}"
        about = " that name " + _listed(asked.things, _word(asked)) if asked.things else ""
        if asked.least > 1:
            return f"{said} named in at least {asked.least} documents{about}"
        return f"{said} named in {'documents' + about if about else 'the documents searched'}"

    def _all(self) -> BoolArray:
        held = np.zeros(len(self._snapshot.documents), np.bool_)
        held[self._snapshot.chunk_document[self._rows]] = True
        return held

    def _met(self, asked: Wanted, things: Sequence[_Thing]) -> BoolArray:
        masks = [thing.documents for thing in things]
        if not masks:
            return self._all()
        join = np.logical_or if asked.either else np.logical_and
        met: BoolArray = join.reduce(masks)
        return met

    def _thing(self, name: str) -> _Thing:
        """The documents that name a thing under any of its names, or are by a source of the name.

        The full-text index takes words by their stems; what only it finds is read again.
        """
        bare = name.strip('"')
        snapshot = self._snapshot
        sources = [label.casefold() for label in snapshot.labels.sources]
        if bare.casefold() in sources and self._graph.spelled(words(bare)) is None:
            by = snapshot.source == sources.index(bare.casefold())
            return _Thing(bare, by & self._all(), np.zeros(0, np.int64))
        named = np.zeros(snapshot.rows, np.bool_)
        for number in concepts_named(words(bare), self._graph):
            named[snapshot.concept_chunks[[number]].indices] = True
            titled = np.zeros(len(snapshot.documents), np.bool_)
            titled[snapshot.concept_titles[[number]].indices] = True
            named |= titled[snapshot.chunk_document]
        for each in (bare, *other_names(bare)):
            named[self._written(each, named)] = True
        rows = np.flatnonzero(named & self._rows)
        documents = np.zeros(len(snapshot.documents), np.bool_)
        documents[snapshot.chunk_document[rows]] = True
        return _Thing(bare, documents, rows)

    def _written(self, name: str, known: BoolArray) -> Int64Array:
        """The rows, beside known ones, whose text or title has a name as whole words."""
        rows = self._snapshot.rows_of(self._view.full_text((name,), 0)[0])
        rows = rows[rows >= 0]
        rows = rows[self._rows[rows] & ~known[rows]]
        whole = re.compile(
            r"(?<!\w)" + r"\s+".join(map(re.escape, name.split())) + r"(?!\w)", re.IGNORECASE
        )
        chunks = self._view.chunks(self._snapshot.slots[rows].tolist())
        titles = self._view.documents(sorted({chunk.document for chunk in chunks}))
        found = [
            bool(whole.search(chunk.text) or whole.search(titles[chunk.document].title))
            for chunk in chunks
        ]
        return rows[np.array(found, np.bool_)] if found else rows[:0]

    def _pairs(
        self, documents: Int64Array, asked: Wanted, things: Sequence[_Thing]
    ) -> tuple[Int64Array, Int64Array]:
        """The concepts wanted with their documents, each pair once: two int64 arrays."""
        graph, snapshot = self._graph, self._snapshot
        inside = np.zeros(len(snapshot.documents), np.bool_)
        inside[documents] = True
        rows = np.flatnonzero(self._rows & inside[snapshot.chunk_document])
        texts, titles = listed(graph.chunks, rows), listed(graph.titles, documents)
        concepts = np.concatenate([texts.concepts, titles.concepts]).astype(np.int64)
        owners = np.concatenate(
            [
                np.repeat(snapshot.chunk_document[rows], texts.sizes()),
                np.repeat(documents, titles.sizes()),
            ]
        ).astype(np.int64)
        pairs = np.unique(concepts * len(inside) + owners)
        concepts, owners = pairs // len(inside), pairs % len(inside)
        numbers = np.unique(concepts)
        kinds = snapshot.vocabulary.kind
        asked_for = {n for thing in things for n in concepts_named(words(thing.name), graph)}
        keep = [
            n not in asked_for and (asked.kind is None or kinds(n) is asked.kind)
            for n in numbers.tolist()
        ]
        chosen = np.isin(concepts, numbers[np.array(keep, np.bool_)]) if keep else concepts > 0
        return concepts[chosen], owners[chosen]

    def _stored(self, rows: Int64Array) -> list[StoredDocument]:
        numbers = self._snapshot.documents[rows].tolist()
        found = self._view.documents(numbers)
        return [found[number] for number in numbers if number in found]

    def _cited(self, document: StoredDocument, names: Sequence[str]) -> Citation | None:
        """The first sentence of a document that holds one of some names, else its first one."""
        wanted = [word.casefold() for name in names for word in (name, *other_names(name))]
        first: Citation | None = None
        for chunk in self._view.document_chunks(document.number):
            for sentence in self._language.sentences(chunk.text):
                text = chunk.text[sentence[0] : sentence[1]].casefold()
                met = any(word in text for word in wanted)
                if met or first is None:
                    citation = cite(chunk, document, sentence, _LONGEST_QUOTE)
                    first = first or citation
                    if met and citation is not None:
                        return citation
        return first


def _said(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"


def _word(asked: Wanted) -> str:
    return "or" if asked.either else "and"


def _naming(asked: Wanted, single: bool) -> str:
    if not asked.things:
        return ""
    return f" {'names' if single else 'name'} {_listed(asked.things, _word(asked))}"


def _listed(things: Sequence[str], word: str) -> str:
    quoted = [f'"{thing.strip(chr(34))}"' for thing in things]
    return f" {word} ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _titled(document: StoredDocument) -> str:
    title = " ".join(document.title.split())
    return f"{title} ({document.id})" if title else document.id


def _text(what: str, things: Sequence[_Thing], lines: Sequence[str], total: int) -> str:
    head = f"{what}, counted from the index:" if total else f"{what}, counted from the index."
    parts = [head, *lines]
    if total > len(lines) > 0:
        parts.append(f"- and {total - len(lines):,} more")
    if len(things) > 1:
        each = ", ".join(
            f'"{t.name}" in {_said(int(t.documents.sum()), "document", "documents")}'
            for t in things
        )
        parts.append(f"By itself: {each}.")
    return "\n".join(parts)
