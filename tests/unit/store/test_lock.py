"""The lock of a root, and the root that goes away under it."""

import os
from pathlib import Path

import pytest

from homi.store.lock import Lock, is_held


@pytest.mark.parametrize("replaced", [False, True])
def test_a_root_that_was_moved_does_not_have_the_lock(
    tmp_path: Path, *, replaced: bool
) -> None:
    """What starts over the old path would find an empty root, or another one."""
    root = tmp_path / "root"
    root.mkdir()
    lock = Lock(str(root))
    assert lock.stands()
    root.rename(tmp_path / "moved")
    if replaced:
        root.mkdir()
        (root / "homi.lock").touch()
    assert not lock.stands()
    lock.release()


def test_whether_a_root_is_held_is_told_by_the_lock_and_not_by_the_pid_in_it(
    tmp_path: Path,
) -> None:
    """What was killed leaves its pid behind; a look leaves nothing."""
    root = str(tmp_path)
    assert not is_held(root)
    assert list(tmp_path.iterdir()) == []
    lock = Lock(root)
    assert is_held(root)
    lock.release()
    (tmp_path / "homi.lock").write_text(f"{os.getpid()}\n")
    assert not is_held(root)
    Lock(root).release()
