"""The one home of the program git: run in a folder, and what it says.

Owns the environment it is run in and what is said where it cannot be run; knows no
worktree and no move.
"""

import os
import shutil

from homi import child
from homi.child import Said
from homi.errors import Unavailable

# No repository that a caller is in by its environment, no lock for a mere look, and
# words that can be told apart.
_KEPT_OUT = "GIT_"
_SET = {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}

_FIX = "install it, then homi restart where the daemon is to find it"


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
    argv = [program, "-C", cwd, *words]
    # A path may be any bytes.
    said = child.run(argv, patience=patience, env=env | _SET, errors="surrogateescape")
    return Said(said.status, said.out.rstrip("\n"), said.err.strip())
