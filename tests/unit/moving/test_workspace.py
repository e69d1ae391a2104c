"""What of a folder git says can be had elsewhere, and what it does not say."""

import subprocess
from pathlib import Path

import pytest

from homi.errors import NotReached
from homi.moving import workspace


def repository(folder: Path) -> str:
    """One with one commit."""
    folder.mkdir()
    (folder / "a").write_text("1")
    me = ("-c", "user.name=a", "-c", "user.email=a@b")
    for argv in (["init"], ["add", "a"], [*me, "commit", "-m", "one"]):
        subprocess.run(["git", *argv], cwd=folder, check=True, capture_output=True)
    return str(folder)


def test_a_tree_that_git_cannot_look_at_is_not_taken_for_clean(tmp_path: Path) -> None:
    """What may be in no commit would be left behind without a word."""
    cwd = repository(tmp_path / "r")
    found = workspace.look(cwd)
    assert found is not None
    workspace.check(cwd, found.dirty)
    (tmp_path / "r" / ".git" / "index").write_bytes(b"no index")
    found = workspace.look(cwd)
    assert found is not None
    with pytest.raises(NotReached, match="does not say"):
        workspace.check(cwd, found.dirty)


def test_files_of_a_submodule_that_are_not_committed_count(tmp_path: Path) -> None:
    cwd, part = repository(tmp_path / "r"), repository(tmp_path / "part")
    me = ("-c", "user.name=a", "-c", "user.email=a@b")
    allow = ("-c", "protocol.file.allow=always")
    for argv in (
        [*allow, "submodule", "add", part, "part"],
        [*me, "commit", "-m", "two"],
    ):
        subprocess.run(["git", *argv], cwd=cwd, check=True, capture_output=True)
    clean = workspace.look(cwd)
    assert clean is not None
    assert clean.dirty == 0
    (tmp_path / "r" / "part" / "b").write_text("2")
    found = workspace.look(cwd)
    assert found is not None
    with pytest.raises(NotReached, match="1 uncommitted file"):
        workspace.check(cwd, found.dirty)
