"""State files of an earlier version, brought to today's.

Owns which step leads from each version of a file to the next, and that what the file
was is kept beside it.  homi-mailbox(5).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from homi.store.disk import Disk
from homi.store.whole import read_whole, write_whole

Fields = dict[str, Any]
Step = Callable[[Fields], Fields]  # what a file holds, as the next version holds it

# File → the steps from version 1 to 2, from 2 to 3 and so on.
STEPS: Mapping[str, Sequence[Step]] = {}


def backup(path: str, version: int) -> str:
    """Where a file of that version is kept when it is brought to another."""
    return f"{path}.bak-v{version}"


def keep(disk: Disk, path: str, version: int, data: bytes) -> None:
    """Keep what the file was, durably, unless it is kept from a try before."""
    kept = backup(path, version)
    if read_whole(disk, kept) is None:
        write_whole(disk, kept, data)


def migrated(fields: Fields, version: int, steps: Sequence[Step]) -> Fields:
    """The fields of a file of that version as today's."""
    for at, step in enumerate(steps[version - 1 :], version + 1):
        fields = step(fields) | {"v": at}
    return fields
