"""A small index in memory: what the service is tried on."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from index.change_log import ChangeColumns, ChangesAsked, columns_of
from index.communities.hierarchy import Hierarchy
from index.communities.leaves import Leaves
from index.segment import Segment
from index.snapshot import Head, Labels, Snapshot, Totals
from index.types import ConceptKey, ConceptKind, Millis
from index.view import CommunityLineage, DocumentChange, LineageRow, StoredChunk, StoredDocument
from index.vocabulary import Vocabulary

NOW = Millis(1_772_000_000_000)
HOUR = 3_600_000


@dataclass(frozen=True, slots=True)
class Item:
    """A document of the small index: one chunk, its concepts, hours before ``NOW``."""

    id: str
    title: str
    text: str
    source: str
    concepts: tuple[str, ...]
    community: int
    hours: float
    url: str = ""
    lang: str = "en"


ITEMS = (
    Item(
        "harbour/1",
        "Harbour bridge closed",
        "Inspectors closed the harbour bridge on Monday. A crack was found in the second span.",
        "City Desk",
        ("harbour bridge", "inspector"),
        1,
        30,
        "https://news.example/harbour/1",
    ),
    Item(
        "harbour/2",
        "Ferries carry commuters",
        "Ferries replace the harbour bridge. The crossing takes 20 minutes \U0001f6a2 longer.",
        "Port Wire",
        ("harbour bridge", "ferry"),
        1,
        5,
    ),
    Item(
        "vineyard/1",
        "<img src=x onerror=alert(1)> Frost in the vineyards",
        "Frost <b>hit</b> the vineyards at dawn. <script>alert(2)</script> Growers lit fires.",
        "Field Notes",
        ("vineyard", "frost"),
        2,
        2,
        "javascript:alert(3)",
    ),
    Item(
        "vineyard/ar",
        "\u0627\u0644\u0635\u0642\u064a\u0639 \u0641\u064a \u0627\u0644\u0643\u0631\u0648\u0645",
        "\u0636\u0631\u0628 "
        "\u0627\u0644\u0635\u0642\u064a\u0639 \u0627\u0644\u0643\u0631\u0648\u0645.",
        "\u0627\u0644\u062d\u0642\u0644",
        ("vineyard",),
        2,
        1,
        lang="ar",
    ),
)


def snapshot_of(items: Sequence[Item], generation: int) -> Snapshot:
    """A snapshot with one chunk for each item; slot, row and number are its place."""
    vocabulary, sources, langs = Vocabulary(), [], []
    homes: list[int] = []
    rows: list[list[int]] = []
    for item in items:
        for concept in item.concepts:
            if vocabulary.number(concept) is None:
                vocabulary.append(ConceptKey(concept), ConceptKind.OTHER)
                homes.append(item.community)
        rows.append(sorted(n for c in item.concepts if (n := vocabulary.number(c)) is not None))
        sources.append(item.source)
        langs.append(item.lang)
    source_names, source_codes = np.unique(sources, return_inverse=True)
    lang_names, lang_codes = np.unique(langs, return_inverse=True)
    times = np.array([NOW - int(item.hours * HOUR) for item in items], np.int64)
    count, concepts = len(items), len(vocabulary)
    segment = Segment(
        slots=np.arange(count, dtype=np.int64),
        chunk_document=np.arange(count, dtype=np.int32),
        concept_offsets=np.cumsum([0, *map(len, rows)]).astype(np.int64),
        concepts=np.array([n for row in rows for n in row], np.int32),
        vectors=np.ones((count, 2), np.float32) / np.float32(2**0.5),
        documents=np.arange(count, dtype=np.int64),
        event_at=times,
        observed_at=times,
        source=source_codes.astype(np.int32),
        lang=lang_codes.astype(np.int32),
        title_offsets=np.zeros(count + 1, np.int64),
        title_concepts=np.zeros(0, np.int32),
    )
    ids, sizes = np.unique(np.array(homes, np.int64), return_counts=True)
    hierarchy = Hierarchy(
        epoch=1,
        ids=ids,
        level=np.zeros(len(ids), np.int16),
        parent=np.zeros(len(ids), np.int64),
        sizes=sizes.astype(np.int32),
        leaves=Leaves(np.array(homes, np.int64)),
    )
    newest = Millis(int(times.max(initial=0)))
    head = Head(
        generation=generation,
        committed_at=newest,
        watermark=newest,
        newest_arrival=newest,
        positions={("documents", 0): count},
        totals=Totals(documents=count, chunks=count, concepts=concepts),
    )
    return replace(
        Snapshot.empty(vocabulary, Labels(source_names.tolist(), lang_names.tolist()), 2),
        head=head,
        segments=(segment,),
        segments_alive=(np.ones(count, np.bool_),),
        concept_count=concepts,
        frequency=np.bincount(segment.concepts, minlength=concepts).astype(np.int32),
        hierarchy=hierarchy,
    )


def _named(change: DocumentChange) -> np.ndarray:
    return np.zeros(0, np.int32) if change.concepts is None else change.concepts


@dataclass
class FakeIndex:
    """A view and its source in one; ``grow`` makes the next generation."""

    items: tuple[Item, ...] = ITEMS
    generation: int = 7
    withdrawn: tuple[DocumentChange, ...] = ()
    failure: Exception | None = None
    snapshot: Snapshot = field(init=False)

    def __post_init__(self) -> None:
        self.grow()

    def grow(self, *items: Item) -> None:
        self.items = (*self.items, *items)
        self.generation += 1
        self.snapshot = snapshot_of(self.items, self.generation)

    @contextmanager
    def pin(self) -> Iterator["FakeIndex"]:
        if self.failure is not None:
            raise self.failure
        yield self

    def latest(self) -> Snapshot:
        return self.snapshot

    def documents(self, numbers: Sequence[int]) -> dict[int, StoredDocument]:
        return {n: self._stored(n) for n in numbers}

    def _stored(self, number: int) -> StoredDocument:
        item = self.items[number]
        at = Millis(int(self.snapshot.event_at[number]))
        return StoredDocument(
            number, item.id, item.title, item.text, item.source, item.url, item.lang, at, at, at,
            None, {"desk": "test"}, frozenset({"observed_at"}), self.generation,
        )  # fmt: skip

    def document(self, document_id: str) -> StoredDocument | None:
        places = [n for n, item in enumerate(self.items) if item.id == document_id]
        return self._stored(places[0]) if places else None

    def documents_named(self, ids: Sequence[str]) -> dict[str, StoredDocument]:
        return {name: found for name in ids if (found := self.document(name)) is not None}

    def document_chunks(self, number: int) -> list[StoredChunk]:
        text = self.items[number].text
        return [StoredChunk(number, f"{number:032x}", number, 0, 0, len(text), text)]

    def list_documents(
        self, *, before: int | None, limit: int, source: str | None = None
    ) -> list[StoredDocument]:
        numbers = range(len(self.items) if before is None else min(before, len(self.items)))
        kept = [n for n in numbers if source is None or self.items[n].source == source]
        return [self._stored(n) for n in reversed(kept)][:limit]

    def displays(self, concepts: Sequence[int]) -> dict[int, str]:
        return {n: self.snapshot.vocabulary.key(n).title() for n in concepts}

    def changes(self, since: Millis, until: Millis | None = None) -> Iterator[DocumentChange]:
        end = NOW + 1 if until is None else until
        yield from (change for change in self.withdrawn if since <= change.observed_at < end)

    def change_parts(self, asked: ChangesAsked) -> Iterator[ChangeColumns]:
        yield self.change_columns(asked)

    def change_columns(self, asked: ChangesAsked) -> ChangeColumns:
        del asked
        return columns_of(
            (c.generation, c.document_id, c.kind, c.observed_at, c.event_at, c.source, _named(c))
            for c in self.withdrawn
        )

    def lineage(self, community: int, limit: int) -> CommunityLineage | None:
        hierarchy = self.snapshot.hierarchy
        if not hierarchy.has(community):
            return None
        level, parent = hierarchy.level_of(community), hierarchy.parent_of(community)
        size = hierarchy.size_of(community)
        events = (
            LineageRow(7, "split", community + 40, community, 2),
            LineageRow(5, "growth", community, 0, size),
            LineageRow(3, "merge", community + 50, community, 1),
            LineageRow(1, "birth", community, 0, 3),
        )
        return CommunityLineage(
            community, level, parent, size, 1, None, (), (), events[:limit], more=False
        )

    def has_expired(self, document_id: str) -> bool:
        del document_id
        return False

    def was_deleted(self, document_id: str) -> bool:
        return any(change.document_id == document_id for change in self.withdrawn)
