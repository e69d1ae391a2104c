"""A git worktree for one name.

The one home of the program git.  Owns where such a folder is, and its branch; none is
ever removed here.  homi-spawn(1).
"""

import os
import shutil
import subprocess
from pathlib import Path

from homi.address import Name, show
from homi.errors import CannotCreate, NoInput, Unavailable

FOLDER = "trees"
PATIENCE = 60.0  # s for git to write a large tree


def make(root: Path, name: Name, cwd: str) -> str:
    """The folder of a new worktree of the repository that cwd is in, on a branch of
    its own, or of the one that is there already.

    66 outside a repository, 69 without git, 73 where git makes none.
    """
    top = _git(cwd, "rev-parse", "--show-toplevel", missing=True)
    folder = root / FOLDER / os.path.basename(top) / name
    if folder.exists():
        common = ("rev-parse", "--path-format=absolute", "--git-common-dir")
        if _git(os.fspath(folder), *common) != _git(cwd, *common):
            raise CannotCreate(
                f"{folder} belongs to another repository",
                hint="move it away, or spawn another name",
            )
        return os.fspath(folder)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    branch = f"homi/{name}"
    there = _git(cwd, "branch", "--list", branch)
    which = [branch] if there else ["-b", branch, "HEAD"]
    flag = which[:2] if len(which) > 1 else []
    _git(cwd, "worktree", "add", *flag, os.fspath(folder), which[-1])
    return os.fspath(folder)


def _git(cwd: str, *words: str, missing: bool = False) -> str:
    """What git prints; missing: that it fails means there is no repository."""
    program = shutil.which("git")
    if program is None:
        raise Unavailable(f"git is not in PATH ({os.environ.get('PATH', '')})")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    try:
        done = subprocess.run(
            [program, "-C", cwd, *words],
            capture_output=True,
            env=clean,
            timeout=PATIENCE,
            check=False,
            encoding="utf-8",
            errors="surrogateescape",
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"git did not end within {PATIENCE:g} s") from None
    except OSError as error:
        raise Unavailable(f"cannot run git: {error.strerror}") from error
    if done.returncode and missing:
        raise NoInput(f"{show(cwd)} is in no git repository")
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise CannotCreate(f"git: {said[-1] if said else 'no word of why'}")
    return done.stdout.strip()
