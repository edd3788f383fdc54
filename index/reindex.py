"""Reindexing: the stored texts analysed anew, beside the live index, then an atomic switch.

The new store is a file of its own in the same directory. Readers go on with the old one until the
switch; the writer's lock is held, so no document can come in between. When only the embedder
differs, the analyses are kept and only the vectors are made again.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import orjson

from index.admission import Admitted, DocumentOutcome, Plan
from index.analysis.fingerprint import Fingerprint
from index.communities.fullrun import GroupingSettings
from index.communities.keeper import CommunityKeeper
from index.errors import StoreError
from index.store import generations, meta
from index.store.connection import (
    next_name,
    open_readonly,
    open_writable,
    remove_store,
    remove_unused,
    store_path,
    switch_store,
    transaction,
    translated,
)
from index.store.lock import WriterLock
from index.store.rows import int32_array, int32_blob
from index.types import (
    Analysis,
    Arrival,
    Document,
    DocumentId,
    Float32Array,
    Millis,
    Position,
    Record,
    Rejected,
    Upsert,
    from_millis,
)
from index.writer import Writer

_BATCH = 200
_CHUNK_BATCH = 512


class Analyzing(Protocol):
    """What reindexing needs of an analyzer."""

    fingerprint: Fingerprint

    def analyze(self, documents: Sequence[Document]) -> "list[Analysis | Rejected]":
        """Analyse documents, in order."""

    def embed_queries(self, texts: Sequence[str]) -> Float32Array:
        """Unit vectors, float32[n, d]."""


@dataclass(frozen=True, slots=True)
class ReindexReport:
    """What was done: nothing (``kept``), vectors alone, or all."""

    documents: int
    embedded_only: bool
    kept: bool


def reindex(
    directory: Path,
    analyzer: Analyzing,
    *,
    force: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> ReindexReport:
    """Bring a store to an analyzer's fingerprint. ``progress``: documents (or chunks) done, all.

    Raises ``StoreLockedError`` while a writer runs, ``StoreError`` where there is no store.
    An interrupted run leaves the live store untouched; what it made is removed when a writer opens
    the directory next.
    """
    old_path = store_path(directory)
    source = open_readonly(old_path)
    lock = WriterLock(directory)
    try:
        stored = meta.stored_fingerprint(source)
        if stored is None:
            raise StoreError(f"{old_path} holds nothing to reindex")
        total = source.execute("SELECT count(*) FROM documents").fetchone()[0]
        if stored == analyzer.fingerprint and not force:
            return ReindexReport(total, embedded_only=False, kept=True)
        lock.acquire()
        if store_path(directory) != old_path:
            raise StoreError(f"{directory} was reindexed by another process just now; try again")
        name = next_name(old_path)
        only_embed = stored.same_but_embedder(analyzer.fingerprint) and not force
        with translated(directory / name):
            if only_embed:
                _embed_again(source, directory, name, analyzer, progress)
            else:
                _analyze_again(source, directory, name, analyzer, progress, total)
        switch_store(directory, name)
        remove_store(old_path)
    finally:
        source.close()
        lock.release()
    return ReindexReport(total, embedded_only=only_embed, kept=False)


def _analyze_again(
    source: sqlite3.Connection,
    directory: Path,
    name: str,
    analyzer: Analyzing,
    progress: Callable[[int, int], None],
    total: int,
) -> None:
    writer = Writer.open(
        directory,
        fingerprint=analyzer.fingerprint,
        collection=meta.collection_name(source),
        store_name=name,
        locked=True,
    )
    try:
        done = 0
        for arrivals in _stored_arrivals(source):
            plan = _plan(arrivals)
            done_now = analyzer.analyze(plan.documents)
            analyses = {str(d.id): one for d, one in zip(plan.documents, done_now, strict=True)}
            writer.commit(plan, analyses)
            done += len(arrivals)
            progress(done, total)
        keeper = CommunityKeeper(writer, GroupingSettings())
        for _ in keeper.finish():
            pass
        keeper.close()
        head = generations.latest(source).head
        writer.take_over(lambda connection: _carry_over(source, connection), head)
    finally:
        writer.close()


def _stored_arrivals(source: sqlite3.Connection) -> Iterator[list[Arrival]]:
    cursor = source.execute(
        "SELECT id, version, topic, partition, title, text, source, url, lang, published_at,"
        " observed_at, metadata, derived FROM documents ORDER BY number"
    )
    while rows := cursor.fetchmany(_BATCH):
        yield [_arrival(row) for row in rows]


def _arrival(row: tuple[object, ...]) -> Arrival:
    key, version, topic, partition, title, text, source, url, lang, published, observed = row[:11]
    document = Document(
        id=DocumentId(str(key)),
        title=str(title),
        text=str(text),
        source=str(source),
        url=str(url),
        lang=str(lang),
        published_at=from_millis(published) if isinstance(published, int) else None,
        observed_at=from_millis(int(str(observed))),
        version=version if isinstance(version, int) else None,
        metadata=orjson.loads(str(row[11])),
        derived=frozenset(filter(None, str(row[12]).split(","))),
    )
    # The record itself is long gone; offset -1 moves no position.
    position = Position(str(topic), int(str(partition)), -1)
    return Arrival(Record(position, None, None, Millis(0)), Upsert(document))


def _plan(arrivals: Sequence[Arrival]) -> Plan:
    """Everything that is stored was admitted once; it is not judged again."""
    admitted = tuple(Admitted(arrival, DocumentOutcome.INSERTED) for arrival in arrivals)
    final = {
        str(one.arrival.content.document.id): one
        for one in admitted
        if isinstance(one.arrival.content, Upsert)
    }
    return Plan(admitted, final)


def _carry_over(
    source: sqlite3.Connection, target: sqlite3.Connection
) -> dict[tuple[str, int], int]:
    """Copy what does not depend on the analyzer; returns the stream positions."""
    for table in ("tombstones", "dead_letters"):
        kept = source.execute(f"SELECT * FROM {table}")
        marks = ", ".join("?" * len(kept.description))
        target.executemany(f"INSERT INTO {table} VALUES ({marks})", kept)
    target.execute("DELETE FROM changes")
    numbers = dict(target.execute("SELECT key, number FROM concepts").fetchall())
    translate = {
        old: numbers[key]
        for old, key in source.execute("SELECT number, key FROM concepts")
        if key in numbers
    }
    rows = source.execute("SELECT * FROM changes ORDER BY rowid").fetchall()
    for row in rows:
        concepts = sorted(translate[c] for c in int32_array(row[6]).tolist() if c in translate)
        target.execute(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?)", (*row[:6], int32_blob(concepts))
        )
    positions = source.execute("SELECT topic, partition, next_offset FROM positions")
    return {(topic, partition): offset for topic, partition, offset in positions}


def _embed_again(
    source: sqlite3.Connection,
    directory: Path,
    name: str,
    analyzer: Analyzing,
    progress: Callable[[int, int], None],
) -> None:
    remove_unused(directory)
    target = open_writable(directory / name)
    try:
        source.backup(target)
        total = target.execute("SELECT count(*) FROM chunks").fetchone()[0]
        cursor = source.execute(
            "SELECT c.slot, substr(d.text, c.start + 1, c.end - c.start) FROM chunks c"
            " JOIN documents d ON d.number = c.document ORDER BY c.slot"
        )
        done = 0
        with transaction(target):
            while rows := cursor.fetchmany(_CHUNK_BATCH):
                vectors = analyzer.embed_queries([text for _, text in rows]).astype(np.float16)
                target.executemany(
                    "UPDATE chunks SET vector = ? WHERE slot = ?",
                    [(v.tobytes(), slot) for v, (slot, _) in zip(vectors, rows, strict=True)],
                )
                done += len(rows)
                progress(done, total)
            meta.put(target, meta.FINGERPRINT, analyzer.fingerprint.to_json())
    finally:
        target.close()
