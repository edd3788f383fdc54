"""The volume that a data directory is on."""

from pathlib import Path

from deploy.errors import UsageError

NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "lustre", "fuse.sshfs", "fuse.glusterfs"}
)
"""SQLite's write-ahead log needs shared memory between processes, and locks that hold."""


def file_system(directory: Path) -> str:
    """The kind of file system under a directory, which need not be there yet."""
    import psutil  # noqa: PLC0415  as in ``process``

    path = directory.resolve()
    mounts = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    return next((mounts[place] for place in (path, *path.parents) if place in mounts), "unknown")


def check_volume(directory: Path) -> None:
    """Raises ``UsageError`` where no store can be kept safely."""
    kind = file_system(directory)
    if kind in NETWORK_FILE_SYSTEMS:
        raise UsageError(
            f"{directory} is on {kind}, a network file system: SQLite would lose data there; "
            "use a local disk or a block volume"
        )
