"""The program git: what it says, and that it is not there."""

from pathlib import Path

import pytest

from homi import git
from homi.errors import NoInput, Unavailable
from homi.moving import workspace
from homi.moving.said import Workspace
from homi.spawn import tree
from tests.unit.spawn.test_tree import ADA


@pytest.fixture
def without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in no repository, on a machine without git."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_git_says_how_it_ended_and_why(tmp_path: Path) -> None:
    assert git.there()
    assert git.run("/", "--version", patience=20).out.startswith("git version")
    said = git.run(str(tmp_path), "rev-parse", "HEAD", patience=20)
    assert said.status
    assert "not a git repository" in said.err


def test_a_caller_s_own_repository_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a hook of git these name another one than that of the folder."""
    git.run(str(tmp_path), "init", "-q", "there", patience=20)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "there" / ".git"))
    assert git.run(str(tmp_path), "rev-parse", "--git-dir", patience=20).status


def test_no_git_is_told_apart_from_no_repository(without: Path) -> None:
    """Who reads "no repository" looks at the folder, in vain."""
    assert not git.there()
    with pytest.raises(Unavailable, match="git is not installed"):
        tree.make(without, ADA, str(without))
    wanted = Workspace(url="", branch="", commit="c" * 40, dirty=0)
    (said,) = workspace.compare(str(without), wanted, dirty=True)
    assert said.startswith("git is not installed here")


def test_where_git_is_a_folder_in_no_repository_is_told_as_that(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match="in no git repository"):
        tree.make(tmp_path, ADA, "/")
    wanted = Workspace(url="", branch="", commit="c" * 40, dirty=0)
    (said,) = workspace.compare(str(tmp_path), wanted, dirty=True)
    assert "is no git repository here" in said
