"""Worker processes: order, death, poison, the end."""

import os
import signal

import pytest

from index.analysis.pool import AnalysisPool
from index.analysis.settings import AnalyzerSettings
from index.types import Analysis, Reason, Rejected
from tests.index.analysis.documents import document, fragile_worker

PATIENCE = 60


@pytest.fixture
def pool():
    with AnalysisPool(AnalyzerSettings(), 1, target=fragile_worker) as pool:
        yield pool


def test_a_batch_whose_worker_is_killed_is_retried(pool, tmp_path):
    batch = [document("fine"), document(f"once:{tmp_path / 'marker'}", number=2)]
    results = pool.submit(batch).result(PATIENCE)
    assert [r.document_id for r in results] == ["d1", "d2"]


def test_an_idle_worker_that_was_killed_is_replaced(pool):
    assert pool.submit([document("fine")]).result(PATIENCE)
    [pid] = pool.pids()
    os.kill(pid, signal.SIGKILL)
    assert isinstance(pool.submit([document("fine")]).result(PATIENCE)[0], Analysis)
    assert pool.pids() != [pid]


def test_a_document_that_kills_is_rejected_and_the_others_are_not(pool):
    batch = [document("fine"), document("poison", number=2), document("fine", number=3)]
    first, second, third = pool.submit(batch).result(PATIENCE)
    assert isinstance(first, Analysis)
    assert isinstance(third, Analysis)
    assert isinstance(second, Rejected)
    assert second.reason is Reason.ANALYSIS_FAILED
    assert "code 7" in second.detail


def test_a_closed_pool_has_no_processes_and_takes_nothing():
    pool = AnalysisPool(AnalyzerSettings(), 2, target=fragile_worker)
    pids = pool.pids()
    pool.close()
    pool.close()
    assert len(pids) == 2
    assert pool.pids() == []
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit([document("fine")])


def test_real_workers_give_what_the_process_itself_gives():
    batch = [
        document("Brazil sold coffee to Japan. " * 20, title="COFFEE"),
        document(" ", number=2),
    ]
    with AnalysisPool(AnalyzerSettings(), 0) as here, AnalysisPool(AnalyzerSettings(), 1) as there:
        expected = here.submit(batch)
        assert expected.done()
        future = there.submit(batch)
        [pid] = there.pids()
        os.kill(pid, signal.SIGINT)
        assert future.result(PATIENCE) == expected.result()
