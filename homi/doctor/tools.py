"""Checks of the programs that homi is started by, and of those that it starts.

Owns what of the machine's software a person must know.  homi-doctor(1).
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from homi import __version__, paths
from homi.doctor.check import Check, Verdict, fail, warn, well
from homi.doctor.facts import Facts
from homi.doctor.machine import numbers
from homi.errors import Unavailable
from homi.pairing import program
from homi.setup import unit
from homi.shell import quoted
from homi.visible import visible

TMUX = (3, 2)
NEW_TMUX = "install tmux, 3.2 or later"
PYTHON = (3, 11)
_NEED = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?>=([0-9.]+)[^;]*")


def _program(facts: Facts) -> Iterator[Verdict]:
    """The homi that PATH has first is this one."""
    try:
        own = program.program()
    except Unavailable:
        own = ""
    found = facts.machine.which("homi")
    folder = quoted(os.path.dirname(own)) if own else "the folder of homi"
    hand = f"where your shell starts: export PATH={folder}:$PATH"
    if not found:
        yield warn("no homi is in PATH: agents cannot call it", hand=hand)
    elif own and os.path.realpath(found) != os.path.realpath(own):
        said = facts.machine.run(found, "--version").out.partition("\n")[0]
        if said != f"homi {__version__}":
            text = f"{found} is first in PATH, and another program"
            what = f"it says {visible(said[:80])}" if said else "it says no version"
            yield warn(f"{text}: {what}", hand=hand)
        else:
            yield well(f"{found} is homi {__version__}, too")
    else:
        yield well(found)


def _python(facts: Facts) -> Iterator[Verdict]:
    """Interpreter and libraries are new enough."""
    machine = facts.machine
    version = ".".join(map(str, machine.python()))
    if machine.python() < PYTHON:
        text = f"this is Python {version}, 3.11 is needed"
        yield fail(text, hand="install Python 3.11")
    for need in machine.requirements():
        if "extra ==" in need or (match := _NEED.match(need)) is None:
            continue
        name, least = match.groups()
        found = machine.library(name)
        if not found or numbers(found) < numbers(least):
            pip = f"{quoted(sys.executable)} -m pip install"
            text = f"{name} is {found or 'not installed'}, {least} is needed"
            yield fail(text, f"{pip} '{name}>={least}'")
    yield well(f"Python {version}")


def _tmux(facts: Facts) -> Iterator[Verdict]:
    """Where seats are used, tmux is new enough."""
    used = os.path.exists(paths.seat_socket(facts.root))
    found = facts.machine.which("tmux")
    if not used:
        yield well("no seat was opened here")
    elif not found:
        yield fail("seats are used, and no tmux is in PATH", hand=NEW_TMUX)
    else:
        said = facts.machine.run(found, "-V").out.strip()
        if numbers(said.removeprefix("tmux ").removeprefix("next-")) < TMUX:
            yield fail(f"{found} is {visible(said)}", hand=NEW_TMUX)
        else:
            yield well(said)


def _lingering(facts: Facts) -> Iterator[Verdict]:
    """Where homi is a service of systemd, it outlives the login."""
    if not unit_file(facts).is_file():
        yield well("no service is set up")
        return
    ask = ("show-user", str(os.getuid()), "--property=Linger", "--value")
    if facts.machine.run("loginctl", *ask).out.strip() != "yes":
        yield warn("the service ends when you log out", "loginctl enable-linger")


def unit_file(facts: Facts) -> Path:
    """Where homi as a service of systemd stands, if it is one."""
    environ = facts.machine.environ
    base = environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(base) / "systemd" / "user" / unit.NAME


CHECKS = (
    Check("program", "the homi that agents call is this one", _program),
    Check("python", "Python and the libraries are new enough", _python),
    Check("tmux", "seats have a tmux that they can use", _tmux),
    Check("lingering", "a service outlives the login", _lingering),
)
