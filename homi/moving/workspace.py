"""The repository a name works in: what of it can be had on another device.

Copies no file.  homi-move(1) has the rules.
"""

import os

from homi import git
from homi.amount import amount
from homi.errors import NotReached, Unavailable
from homi.moving.said import Workspace

PATIENCE = 20.0  # s: a large tree on a slow disk
UNKNOWN = -1  # files that are not committed: git did not say how many


def look(cwd: str) -> Workspace | None:
    """The repository of a folder as it is now; None where it is in none."""
    commit = _git(cwd, "rev-parse", "--verify", "HEAD")
    if commit is None:
        return None
    status = _git(cwd, "status", "--porcelain")
    return Workspace(
        url=_git(cwd, "remote", "get-url", "origin") or "",
        branch=_git(cwd, "branch", "--show-current") or "",
        commit=commit,
        dirty=UNKNOWN if status is None else len(status.splitlines()),
    )


def check(cwd: str, dirty: int) -> None:
    """75 where files of the folder are in no commit, or may be: they would be left
    behind."""
    if dirty == UNKNOWN:
        raise NotReached(
            f"git does not say whether all files of {cwd} are committed",
            hint=f"git -C {cwd} status says why; or leave them behind: --dirty",
            reason="moving",
        )
    if dirty:
        raise NotReached(
            f"{cwd} has {amount(dirty, 'uncommitted file')}, which a move does"
            " not copy",
            hint="commit and push them, or leave them behind: --dirty",
            reason="moving",
        )


def folder(asked: str, wanted: Workspace | None, dirty: bool) -> tuple[str, list[str]]:
    """The real path of the folder asked for, and what a person should know of it; 75
    where it is not here, or its repository lacks the commit."""
    cwd = os.path.expanduser(asked)
    if not os.path.isdir(cwd):
        fix = _clone(cwd, wanted) if wanted else f"mkdir {cwd}"
        raise NotReached(
            f"there is no folder {cwd} there",
            hint=f"{fix} there first, or name another: --cwd DIR",
            reason="moving",
        )
    notes = [] if wanted is None else compare(cwd, wanted, dirty)
    return os.path.realpath(cwd), notes


def compare(cwd: str, wanted: Workspace, dirty: bool) -> list[str]:
    """What a person should know of the folder here, of what it was elsewhere; 75 where
    its commit is not here, unless dirty."""
    here = look(cwd)
    short = wanted.commit[:12]
    if not git.there():
        # Not "no repository": that is more than anybody knows.
        text = f"git is not installed here: whether {cwd} has {short} is not known"
        fix = "install git here"
    elif here is None:
        text, fix = f"{cwd} is no git repository here", _clone(cwd, wanted)
    elif _git(cwd, "cat-file", "-e", f"{wanted.commit}^{{commit}}") is None:
        text, fix = (
            f"{cwd} has no commit {short} here",
            "git push there, git fetch here",
        )
    elif here.commit != wanted.commit:
        return [f"{cwd} is at {here.commit[:12]} here, it was at {short}"]
    else:
        return []
    if not dirty:
        raise NotReached(text, hint=f"{fix}; or without it: --dirty", reason="moving")
    return [text]


def _clone(cwd: str, wanted: Workspace) -> str:
    """How the folder can be had."""
    branch = f" -b {wanted.branch}" if wanted.branch else ""
    return f"git clone{branch} {wanted.url or 'URL'} {cwd}"


def _git(cwd: str, *argv: str) -> str | None:
    """What git says; None where it says no, or is not there."""
    try:
        said = git.run(cwd, *argv, patience=PATIENCE)
    except Unavailable:
        return None
    # It goes into a message: no bytes of a branch's name may be more than text.
    text = os.fsencode(said.out).decode("utf-8", "replace")
    return None if said.status else text
