"""The one home of the program git: run in a folder, and what it says.

Owns the environment it is run in and what is said where it cannot be run; knows no
worktree and no move.
"""

import os
import shutil
import subprocess
from typing import NamedTuple

from homi.errors import Unavailable

# No repository that a caller is in by its environment, no lock for a mere look, and
# words that can be told apart.
_KEPT_OUT = "GIT_"
_SET = {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}

_FIX = "install it, then homi restart where the daemon is to find it"


class Said(NamedTuple):
    """How it ended, and what it printed."""

    status: int
    out: str
    err: str


def there() -> bool:
    """Whether git is installed."""
    return shutil.which("git") is not None


def run(cwd: str, *words: str, patience: float) -> Said:
    """What git says to these in a folder; 69 where it is not installed, cannot be run
    or does not end within patience (s)."""
    program = shutil.which("git")
    if program is None:
        raise Unavailable("git is not installed: no PATH here has it", hint=_FIX)
    env = {k: v for k, v in os.environ.items() if not k.startswith(_KEPT_OUT)}
    try:
        done = subprocess.run(
            [program, "-C", cwd, *words],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=env | _SET,
            timeout=patience,
            check=False,
            encoding="utf-8",
            errors="surrogateescape",
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"git did not end within {patience:g} s") from None
    except OSError as error:
        raise Unavailable(f"cannot run git: {error.strerror}") from error
    return Said(done.returncode, done.stdout.rstrip("\n"), done.stderr.strip())
