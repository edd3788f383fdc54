"""A backup holds one whole generation and is put back as it was, or not at all."""

import io
import json
import os
import signal
import tarfile
import threading
from contextlib import ExitStack, closing

import pytest

from deploy import backup, process, runtime
from deploy.assembly.streams import Origin, publish
from deploy.backup import MANIFEST, BackupError, back_up, restore
from deploy.cli import keeping
from deploy.errors import UsageError
from deploy.settings import Settings
from index.errors import StoreError
from index.store.connection import open_readonly, store_path
from index.store.work import BACKUP, WorkFolder
from index.verify import verify
from tests.test_end_to_end import STREAM


def told(*_):
    pass


def fill(data, limit=None):
    settings = Settings(data=data)
    publish(settings, Origin(STREAM, follow=False), threading.Event())
    return settings


def index(settings):
    runtime.index(settings, Origin(follow=False), threading.Event(), until_end=True, told=None)


def documents(data):
    with closing(open_readonly(store_path(data))) as connection:
        rows = connection.execute("SELECT id, content_hash FROM documents ORDER BY id").fetchall()
        positions = connection.execute("SELECT * FROM positions ORDER BY 1, 2").fetchall()
    return rows, positions


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    data = tmp_path_factory.mktemp("original") / "data"
    index(fill(data))
    return data


@pytest.fixture(scope="module")
def archive(original, tmp_path_factory):
    made = tmp_path_factory.mktemp("archive") / "backup.tar"
    back_up(original, made, told)
    return made


@pytest.mark.parametrize("name", ["backup.tar", "backup.tar.gz"])
def test_what_was_backed_up_is_put_back(original, tmp_path, name):
    report = back_up(original, tmp_path / name, told)
    assert set(report.files) >= {"index.db", "log.db", "origin.json"}
    assert restore(tmp_path / name, tmp_path / "data", told) == report
    assert documents(tmp_path / "data") == documents(original)
    assert verify(tmp_path / "data").ok
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "data"])


def test_a_backup_beside_a_writer_is_one_generation_and_goes_on_from_there(tmp_path, original):
    settings = Settings(data=tmp_path / "data", batch_records=3)
    fill(settings.data)
    writer = threading.Thread(target=index, args=(settings,))
    writer.start()
    made = []
    while writer.is_alive() and len(made) < 5:
        try:
            back_up(settings.data, tmp_path / f"{len(made)}.tar", told)
            made.append(tmp_path / f"{len(made)}.tar")
        except StoreError:  # no store yet
            writer.join(0.05)
    writer.join()
    assert made
    for number, archive in enumerate(made):
        data = tmp_path / f"again{number}"
        restore(archive, data, told)
        assert verify(data).ok
    index(Settings(data=data))
    assert documents(data) == documents(original)


def test_nothing_is_overwritten(original, archive, tmp_path):
    with pytest.raises(UsageError, match="never overwrites"):
        back_up(original, archive, told)
    with pytest.raises(UsageError, match=r"holds index\.db already"):
        restore(archive, original, told)
    with pytest.raises(StoreError, match="no index"):
        back_up(tmp_path / "none", tmp_path / "a.tar", told)
    with pytest.raises(BackupError, match="cannot be written"):
        back_up(original, tmp_path / "none" / "a.tar", told)


def entries(archive):
    with tarfile.open(archive) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar}


def packed(path, contents):
    with tarfile.open(path, "w") as tar:
        for name, body in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            tar.addfile(entry, io.BytesIO(body))
    return path


def changed(contents, **more):
    manifest = json.loads(contents[MANIFEST]) | more
    return contents | {MANIFEST: json.dumps(manifest).encode()}


def spoilt(contents):
    store = bytearray(contents["index.db"])
    store[5000] ^= 1
    files = json.loads(contents[MANIFEST])["files"]
    return {
        "empty": {},
        "no manifest": {"index.db": contents["index.db"]},
        "a bit turned over": contents | {"index.db": bytes(store)},
        "a file missing": {name: body for name, body in contents.items() if name != "log.db"},
        "a file of another place": {**contents, "../outside": b"x"},
        "a file that the manifest alone names": changed(contents, files=files | {"../x": {}}),
        "no store": changed(contents, files={"log.db": files["log.db"]}),
        "another format": changed(contents, format=99),
        "a manifest of nothing": contents | {MANIFEST: b"[]"},
        "a manifest that is no JSON": contents | {MANIFEST: b"{"},
    }


def test_what_is_damaged_or_strange_is_refused_and_leaves_nothing(archive, tmp_path):
    for number, (what, contents) in enumerate(spoilt(entries(archive)).items()):
        place = tmp_path / str(number)
        place.mkdir()
        with pytest.raises(BackupError):
            restore(packed(place / "bad.tar", contents), place / "data", told)
        assert not any((place / "data").iterdir()), what
        assert not (place / "outside").exists()


def test_half_an_archive_is_refused(archive, tmp_path):
    half = tmp_path / "half.tar"
    half.write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])
    with pytest.raises(BackupError):
        restore(half, tmp_path / "data", told)
    (tmp_path / "text.tar").write_text("no archive")
    with pytest.raises(BackupError, match="cannot be restored"):
        restore(tmp_path / "text.tar", tmp_path / "data", told)


@pytest.fixture
def terminated(monkeypatch):
    """Deliver SIGTERM to this process where a named step of a backup begins."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def at(step):
        monkeypatch.setattr(backup, step, lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))

    yield at
    signal.signal(signal.SIGTERM, before)


def test_a_backup_that_is_terminated_leaves_nothing(original, tmp_path, terminated):
    terminated("_pack")
    with pytest.raises(SystemExit) as ended:
        keeping.backup(archive=tmp_path / "a.tar", data=original)
    assert ended.value.code == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN


def test_a_restore_that_is_terminated_leaves_nothing(archive, tmp_path, terminated):
    terminated("_check_database")
    with pytest.raises(SystemExit) as ended:
        keeping.restore(archive=archive, data=tmp_path)
    assert ended.value.code == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_a_second_sigterm_does_not_interrupt_the_tidying(terminated):
    tidied = []

    def run():
        with process.ended_by_sigterm(), ExitStack() as stack:
            stack.callback(tidied.append, True)
            stack.callback(os.kill, os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit):
        run()
    assert tidied


def left_by_a_killed_one(directory, prefix):
    folder = directory / f"{prefix}dead"
    folder.mkdir(parents=True)
    (folder / "index.db").write_bytes(b"half")
    (folder / "writer.lock").write_text("process 1 on some host")
    return folder


def test_what_killed_backups_and_restores_left_goes_with_the_next_one(original, archive, tmp_path):
    data = tmp_path / "data"
    dead = [left_by_a_killed_one(tmp_path, ".backup-"), left_by_a_killed_one(data, ".restore-")]
    living = WorkFolder(tmp_path, BACKUP)
    copy = living.new_file()
    copy.write_bytes(b"half")
    back_up(original, tmp_path / "a.tar", told)
    restore(archive, data, told)
    assert not any(folder.exists() for folder in dead)
    assert copy.exists()
    living.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "data"]
