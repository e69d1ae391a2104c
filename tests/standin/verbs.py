"""The reading verbs, each as it is asked of a large state root.

The root is one of tests.standin.journals: a large mailbox, one of many pending, and
a crowd of small ones.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import click

from homi.cli import main
from homi.errors import Usage
from tests.standin import journals
from tests.standin.place import Place, homi_command

BIG, WAITING = "big", "waiting"
SMALL = 20  # messages of each of the others


class Asked(NamedTuple):
    """One command line without the program."""

    argv: tuple[str, ...]
    head: int = 0  # lines of its output that are read; 0: all
    statuses: tuple[int, ...] = (0,)

    @property
    def label(self) -> str:
        """As a person would type it."""
        shown = " ".join(w if len(w) < 20 else f"...{w[-12:]}" for w in self.argv)
        return f"{shown} | head" if self.head else shown


class Seen(NamedTuple):
    """What became of one command."""

    status: int
    seconds: float
    peak_kib: int
    out: int  # bytes
    err: str


def root(place: Path, messages: int, pending: int, names: int) -> None:
    """A state root with messages in one mailbox, pending in another, names in all."""
    journals.write_mailbox(place, BIG, messages, min(100, messages))
    around(place, pending, names)


def around(place: Path, pending: int, names: int) -> None:
    """All of such a root but its largest mailbox."""
    more = [f"n{number:04d}" for number in range(max(10, names - 2))]
    journals.write_names(place, [BIG, WAITING, *more])
    journals.write_mailbox(place, WAITING, pending, pending)
    for name in more:
        journals.write_mailbox(place, name, SMALL, 1)


def asked(messages: int) -> list[Asked]:
    """What is asked of such a root with so many messages in its large mailbox."""
    old = journals.message_id(BIG, messages // 4 * 4)
    middle = journals.message_id(BIG, messages // 2)
    word = journals.needle(messages // 2 // 1000 * 1000)
    return [
        Asked(("inbox", BIG, "--limit", "20")),
        Asked(("inbox", BIG, "--all", "--limit", "20")),
        Asked(("inbox", BIG, "--pending")),
        Asked(("inbox", BIG, "--from", "n0003", "--limit", "20")),
        Asked(("inbox", BIG, "--since", "1d", "--limit", "20")),
        Asked(("inbox", BIG, "--limit", "20", "--json")),
        Asked(("inbox", WAITING, "--limit", "20")),
        Asked(("inbox", WAITING)),
        Asked(("search", word)),
        Asked(("search", "review", "--limit", "20")),
        Asked(("thread", middle)),
        Asked(("read", "--name", BIG, middle)),
        Asked(("read", "--name", BIG, middle[-12:])),
        Asked(("trace", middle)),
        Asked(("trace", old[-12:])),
        Asked(("queue",)),
        Asked(("queue", WAITING)),
        Asked(("queue", "--shape")),
        Asked(("ls",)),
        Asked(("status",), statuses=(0, 69)),
        Asked(("whois", BIG)),
        Asked(("legs",), statuses=(0, 69)),
        Asked(("alias", "ls")),
        Asked(("quarantine", "ls")),
        Asked(("export", BIG), head=100),
        Asked(("prune", "--dry-run")),
        Asked(("config",)),
    ]


def known(argv: tuple[str, ...]) -> bool:
    """Whether homi has this verb, these options and room for these operands."""
    command: click.Command = main.homi
    left = list(argv)
    while left and isinstance(command, click.Group):
        found = command.get_command(click.Context(command), left[0])
        if found is None:
            break  # an option or an operand of the group itself
        command = found
        del left[0]
    if command is main.homi:
        return False
    try:
        command.make_context("homi", left)
    except (click.UsageError, Usage):
        return False
    return True


def run(place: Place, line: Asked, seconds: float = 120) -> Seen:
    """Ask it of place, as a program that is neither session nor person."""
    command = [*homi_command(), *line.argv]
    if line.head:
        script = f'"$@" | head -n {line.head}'
        command = ["/bin/sh", "-c", script, "sh", *command]
    timed = Path(__file__).with_name("timed.py")
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(timed), str(seconds), *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=place.env(),
        cwd=place.work,
        timeout=seconds + 30,
        check=True,
    )
    return Seen(**json.loads(done.stdout))
