"""Reindexing beside the live store."""

from dataclasses import replace

import numpy as np
import pytest

from index.errors import StoreError, StoreLockedError
from index.reindex import reindex
from index.store.follower import Follower
from index.types import Reason, Rejected
from index.verify import verify
from index.writer import Writer
from tests.index.simple import FINGERPRINT, Feed, analysis, commit, open_writer


class Analyzer:
    def __init__(self, fingerprint):
        self.fingerprint = fingerprint
        self.analyzed = 0

    def analyze(self, documents):
        self.analyzed += len(documents)
        return [analysis(document) for document in documents]

    def embed_queries(self, texts):
        return np.full((len(texts), self.fingerprint.dimensions), 0.5, np.float32)


def filled(directory):
    writer, feed = open_writer(directory), Feed()
    commit(writer, [feed.upsert("a", "oil ship\nport"), feed.upsert("b", "storm")])
    commit(writer, [feed.delete("b"), feed.reject(Rejected(Reason.NOT_JSON, "x"))])
    writer.close()


def test_new_rules_analyse_all_and_keep_positions_and_tombstones(tmp_path):
    filled(tmp_path)
    follower = Follower.open(tmp_path)
    analyzer = Analyzer(replace(FINGERPRINT, normalisation=2))
    report = reindex(tmp_path, analyzer)
    assert (report.documents, report.embedded_only, analyzer.analyzed) == (1, False, 1)
    assert follower.refresh()
    assert follower.latest().head.positions == {("news", 0): 4}
    with follower.pin() as view:
        assert view.was_deleted("b")
        assert [c.kind for c in view.changes(0)] == ["insert", "insert", "delete"]
    follower.close()
    assert verify(tmp_path).ok
    Writer.open(tmp_path, fingerprint=analyzer.fingerprint).close()


def test_new_embedder_only_embeds_again(tmp_path):
    filled(tmp_path)
    analyzer = Analyzer(replace(FINGERPRINT, embedder="other", dimensions=4))
    report = reindex(tmp_path, analyzer)
    assert report.embedded_only
    assert analyzer.analyzed == 0
    writer = Writer.open(tmp_path, fingerprint=analyzer.fingerprint)
    assert writer.latest().similarity(np.full(4, 0.5, np.float32)).tolist() == [1.0, 1.0]
    writer.close()


def test_equal_fingerprint_keeps_the_store(tmp_path):
    filled(tmp_path)
    assert reindex(tmp_path, Analyzer(FINGERPRINT)).kept


def test_what_killed_processes_left_goes_when_a_writer_opens(tmp_path):
    filled(tmp_path)
    left = ["index-2.db", "index-2.db-wal", "index-2.db-shm", "index-2.graph.part", "index-3.graph"]
    for name in left:
        (tmp_path / name).write_bytes(b"half")
    (tmp_path / "index-before.db").write_bytes(b"a copy by hand")
    for folder in (".restore-x", ".backup-x", "replication-x"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "index.db").write_bytes(b"half")
    open_writer(tmp_path).close()
    held = sorted(path.name for path in tmp_path.iterdir())
    assert held == ["index-before.db", "index.db", "writer.lock"]
    assert verify(tmp_path).ok


def test_nothing_is_removed_where_the_store_in_force_is_missing(tmp_path):
    filled(tmp_path)
    (tmp_path / "index.db").rename(tmp_path / "index-2.db")
    with pytest.raises(StoreError, match="which is in force, is missing"):
        open_writer(tmp_path)
    (tmp_path / "current").write_text("index-2.db")
    open_writer(tmp_path).close()
    assert verify(tmp_path).ok


@pytest.mark.parametrize("change", [{"normalisation": 2}, {"embedder": "other"}])
def test_a_second_reindex_or_writer_keeps_off_the_store_that_is_being_made(tmp_path, change):
    filled(tmp_path)
    analyzer = Analyzer(replace(FINGERPRINT, **change))

    def meanwhile(*_):
        with pytest.raises(StoreLockedError):
            reindex(tmp_path, analyzer)
        with pytest.raises(StoreLockedError):
            open_writer(tmp_path)
        assert (tmp_path / "index-2.db").exists()

    reindex(tmp_path, analyzer, progress=meanwhile)
    assert verify(tmp_path).ok
    assert sorted(path.name for path in tmp_path.glob("index*.db")) == ["index-2.db"]
