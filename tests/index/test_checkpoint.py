"""The checkpoint of the arrays: it goes on as if nothing had stopped, or is told and left aside."""

import os
import re
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from index import checkpoint
from index.checkpoint import Outcome
from index.communities.dynamic import DynamicSettings
from index.errors import ArrayFileError
from index.store import array_file, beside
from index.store.beside import checkpoint_path
from index.store.connection import STORE_NAME, remove_store
from index.writer import Writer
from tests.index.simple import FINGERPRINT, Feed, commit
from tests.index.test_live import GALE, SMALL, STORIES, run, verified

LATER = ["gale port storm\ncrew gale tide", GALE, "wind ship crane\ngale wind ship\nport tide oil"]


def opened(
    directory: Path,
    told: list,
    *,
    least: int = 1,
    dynamic: DynamicSettings = SMALL,
    quiet: float = 60.0,
):
    return Writer.open(
        directory,
        fingerprint=FINGERPRINT,
        dynamic=dynamic,
        checkpointed=told.append,
        checkpoint_from=least,
        checkpoint_quiet=quiet,
    )


def filled(directory: Path, told: list, *, least: int = 1) -> Feed:
    """A store with four stories, communities and a fifth story that they followed; closed."""
    writer, feed = opened(directory, told, least=least), Feed()
    commit(writer, [feed.upsert(f"d{i}", text) for i, text in enumerate(STORIES)])
    run(writer)
    commit(writer, [feed.upsert("e", GALE)])
    writer.close()
    return feed


def outcomes(told: list) -> list[Outcome]:
    return [report.outcome for report in told]


def queued_anew(writer: Writer) -> bool:
    """Whether the hierarchy is not there yet: the first batch will queue everybody."""
    return writer.live.quality is None


@pytest.fixture
def kept(tmp_path) -> tuple[Path, Feed, Path]:
    """A closed store, its feed and its checkpoint."""
    feed = filled(tmp_path, [])
    return tmp_path, feed, checkpoint_path(tmp_path / STORE_NAME)


def test_a_start_from_a_checkpoint_goes_on_as_if_it_had_not_stopped(tmp_path):
    states = []
    for name, stops in (("on", False), ("stopped", True)):
        told: list = []
        writer, feed = opened(tmp_path / name, told), Feed()
        commit(writer, [feed.upsert(f"d{i}", text) for i, text in enumerate(STORIES)])
        run(writer)
        for i, text in enumerate(LATER):
            commit(writer, [feed.upsert(f"e{i}", text), feed.delete(f"d{i}")])
            if stops:
                writer.close()
                writer = opened(tmp_path / name, told)
                assert not queued_anew(writer)
        hierarchy = writer.latest().hierarchy
        states.append((hierarchy.ids, hierarchy.parent, hierarchy.leaf, *writer.counts.pairs()))
        assert not stops or outcomes(told) == [Outcome.WRITTEN, Outcome.RESUMED] * len(LATER)
        writer.close()
        verified(tmp_path / name)
    assert all(np.array_equal(a, b) for a, b in zip(*states, strict=True))


def test_a_small_graph_is_not_worth_a_checkpoint(tmp_path):
    told: list = []
    filled(tmp_path, told, least=10_000)
    assert told == []
    assert not checkpoint_path(tmp_path / STORE_NAME).exists()


def test_an_index_that_nothing_came_to_is_not_written_again(kept):
    directory, _, path = kept
    before, told = path.stat().st_mtime_ns, []
    opened(directory, told).close()
    assert outcomes(told) == [Outcome.RESUMED]
    assert path.stat().st_mtime_ns == before


def test_a_checkpoint_older_than_the_store_is_told_and_counted_anew(kept):
    directory, feed, path = kept
    shutil.copy(path, directory / "aside")
    writer = opened(directory, [])
    commit(writer, [feed.upsert("f", LATER[0])])
    writer.close()
    (directory / "aside").replace(path)
    _is_left_aside(directory, feed, "it is of generation 3, the store of 4")


def test_after_a_kill_the_checkpoint_of_before_is_left_aside(kept):
    directory, feed, _ = kept
    writer = opened(directory, [])
    commit(writer, [feed.upsert("f", LATER[0])])
    writer._resident.drop()  # as a process does that has no time to write one
    writer.close()
    _is_left_aside(directory, feed, "it is of generation 3, the store of 4")


@pytest.mark.parametrize("where", [0, 9, 40, 0.3, 0.6, 0.99])
def test_a_damaged_checkpoint_is_told_and_counted_anew(kept, where):
    directory, feed, path = kept
    content = bytearray(path.read_bytes())
    at = where if isinstance(where, int) else int(where * len(content))
    content[at] ^= 0x10
    path.write_bytes(content)
    _is_left_aside(directory, feed, "damaged|another kind of file")


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.01, 0.5, 0.999])
def test_a_checkpoint_that_was_cut_short_is_told_and_counted_anew(kept, share):
    directory, feed, path = kept
    os.truncate(path, int(share * path.stat().st_size))
    _is_left_aside(directory, feed, "cut short|damaged|bytes and must have")


def test_a_checkpoint_of_another_release_is_told_and_counted_anew(kept, monkeypatch):
    directory, feed, _ = kept
    monkeypatch.setattr(checkpoint, "LAYOUT", (99, *checkpoint.LAYOUT[1:]))
    _is_left_aside(directory, feed, "another release wrote it")


def test_a_checkpoint_of_another_format_is_told_and_counted_anew(kept, monkeypatch):
    directory, feed, _ = kept
    monkeypatch.setattr(array_file, "FORMAT", 2)
    _is_left_aside(directory, feed, "it has format 1, this release reads 2")


def test_a_checkpoint_made_with_other_settings_is_told_and_counted_anew(kept):
    directory, feed, _ = kept
    _is_left_aside(directory, feed, "settings", dynamic=replace(SMALL, max_size=5))


def test_a_checkpoint_of_another_store_is_told_and_counted_anew(kept, tmp_path_factory):
    directory, feed, path = kept
    other = tmp_path_factory.mktemp("other")
    writer, words = opened(other, []), Feed()
    commit(writer, [words.upsert("x", "\n".join(STORIES))])
    run(writer)
    commit(writer, [words.upsert("e", GALE)])
    writer.close()
    shutil.copy(checkpoint_path(other / STORE_NAME), path)
    _is_left_aside(directory, feed, "it is of generation 3, the store of 3")


def _is_left_aside(directory: Path, feed: Feed, why: str, dynamic: DynamicSettings = SMALL):
    """The next start says why, counts anew, is as right as ever, and leaves a good one."""
    told: list = []
    writer = opened(directory, told, dynamic=dynamic)
    (report,) = told
    assert report.outcome is Outcome.UNUSABLE
    assert re.search(why, report.detail), report.detail
    assert queued_anew(writer)
    commit(writer, [feed.upsert("g", LATER[2])])
    writer.close()
    verified(directory)
    opened(directory, told, dynamic=dynamic).close()
    assert outcomes(told[1:]) == [Outcome.WRITTEN, Outcome.RESUMED]


def test_a_write_that_fails_leaves_the_one_of_before_and_is_told(kept, monkeypatch):
    directory, feed, path = kept
    before, told = path.read_bytes(), []
    writer = opened(directory, told)
    commit(writer, [feed.upsert("f", LATER[0])])
    monkeypatch.setattr(array_file.os, "fsync", _full)
    writer.close()
    assert outcomes(told) == [Outcome.RESUMED, Outcome.FAILED]
    assert "No space left" in told[-1].detail
    assert path.read_bytes() == before
    assert not list(directory.glob("*.part"))


def _full(_descriptor):
    raise OSError(28, "No space left on device")


def test_what_a_kill_left_of_a_write_is_removed_and_was_never_read(kept):
    directory, _, path = kept
    begun = array_file.begun_path(path)
    begun.write_bytes(path.read_bytes()[:100])
    told: list = []
    opened(directory, told).close()
    assert outcomes(told) == [Outcome.RESUMED]
    assert not begun.exists()


def test_a_full_volume_gets_no_checkpoint(kept, monkeypatch):
    directory, feed, _ = kept
    told: list = []
    writer = opened(directory, told)
    commit(writer, [feed.upsert("f", LATER[0])])
    monkeypatch.setattr(checkpoint, "_SPARE", 1 << 62)
    writer.close()
    assert outcomes(told) == [Outcome.RESUMED, Outcome.FAILED]
    assert "no room" in told[-1].detail


class Quiet:
    """A writer whose clock is set by hand; it has been quiet since its last commit."""

    def __init__(self, kept, **more):
        self.directory, self.feed, self.path = kept
        self.told: list = []
        self.writer = opened(self.directory, self.told, **more)
        commit(self.writer, [self.feed.upsert("f", LATER[0])])
        self.now = 1000.0
        self.writer._resident.checkpoint._clock = lambda: self.now
        self.writer.rest()

    def after(self, seconds):
        """Let time go by, and what was begun end."""
        self.now += seconds
        self.writer.rest()
        if self.writer._resident.checkpoint._beside is not None:
            self.writer._resident.checkpoint._beside.join()
        return outcomes(self.told)[1:]


def test_a_quiet_stream_leaves_a_checkpoint_that_a_start_after_a_kill_goes_on_from(kept):
    quiet = Quiet(kept)
    assert quiet.after(59) == []
    assert quiet.after(1) == [Outcome.WRITTEN]
    assert quiet.after(9999) == [Outcome.WRITTEN], "one is enough"
    found = beside.kept(quiet.directory / STORE_NAME)
    assert (found.generation, found.bytes) == (4, quiet.path.stat().st_size)
    quiet.writer._resident.drop()  # as a process does that has no time to write one
    quiet.writer.close()
    told: list = []
    writer = opened(quiet.directory, told)
    assert outcomes(told) == [Outcome.RESUMED]
    assert not queued_anew(writer)
    writer.close()
    verified(quiet.directory)


def test_what_comes_begins_the_quiet_anew_and_writing_takes_a_hundredth_of_the_time(kept):
    quiet = Quiet(kept)
    quiet.after(59)
    commit(quiet.writer, [quiet.feed.upsert("g", LATER[1])])
    assert quiet.after(30) == []
    assert quiet.after(60) == [Outcome.WRITTEN]
    quiet.writer._resident.checkpoint._next = quiet.now + 100
    commit(quiet.writer, [quiet.feed.upsert("h", LATER[2])])
    assert quiet.after(0) == quiet.after(99) == [Outcome.WRITTEN]
    assert quiet.after(1) == [Outcome.WRITTEN] * 2
    quiet.writer.close()


def test_what_comes_while_one_is_written_does_not_wait_for_it(kept, monkeypatch):
    """It is given up: the one of before stays, no half is left, and the next quiet writes it."""
    quiet, before = Quiet(kept), kept[2].read_bytes()
    reached, go_on = threading.Event(), threading.Event()
    sync = array_file._sync

    def slow(file):
        reached.set()
        assert go_on.wait(10)
        sync(file)

    monkeypatch.setattr(array_file, "_sync", slow)
    monkeypatch.setattr(array_file, "_BLOCK", 64)
    quiet.now += 60
    quiet.writer.rest()
    assert reached.wait(10)
    threading.Timer(0.05, go_on.set).start()
    commit(quiet.writer, [quiet.feed.upsert("g", LATER[1])])
    assert quiet.path.read_bytes() == before
    assert not list(quiet.directory.glob("*.part"))
    assert quiet.after(0) == []
    assert quiet.after(60) == [Outcome.WRITTEN]
    quiet.writer.close()


def test_a_setting_leaves_it_to_the_end(kept):
    quiet = Quiet(kept, quiet=0.0)
    assert quiet.after(9999) == []
    quiet.writer.close()
    assert outcomes(quiet.told)[1:] == [Outcome.WRITTEN]


def test_a_store_that_is_removed_takes_its_checkpoint_along(kept):
    directory, _, path = kept
    remove_store(directory / STORE_NAME)
    assert not path.exists()


def test_arrays_come_back_as_they_were_and_writable(tmp_path):
    arrays = {
        "whole": np.arange(12, dtype=np.int32).reshape(3, 4),
        "none": np.zeros((0, 2), np.int64),
        "one": np.array([2**40]),
    }
    array_file.write_arrays(tmp_path / "a", {"of": "a test"}, arrays)
    assert array_file.read_note(tmp_path / "a") == {"of": "a test"}
    found = array_file.read_arrays(tmp_path / "a")
    assert list(found) == list(arrays)
    for name, array in found.items():
        assert np.array_equal(array, arrays[name])
        assert (array.dtype, array.shape) == (arrays[name].dtype, arrays[name].shape)
        assert array.flags.writeable
        assert not array.size or array.ctypes.data % 64 == 0
    with pytest.raises(ArrayFileError, match="another kind of file"):
        array_file.read_note(Path(__file__))
