"""A worktree for a name."""

import subprocess
from pathlib import Path

import pytest

from homi.address import Name
from homi.errors import CannotCreate, NoInput
from homi.spawn import tree

ADA = Name("ada")


def git(folder: Path, *words: str) -> None:
    """Have git do that there."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(
        ["git", "-C", str(folder), *who, *words], check=True, capture_output=True
    )


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A repository with one commit."""
    made = tmp_path / "app"
    made.mkdir()
    git(made, "init", "-q")
    git(made, "commit", "-q", "--allow-empty", "-m", "x")
    return made


def test_a_bare_repository_and_a_worktree_are_in_the_repository(
    app: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(app), str(bare))
    made = tree.make(tmp_path, ADA, str(bare))
    assert made == str(tmp_path / "trees" / "bare" / "ada")
    assert tree.make(tmp_path, ADA, str(bare)) == made
    below = tree.make(tmp_path, Name("bob"), made)
    assert below == str(tmp_path / "trees" / "bare" / "bob")


def test_where_there_is_no_worktree_the_reason_is_git_s(
    app: Path, tmp_path: Path
) -> None:
    """Its own line of why, and its advice; never silence."""
    made = Path(tree.make(tmp_path, ADA, str(app)))
    made.rename(tmp_path / "moved")
    with pytest.raises(CannotCreate) as caught:
        tree.make(tmp_path, ADA, str(app))
    assert "already registered" in caught.value.text
    assert "prune" in caught.value.hint
    with pytest.raises(NoInput):
        tree.make(tmp_path, ADA, "/")
    with pytest.raises(CannotCreate):
        tree.make(app / ".git" / "HEAD", ADA, str(app))
