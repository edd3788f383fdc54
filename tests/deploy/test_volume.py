"""A data directory on a network file system is refused before anything is written."""

import threading
from types import SimpleNamespace

import psutil
import pytest

from deploy import runtime
from deploy.assembly import replica
from deploy.assembly.streams import Origin
from deploy.errors import UsageError
from deploy.settings import Settings
from deploy.volume import check_volume, file_system


@pytest.fixture
def mounted(monkeypatch, tmp_path):
    """Mount a network file system, by name alone, at a directory."""

    def mount(kind):
        shared = tmp_path / "shared"
        shared.mkdir()
        parts = [("/", "ext4"), (str(shared), kind)]
        found = [SimpleNamespace(mountpoint=at, fstype=what) for at, what in parts]
        monkeypatch.setattr(psutil, "disk_partitions", lambda **_: found)
        return shared

    return mount


def test_the_innermost_mount_counts_also_for_what_is_not_there_yet(mounted, tmp_path):
    shared = mounted("nfs4")
    assert file_system(shared / "made" / "later") == "nfs4"
    assert file_system(tmp_path / "local") == "ext4"
    check_volume(tmp_path / "local")


def test_a_writer_on_a_network_file_system_does_not_begin(mounted):
    data = mounted("nfs4") / "data"
    with pytest.raises(UsageError, match="a network file system"):
        runtime.index(
            Settings(data=data),
            Origin(follow=False),
            threading.Event(),
            until_end=True,
            told=None,
        )
    assert not data.exists()


def test_a_follower_there_does_not_begin_either(mounted):
    data = mounted("cifs") / "data"
    with pytest.raises(UsageError, match="a network file system"):
        replica.check(Settings(data=data, follow="http://writer:8321"))
