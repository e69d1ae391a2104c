"""What a program is started with: its path, its folder, its environment.

Owns the refusals before anything is opened, so that nothing starts elsewhere or half.
homi-seat(1) states them.
"""

import os
import shutil

from homi.address import show
from homi.errors import NoInput, Unavailable, Usage
from homi.peers import process

PLACES = "put its folder there, or give its whole path"
CLIENT = "install it, or put its folder there"  # who names a client has no path to give


def program(argv: list[str], path: str, cwd: str, hint: str = PLACES) -> str:
    """The program as a path; 64 for none, 69 with the PATH it was looked for in, and
    that hint."""
    if not argv or not argv[0]:
        raise Usage("what is to be started?", hint="NAME -- ARGV...")
    if any("\0" in word for word in argv):
        raise Usage("an argument holds a NUL")
    if "\0" in path:
        raise Usage("PATH holds a NUL")
    word = argv[0]
    # A relative folder of PATH is one of who asked, not of the daemon.
    here = os.pathsep.join(os.path.join(cwd, one) for one in path.split(os.pathsep))
    wanted = os.path.join(cwd, word) if "/" in word else word
    found = shutil.which(wanted, path=here if path else path)
    if found is None:
        raise Unavailable(
            f"no program {show(word)} in PATH ({path})",
            hint=hint,
        )
    return found


def folder(cwd: str) -> str:
    """The folder, if it is there: without one tmux takes another, and says nothing."""
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        raise NoInput(f"no folder {show(cwd)}")
    return cwd


# What else an agent client sets for its children.  A session that takes itself for a
# part of another writes no transcript, and shows its name nowhere.
_LEFT = tuple(
    f"{name}="
    for name in (
        "AI_AGENT",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_SESSION_NAME",
        "CLAUDE_CODE_SKIP_PROMPT_HISTORY",
        "HOMI_SEAT",
    )
)


def environment(path: str) -> dict[str, str]:
    """What a seat inherits: the daemon's, without what an agent left in it."""
    marks = tuple(mark.decode() for mark in process.AGENT_VARIABLES) + _LEFT
    return {
        name: value
        for name, value in os.environ.items()
        if not f"{name}=".startswith(marks)
    } | {"PATH": path}
