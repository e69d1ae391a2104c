"""The command by which a client starts homi.

Owns its absolute path, since an editor's or a service's PATH is not a person's, and
which words of a client's file call homi.  homi-setup(1).
"""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence

from homi import __version__, child
from homi.address import show
from homi.errors import Unavailable, Usage
from homi.pairing import program

PATIENCE = 30  # s for a homi that was started only to see whether it is one


def words(given: str, home: str) -> list[str]:
    """What a command of homi's begins with; Usage (64) where given cannot be run."""
    if given:
        path = os.path.abspath(os.path.expanduser(given))
        if not (os.path.isfile(path) and os.access(path, os.X_OK)):
            raise Usage(f"{show(given)} is no program", hint="homi setup --help")
        found = [path]
    else:
        try:
            found = [program.program()]
        except Unavailable:
            found = [sys.executable, "-m", "homi"]
    return [*found, "--home", os.path.abspath(home)] if home else found


def calls(command: Sequence[str], *verb: str) -> bool:
    """Whether a client's command is homi's with that verb."""
    end = len(command) - len(verb)
    named = [os.path.basename(word) for word in command[:end]]
    return tuple(command[end:]) == verb and "homi" in named


def split(text: str) -> list[str]:
    """The words of a command that a shell runs; none where no shell would."""
    try:
        return shlex.split(text)
    except ValueError:
        return []


def warnings(command: Sequence[str]) -> list[str]:
    """What a person should know of the homi that was written down, and of the one that
    this PATH has."""
    found = [why] if (why := trouble(command)) else []
    there = shutil.which("homi")
    if there is None:
        found.append(
            "no homi is in PATH: the commands of the guide need one in an agent's shell"
        )
    elif os.path.realpath(there) != os.path.realpath(command[0]):
        said = _version(there)
        what = f"it says {show(said)}" if said else "it does not answer --version"
        if said != f"homi {__version__}":
            found.append(f"{there}, the homi in PATH, is another program: {what}")
    return found


def trouble(command: Sequence[str]) -> str:
    """Why the tools would not start, as homi says it; empty where they do."""
    try:
        done = child.run([*command, "mcp"], patience=PATIENCE)
    except Unavailable:
        return f"{show(shlex.join(command))} mcp does not start"
    if done.status == 0:
        return ""
    said = done.err.replace("homi: ", "").splitlines()
    return f"the tools would not start: {'; '.join(said[:2]) or done.status}"


def _version(path: str) -> str:
    """The first line that path prints of its version; empty: it does not."""
    try:
        said = child.run([path, "--version"], patience=PATIENCE).out
    except Unavailable:
        return ""
    return said.partition("\n")[0][:80]
