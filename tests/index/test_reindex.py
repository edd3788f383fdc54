"""Reindexing beside the live store."""

from dataclasses import replace

import numpy as np

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
