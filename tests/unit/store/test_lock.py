"""The lock of a root, and the root that goes away under it."""

from pathlib import Path

import pytest

from homi.store.lock import Lock


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
