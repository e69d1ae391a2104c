"""The command by which a client starts homi.

Owns its absolute path, since an editor's or a service's PATH is not a person's, and
which words of a client's file call homi.  homi-setup(1).
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence

from homi import __version__
from homi.address import show
from homi.errors import Unavailable, Usage
from homi.pairing import program

PATIENCE = 10  # s for a program that is called homi to say its version


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
    """What a person should know of the homi that this PATH has."""
    there = shutil.which("homi")
    if there is None:
        return [
            "no homi is in PATH: the commands of the guide need one in an agent's shell"
        ]
    if os.path.realpath(there) == os.path.realpath(command[0]):
        return []
    said = _version(there)
    if said == f"homi {__version__}":
        return []
    what = f"it says {show(said)}" if said else "it does not answer --version"
    return [f"{there}, the homi in PATH, is another program than {command[0]}: {what}"]


def _version(path: str) -> str:
    """The first line that path prints of its version."""
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace").partition("\n")[0][:80]
