"""A git worktree for one name.

Owns where such a folder is, and its branch; none is ever removed here.  homi-spawn(1).
"""

import os
from pathlib import Path

from homi import git
from homi.address import Name, show
from homi.errors import CannotCreate, NoInput

FOLDER = "trees"
PATIENCE = 60.0  # s for git to write a large tree


def make(root: Path, name: Name, cwd: str) -> str:
    """The folder of a new worktree of the repository that cwd is in, on a branch of
    its own, or of the one that is there already.

    66 outside a repository, 69 without git, 73 where git makes none.
    """
    common = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    repository = _git(cwd, *common, missing=True)
    folder = root / FOLDER / _called(repository) / name
    if folder.exists():
        if _git(os.fspath(folder), *common) != repository:
            raise CannotCreate(
                f"{folder} belongs to another repository",
                hint="move it away, or spawn another name",
            )
        return os.fspath(folder)
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotCreate(f"cannot make {folder.parent}: {error.strerror}") from error
    branch = f"homi/{name}"
    there = _git(cwd, "branch", "--list", branch)
    which = [branch] if there else ["-b", branch, "HEAD"]
    flag = which[:2] if len(which) > 1 else []
    _git(cwd, "worktree", "add", *flag, os.fspath(folder), which[-1])
    return os.fspath(folder)


def _called(repository: str) -> str:
    """What the repository with that .git, or that bare one, is called."""
    if os.path.basename(repository) == ".git":
        repository = os.path.dirname(repository)
    return os.path.basename(repository).removesuffix(".git") or "git"


def _git(cwd: str, *words: str, missing: bool = False) -> str:
    """What git prints; missing: that it fails means there is no repository."""
    done = git.run(cwd, *words, patience=PATIENCE)
    if done.status and missing and "not a git repository" in done.err:
        raise NoInput(f"{show(cwd)} is in no git repository")
    if done.status:
        raise _failure(done.err.splitlines())
    return done.out.strip()


def _failure(said: list[str]) -> CannotCreate:
    """What git says of why: its own words for that, and what it says behind them."""
    first = [n for n, line in enumerate(said) if line.startswith(("fatal:", "error:"))]
    why = said[first[0] :] if first else said[-1:] or ["no word of why"]
    return CannotCreate(f"git: {why[0]}", hint="; ".join(why[1:]))
