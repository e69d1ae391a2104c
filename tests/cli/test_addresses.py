"""One resolver: each form of an address, and of an id, means the same to every verb."""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

import click
import pytest

from homi.cli import fast, main
from tests.standin.place import Place

# A command leaves what is open to the end of its process, which here goes on.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ID = "{id}"  # of a message to ada; {name} is the address
# Verbs that take an address, and how.
READING = (
    ("inbox", "{name}"),
    ("queue", "--name", "{name}"),
    ("read", "--name", "{name}", ID),
    ("search", "--name", "{name}", "hello"),
    ("export", "{name}"),
    ("prune", "--dry-run", "{name}"),
)
CHANGING = (
    ("wait", "--timeout", "0", "{name}"),
    ("legs", "{name}"),
    ("set", "{name}"),
    ("prune", "{name}"),
    ("import", "{name}", os.devnull),
    ("send", "--from", "bob", "{name}", "hello again"),
    *(
        ("queue", verb, "--name", "{name}", ID)
        for verb in ("hold", "flush", "requeue", "release")
    ),
    ("ack", "--name", "{name}", ID),  # last: what is seen is not held any more
)
# They make names or end them, end mail, or take a name that need not exist, or one of
# a device: their own tests have them.
APART = {
    "claim",
    "log",
    "release",
    "queue drop",
    "queue bounce",
    "queue reroute",
    "alias add",
    "whois",
    "pair",
    "move",
    "bundle write",
    *(f"room {verb}" for verb in ("create", "join", "leave", "rm", "ls")),
    *(f"wake {verb}" for verb in ("add", "ls")),
    "seat spawn",
    "seat bind",
    "command bind",
    "command unbind",
    "command resume",
    "codex peer",
    "codex unpeer",
    *("spawn", "respawn", "unspawn", "fan", "adopt", "retitle"),
}

SAME = ("ada", "ADA", "ada@self", "ada@here", "Ada@HERE")
OTHER = (
    ("nobody", 67, "no name nobody on this device"),
    ("system", 67, "no name system on this device"),
    ("adda@self", 67, "no name adda on this device"),
    ("ada@elsewhere", 68, ""),
    ("", 64, "'' is not a name"),
    ("a" * 65, 64, f"'{'a' * 65}' is not a name"),
    ("../ada", 64, "'../ada' is not a name"),
    ("ada/inbox", 64, "'ada/inbox' is not a name"),
    ("ädä", 64, "'ädä' is not a name"),
    ("аda", 64, "'аda' is not a name"),  # its first letter is Cyrillic
    ("ada@", 64, "'' is not a name"),
    ("ada\n", 64, "'ada\\n' is not a name"),
    (" ada", 64, "' ada' is not a name"),
)


class Said(NamedTuple):
    """What a command ended with."""

    status: int
    out: str
    err: str


class Line:
    """The command line of a place, in this process: hundreds of commands are run."""

    def __init__(self, place: Place, capture: pytest.CaptureFixture[str]) -> None:
        self.place = place
        self.message = place.send("ada", "hello", sender="bob")
        self._capture = capture

    def run(self, verb: tuple[str, ...], **given: str) -> Said:
        argv = [word.format(**{"id": self.message, **given}) for word in verb]
        self._capture.readouterr()
        status = fast.guarded(argv)
        return Said(status, *self._capture.readouterr())


@pytest.fixture
def line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Line]:
    with Place() as place:
        for key in os.environ:
            monkeypatch.delenv(key)
        for key, value in place.env().items():
            monkeypatch.setenv(key, value)
        place.start()
        for name in ("ada", "bob"):
            place.ok("claim", name)
        yield Line(place, capfd)


def plain(said: Said) -> Said:
    """What was said without what another moment, or a repeat, may change."""
    out = re.sub(
        r"\d{4}-\d\d-\d\dT\S+|[0-9a-f]{8}-\S+|\(.*\)|:.*|\s"
        r"|\b(stored|held|parked|released|already)\b",
        "",
        said.out,
    )
    return Said(said.status, out, re.sub(r"homi: hint.*", "", said.err))


def test_every_verb_takes_every_form_of_an_address_alike(line: Line) -> None:
    """A form that works in one place and not in another is found out too late."""
    for verb in (*READING, *CHANGING):
        said = {form: plain(line.run(verb, name=form)) for form in SAME}
        assert said["ada"].status in (0, 75, 124), (verb, said)
        assert len(set(said.values())) == 1, (verb, said)
        for form, status, text in OTHER:
            found = line.run(verb, name=form)
            shown = text if text.isprintable() else ascii(text)[1:-1]
            assert (found.status, found.out) == (status, ""), (verb, form, found)
            assert found.err.startswith(f"homi: {shown}"), (verb, form, found)


def test_reading_verbs_resolve_alike_without_a_daemon(line: Line) -> None:
    """The files tell the same names."""
    line.place.ok("stop")
    for verb in READING:
        assert len({plain(line.run(verb, name=form)) for form in SAME}) == 1, verb
        for form, status, text in OTHER:
            found = line.run(verb, name=form)
            assert found.status == status, (verb, form, found)
            assert found.err.startswith(f"homi: {text}"), (verb, form, found)


def test_every_verb_takes_every_form_of_an_id_alike(line: Line) -> None:
    """Whole, or as short as it is unique; what is none, or several, is an error."""
    tail = line.message.rpartition("-")[2]
    forms = (line.message, line.message.upper(), tail, tail[:8], tail[:8].upper())
    more = [line.place.send("ada", f"more {n}", sender="bob") for n in range(12)]
    starts = (line.message[:n] for n in range(7, 0, -1))
    shared = next(s for s in starts if all(one.startswith(s) for one in more))
    verbs = (
        *(v for v in (*READING, *CHANGING) if ID in v),
        ("read", "--name", "owner", ID),
        ("trace", ID),
        ("send", "--from", "bob", "--reply-to", ID, "ada", "answer"),
    )
    for verb in verbs:
        elsewhere = "owner" in verb
        said = {form: plain(line.run(verb, name="ada", id=form)) for form in forms}
        assert said[tail].status in ((66,) if elsewhere else (0, 75)), (verb, said)
        assert elsewhere or len(set(said.values())) == 1, (verb, said)
        for form, status in (("", 64), ("xyz", 64), ("../x", 64), ("0" * 12, 66)):
            found = line.run(verb, name="ada", id=form)
            assert (found.status, found.out) == (status, ""), (verb, form, found)
        found = line.run(verb, name="ada", id=shared)
        assert elsewhere or found.status == 64, (verb, found)
        assert elsewhere or f"{shared} is the start of" in found.err


def test_every_verb_that_takes_an_address_is_in_the_table() -> None:
    """A new verb must be held to it, too."""
    known = {" ".join(verb[:2]) for verb in CHANGING} | APART
    known |= {verb[0] for verb in (*READING, *CHANGING)}
    assert {name for name, command in commands() if takes_name(command)} <= known


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every verb, those below another with it in front."""
    context = click.Context(main.homi)
    for name in main.MODULES:
        command = main.homi.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {n}", c) for n, c in command.commands.items())


def takes_name(command: click.Command) -> bool:
    """Whether a parameter of it is the address of a mailbox."""
    return any(one.name in ("name", "to", "address") for one in command.params)
