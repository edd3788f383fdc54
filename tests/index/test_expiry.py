"""The window: late documents, expiry against a model, and what readers are shown meanwhile."""

import gzip
import sqlite3
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index import expiry
from index.admission import DocumentOutcome
from index.communities.dynamic import DynamicSettings
from index.expiry import DRAINED, parse_window
from index.store import documents
from index.store.connection import STORE_NAME, open_readonly
from index.store.follower import Follower
from index.types import Millis
from index.verify import verify
from index.writer import Writer
from tests.index.simple import FINGERPRINT, START, Feed, commit, open_writer
from tests.index.test_live import TEXT, failing_commit, run
from tests.index.test_writer import counted, naive, same_snapshot

DAY = Millis(24 * 3600 * 1000)
KEYS = st.sampled_from("abcdefgh")
STEP = st.one_of(
    st.tuples(st.just("upsert"), KEYS, TEXT, st.integers(-4, 3)),
    st.tuples(st.just("upsert"), KEYS, TEXT, st.integers(-1, 1)),
    st.tuples(st.just("delete"), KEYS),
)
BATCH = st.lists(STEP, min_size=1, max_size=6)
EVENT = st.one_of(BATCH, BATCH, st.sampled_from(["run", "restart", "fail", "idle"]))


def opened(directory: Path, window: Millis | None = DAY, **more) -> Writer:
    return Writer.open(
        directory,
        fingerprint=FINGERPRINT,
        dynamic=DynamicSettings(max_size=4),
        window=window,
        **more,
    )


def on(day: float) -> dict[str, datetime]:
    """The times of a document of some day."""
    moment = START + timedelta(days=day)
    return {"published_at": moment, "observed_at": moment}


def drain(writer: Writer) -> int:
    """Expire all that is due; the number of generations that it took."""
    count = 0
    while writer.expire() is not None:
        count += 1
    return count


def listed(source: Writer | Follower) -> list[str]:
    with source.pin() as view:
        return sorted(document.id for document in view.list_documents(before=None, limit=9999))


def verified(directory: Path) -> None:
    report = verify(directory)
    assert report.ok, [check for check in report.checks if not check.ok]


class Model:
    """What must be there: each key's text and day, the newest day, and nothing cleverer."""

    def __init__(self) -> None:
        self.alive: dict[str, tuple[str, float]] = {}
        self.day = -999.0

    def upsert(self, key: str, text: str, day: float) -> None:
        self.day = max(self.day, day)
        self.alive.pop(key, None)
        if day >= self.day - 1:
            self.alive[key] = text, day

    def inside(self) -> dict[str, str]:
        return {key: text for key, (text, day) in self.alive.items() if day >= self.day - 1}


@given(events=st.lists(EVENT, min_size=1, max_size=10))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_sequence_with_a_window_ends_as_a_fresh_build_from_the_survivors(
    events, tmp_path_factory
):
    directory = tmp_path_factory.mktemp("store")
    writer, feed, model, now = opened(directory), Feed(), Model(), 0.0
    follower = Follower.open(directory)
    try:
        for event in events:
            if event == "run":
                run(writer)
            elif event == "restart":
                writer.close()
                writer = opened(directory)
            elif event == "fail":
                failing_commit(writer, feed)
            elif event == "idle":
                writer.expire()
            else:
                now += 0.5
                commit(writer, [_arrival(step, feed, model, now) for step in event])
            follower.refresh()
            same_snapshot(writer.latest(), follower.latest())
            assert listed(writer) == listed(follower) == sorted(model.inside())
        drain(writer)
        assert counted(writer) == naive(model.inside())
        assert writer.latest().head.totals.due == 0
        assert writer.latest().alive.sum() == writer.latest().shown.sum()
        verified(directory)
    finally:
        follower.close()
        writer.close()


def _arrival(step, feed, model, now):
    kind, key, *rest = step
    if kind == "delete":
        model.alive.pop(key, None)
        return feed.delete(key)
    text, offset = rest
    day = now + offset / 2
    model.upsert(key, text, day)
    return feed.upsert(key, text, **on(day))


def test_a_document_older_than_the_window_is_late_and_not_indexed(tmp_path):
    writer, feed = opened(tmp_path), Feed()
    commit(writer, [feed.upsert("new", "oil ship", **on(5))])
    report = commit(
        writer, [feed.upsert("old", "storm", **on(3)), feed.upsert("edge", "dock", **on(4))]
    )
    assert report.outcomes == {DocumentOutcome.LATE: 1, DocumentOutcome.INSERTED: 1}
    assert not report.rejected
    assert listed(writer) == ["edge", "new"]
    with writer.pin() as view:
        assert view.has_expired("old")
        assert not view.has_expired("edge")
        assert not [change for change in view.changes(0) if change.document_id == "old"]
    assert writer.latest().head.totals.late == 1
    writer.close()


def test_a_late_edit_withdraws_the_living_revision(tmp_path):
    writer, feed = opened(tmp_path), Feed()
    commit(writer, [feed.upsert("a", "oil ship", **on(5))])
    report = commit(writer, [feed.upsert("a", "oil ship crew", **on(3))])
    assert report.outcomes == {DocumentOutcome.LATE: 1}
    assert counted(writer) == (Counter(), Counter())
    with writer.pin() as view:
        kinds = {change.generation: change.kind for change in view.changes(0)}
        assert kinds == {1: "insert", 2: "expiry"}
    commit(writer, [feed.upsert("a", "storm", **on(5))])
    assert listed(writer) == ["a"]
    writer.close()


def test_what_is_late_does_not_depend_on_where_batches_are_cut(tmp_path):
    steps = [("a", 0), ("b", 2), ("a", 0.5), ("c", 1.5), ("b", 0.2), ("d", 3.1), ("c", 3)]
    found = []
    for size in (1, 3, 7):
        directory = tmp_path / str(size)
        writer, feed = opened(directory), Feed()
        arrivals = [feed.upsert(key, f"oil {key} {day}", **on(day)) for key, day in steps]
        for start in range(0, len(arrivals), size):
            commit(writer, arrivals[start : start + size])
        drain(writer)
        found.append((listed(writer), counted(writer)))
        writer.close()
    assert found[0] == found[1] == found[2]


def test_a_late_revision_keeps_its_version_so_that_older_ones_stay_away(tmp_path):
    writer, feed = opened(tmp_path), Feed()
    commit(writer, [feed.upsert("x", "oil", **on(9)), feed.upsert("a", "oil", version=5, **on(3))])
    report = commit(writer, [feed.upsert("a", "ship", version=4, **on(9))])
    assert report.outcomes == {DocumentOutcome.STALE: 1}
    report = commit(writer, [feed.upsert("a", "ship", version=6, **on(9))])
    assert report.outcomes == {DocumentOutcome.INSERTED: 1}
    writer.close()


@pytest.mark.parametrize("drained", [False, True])
def test_what_is_due_counts_as_gone_whether_or_not_it_was_taken_out(drained, tmp_path):
    writer, feed = opened(tmp_path), Feed()
    commit(writer, [feed.upsert(key, f"oil {key}", **on(0)) for key in "abc"])
    writer.close()
    writer = opened(tmp_path)
    commit(writer, [feed.upsert("now", "ship", **on(5)), feed.delete("now")])
    if drained:
        drain(writer)
    same = feed.upsert("c", "oil c", **on(5))
    report = commit(writer, [same, feed.delete("b")])
    assert report.outcomes == {DocumentOutcome.INSERTED: 1, DocumentOutcome.DUPLICATE: 1}
    drain(writer)
    assert counted(writer) == naive({"c": "oil c"})
    verified(tmp_path)
    writer.close()


def test_a_generation_expires_at_most_twice_its_records_whatever_they_are_oldest_first(tmp_path):
    writer, feed = opened(tmp_path), Feed()
    commit(writer, [feed.upsert(f"d{n}", "oil ship", **on(n / 100)) for n in range(9)])
    report = commit(writer, [feed.upsert("x", "dock", **on(5)), feed.upsert("y", "dock", **on(5))])
    assert (report.expired, report.due) == (4, 5)
    assert writer.latest().head.totals.documents == 7
    assert listed(writer) == ["x", "y"], "what waits is hidden"
    with writer.pin() as view:
        assert view.document("d8") is None
        assert view.has_expired("d0")
        assert view.has_expired("d8")
        assert [c.document_id for c in view.changes(0) if c.kind == "expiry"] == [
            f"d{n}" for n in range(4)
        ]
    report = commit(writer, [feed.delete("x")])
    assert (report.expired, report.due) == (2, 3)
    report = commit(writer, [feed.delete("nobody")])
    assert (report.expired, report.due) == (2, 1), "what changes nothing else drains too"
    verified(tmp_path)
    writer.close()


def test_an_idle_stream_drains_in_bounded_generations(tmp_path):
    writer, feed = opened(tmp_path), Feed()
    many = 2 * DRAINED + 50
    commit(writer, [feed.upsert(f"d{n}", f"oil w{n % 9}", **on(0)) for n in range(many)])
    commit(writer, [feed.upsert("x", "dock", **on(5))])
    reports = list(iter(writer.expire, None))
    assert [report.expired for report in reports] == [DRAINED, DRAINED, many - 2 - 2 * DRAINED]
    assert all(report.drained for report in reports)
    assert counted(writer) == naive({"x": "dock"})
    assert writer.latest().head.totals.expired == many
    verified(tmp_path)
    writer.close()


def test_a_window_that_is_set_taken_away_or_widened_holds_from_the_next_generation_on(tmp_path):
    writer, feed = opened(tmp_path, None), Feed()
    commit(writer, [feed.upsert("a", "oil", **on(0)), feed.upsert("b", "oil", **on(5))])
    assert writer.expire() is None
    writer.close()
    writer = opened(tmp_path, DAY)
    report = writer.expire()
    assert (report.expired, report.due) == (1, 0)
    commit(writer, [feed.upsert("c", "oil", **on(9)), feed.delete("c")])
    writer.close()
    connection = sqlite3.connect(tmp_path / STORE_NAME)
    left = connection.execute("SELECT count(*) FROM documents").fetchone()[0]
    connection.close()
    writer = opened(tmp_path, None)
    drain(writer)
    assert len(listed(writer)) == left
    assert writer.latest().head.horizon is None
    verified(tmp_path)
    writer.close()


def test_a_date_in_2099_expires_nothing(tmp_path):
    writer, feed = opened(tmp_path), Feed()
    far = datetime(2099, 1, 1, tzinfo=UTC)
    commit(writer, [feed.upsert("a", "oil", **on(0))])
    report = commit(writer, [feed.upsert("b", "ship", **on(0.5) | {"published_at": far})])
    assert (report.expired, report.due) == (0, 0)
    assert listed(writer) == ["a", "b"]
    writer.close()


@pytest.mark.parametrize("year", [1887, 1970, 1987])
def test_a_replay_of_old_news_keeps_its_own_clock(year, tmp_path):
    writer, feed = opened(tmp_path), Feed()
    first = datetime(year, 1, 1, tzinfo=UTC)
    for day in range(4):
        moment = {"published_at": first + timedelta(days=day), "observed_at": START}
        report = commit(writer, [feed.upsert(f"d{day}", "oil ship", **moment)])
        assert report.outcomes == {DocumentOutcome.INSERTED: 1}
    drain(writer)
    assert listed(writer) == ["d2", "d3"]
    writer.close()


def test_a_clock_that_jumps_changes_nothing(tmp_path):
    now = [START.timestamp()]
    writer, feed = opened(tmp_path, clock=lambda: now[0]), Feed()
    commit(writer, [feed.upsert("a", "oil", **on(0))])
    for jump in (1e9, -2e9):
        now[0] += jump
        report = commit(writer, [feed.upsert(f"b{jump}", "ship", **on(0.1))])
        assert (report.expired, report.due) == (0, 0)
    assert writer.expire() is None
    assert len(listed(writer)) == 3
    writer.close()


def test_a_follower_hides_what_is_due_and_sees_it_go(tmp_path):
    writer, feed = opened(tmp_path), Feed()
    follower = Follower.open(tmp_path)
    commit(writer, [feed.upsert(f"d{n}", "oil ship", **on(0)) for n in range(9)])
    commit(writer, [feed.upsert("x", "dock", **on(5))])
    follower.refresh()
    shown = follower.latest()
    assert (shown.alive.sum(), shown.shown.sum()) == (8, 1)
    drain(writer)
    follower.refresh()
    same_snapshot(writer.latest(), follower.latest())
    assert follower.latest().alive.sum() == 1
    follower.close()
    writer.close()


def test_traces_of_expired_documents_are_bounded_and_those_of_deletions_stay(tmp_path):
    writer, feed = opened(tmp_path), Feed()
    commit(writer, [feed.upsert(f"d{n}", "oil", **on(n / 100)) for n in range(9)])
    commit(writer, [feed.delete("d8")])
    for day in (5, 6, 7):
        commit(writer, [feed.upsert(f"x{day}", "dock", **on(day))])
        drain(writer)
    connection = writer._connection
    connection.execute(
        "UPDATE tombstones SET deleted_at = deleted_at - 99 + unicode(substr(id, 2)) WHERE expired"
    )
    documents.forget_tombstones(connection, traces=2)
    left = connection.execute("SELECT expired, count(*) FROM tombstones GROUP BY 1").fetchall()
    assert left == [(0, 1), (1, 2)]
    writer.close()


def test_two_thousand_deletions_and_an_expiry_of_as_many_are_one_update_each(tmp_path, monkeypatch):
    monkeypatch.setattr(expiry, "DRAINED", 2000)
    monkeypatch.setattr("index.writer.DRAINED", 2000)
    writer, feed = opened(tmp_path), Feed()
    many = 4000
    commit(writer, [feed.upsert(f"d{n}", f"oil w{n % 50}", **on(0)) for n in range(many)])
    run(writer)
    calls = []
    real = writer.counts.apply
    monkeypatch.setattr(writer.counts, "apply", lambda delta: (calls.append(1), real(delta))[1])
    report = commit(writer, [feed.delete(f"d{n}") for n in range(2000)])
    assert (report.chunks_retracted, len(calls)) == (2000, 1)
    commit(writer, [feed.upsert("x", "dock", **on(5))])
    calls.clear()
    assert writer.expire().expired == 1998
    assert len(calls) == 1
    verified(tmp_path)
    writer.close()


def test_a_store_of_schema_2_is_brought_to_the_present_one(tmp_path):
    golden = Path(__file__).parent / "golden" / "schema2.db.gz"
    (tmp_path / STORE_NAME).write_bytes(gzip.decompress(golden.read_bytes()))
    writer = open_writer(tmp_path)
    with writer.pin() as view:
        assert view.was_deleted("gone")
        assert not view.has_expired("gone")
    verified(tmp_path)
    writer.close()
    writer = opened(tmp_path)
    commit(writer, [Feed(first=9).upsert("x", "dock oil", **on(5))])
    drain(writer)
    assert counted(writer) == naive({"x": "dock oil"})
    verified(tmp_path)
    writer.close()
    names = ("table", "index")
    fresh = open_writer(tmp_path / "fresh")
    fresh.close()
    schemas = []
    for directory in (tmp_path, tmp_path / "fresh"):
        connection = open_readonly(directory / STORE_NAME)
        sql = "SELECT name FROM sqlite_master WHERE type IN (?, ?) ORDER BY name"
        schemas.append(connection.execute(sql, names).fetchall())
        connection.close()
    assert schemas[0] == schemas[1]


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("", None),
        ("90s", 90_000),
        ("5m", 300_000),
        ("2h", 7_200_000),
        ("30d", 30 * DAY),
        ("1w", 7 * DAY),
    ],
)
def test_a_window_is_a_number_and_a_unit(text, millis):
    assert parse_window(text) == millis


@pytest.mark.parametrize("text", ["0d", "00s", "-3d", "30", "d", "30 days", "1.5h", "1y", "٣d"])
def test_a_window_of_nothing_or_of_no_unit_is_refused(text):
    with pytest.raises(ValueError, match="window"):
        parse_window(text)


def test_the_window_shows_nothing_that_arrived_behind_it(tmp_path):
    """The rows shown are those of the documents inside, whatever was taken out."""
    writer, feed = opened(tmp_path), Feed()
    commit(writer, [feed.upsert(f"d{n}", "oil\nship", **on(n)) for n in range(1)])
    commit(writer, [feed.upsert("x", "dock", **on(0.5)), feed.upsert("y", "dock", **on(1.4))])
    snapshot = writer.latest()
    inside = snapshot.event_at[snapshot.chunk_document] >= snapshot.head.horizon
    assert np.array_equal(snapshot.shown, snapshot.alive & inside)
    writer.close()
