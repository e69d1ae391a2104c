"""`log`: what the daemon wrote down, of one message from every side.  homi-log(1).

Owns which lines are shown, and how they are followed; the log's form is
homi.logfile's.
"""

import os
import re
import select
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import click
import msgspec

from homi import logfile, paths, render
from homi.address import Device, parse_name
from homi.cli import far, options, output
from homi.cli.mail import Mail
from homi.envelope import LedgerLine, MessageId, Rung
from homi.errors import NoInput
from homi.logfile import LEVELS, Line
from homi.mail import Start, life
from homi.store.places import device_of
from homi.visible import visible

LINES = 100  # shown where nothing else bounds them
LOOK = 0.25  # s between looks at a log that is followed
ASK = 2.0  # s between questions to other devices
LEDGER = "ledger"  # the part of lines that are a ledger's


class Wanted(msgspec.Struct, kw_only=True):
    """Which lines are shown."""

    ids: tuple[str, ...] = ()  # one of them stands in it; none: any line
    name: str | None = None
    since: str | None = None
    level: str = LEVELS[0]

    def has(self, line: Line) -> bool:
        """Whether line is one of them."""
        text = "\n".join([line.text, *line.more])
        return (
            LEVELS.index(line.level) >= LEVELS.index(self.level)
            and (self.since is None or line.at >= self.since)
            and (not self.ids or any(one in text for one in self.ids))
            and (self.name is None or _names(self.name, text))
        )


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes.")
@click.option("--id", "message", metavar="ID", help="Only of the message ID.")
@click.option("--name", type=parse_name, metavar="NAME", help="Only of NAME.")
@options.since
@click.option("--level", type=click.Choice(LEVELS), help="Only as grave as that.")
@click.option(
    "-n", "--lines", type=options.positive, metavar="N", help="The last N (100)."
)
@options.as_json
@click.pass_obj
def log(
    home: str,
    /,
    message: str | None,
    lines: int | None,
    *,
    follow: bool,
    as_json: bool,
    **given: Any,  # noqa: ANN401 - the fields of Wanted
) -> None:
    """Show the daemon's log; of one message also its ledgers.

    \b
      $ homi log -f
      $ homi log --id 7c10       # its way, here and on other devices
      $ homi log --name ada --since 2h
      $ homi log --level warning
    """
    root = paths.state_root(home)
    story = None if message is None else Story(Mail(root), message)
    wanted = Wanted(**{key: value for key, value in given.items() if value})
    wanted.ids = () if story is None else story.ids
    chosen = story is not None or any(given.values())
    last = lines or (None if chosen else LINES)
    tail = Tail(logfile.place(root))
    if follow:
        tail.open()
    if not logfile.files(root) and story is None and not follow:
        raise NoInput("there is no log here yet", hint="homi start begins one")
    past = [line for path in logfile.files(root) for line in logfile.read(path)]
    shown = [line for line in past if wanted.has(line)]
    if story is not None:
        shown = sorted([*shown, *story.steps()], key=lambda line: line.at)
    _show(shown if last is None else shown[-last:], as_json=as_json)
    if follow:
        _follow(tail, wanted, story, as_json=as_json)


class Story:
    """What the ledgers here, and other devices, tell of a message."""

    def __init__(self, mail: Mail, message: str) -> None:
        """NoInput (66) where no mailbox here has it."""
        self._mail = mail
        self._message = message
        self._seen: set[tuple[str, str]] = set()  # told already
        self._silent: dict[str, str] = {}  # by device: why it told nothing, last time
        found = list(mail.find(message))
        if not found:
            raise NoInput(
                f"no message {message} in any mailbox here",
                hint="homi inbox shows the ids",
            )
        self.ids = tuple({str(entry.id): None for entry in found})

    def steps(self) -> list[Line]:
        """What is told now and was not yet."""
        found: list[Line] = []
        sent: dict[tuple[Device, MessageId], None] = {}
        for entry in self._mail.find(self._message):
            found += [_step(entry.name, line) for line in life(self._mail, entry)]
            device = device_of(entry.name)
            if device is not None and entry.rung is not Rung.MOVED:
                sent[device, entry.id] = None
        for steps in far.trace(self._mail.root, list(sent)):
            self._hear(steps.device, "" if steps.asked else steps.why)
            for step in steps.steps:
                why = f" ({step.reason})" if step.reason else ""
                text = f"{self.ids[0]} to={step.name} status={step.rung}{why}"
                found.append(_line(step.at, text, steps.device))
        fresh = [line for line in found if (line.at, line.text) not in self._seen]
        self._seen |= {(line.at, line.text) for line in fresh}
        return fresh

    def _hear(self, device: str, why: str) -> None:
        """Say once that a device tells nothing, and why; and that it does again."""
        if why != self._silent.get(device, ""):
            known = f"tells nothing of it ({why})" if why else "tells of it again"
            output.note(f"{device} {known}")
        self._silent[device] = why


class Tail:
    """The end of a log that grows, and is put aside when it is large."""

    def __init__(self, path: Path) -> None:
        """Nothing is open yet."""
        self._path = path
        self._file: IO[str] | None = None

    def open(self, *, end: bool = True) -> None:
        """Begin at the end of the file, or at its beginning."""
        try:
            self._file = open(  # noqa: SIM115 - closed when the file is another
                self._path, encoding="utf-8", errors="backslashreplace", newline="\n"
            )
        except FileNotFoundError:
            return
        if end:
            self._file.seek(0, 2)

    def more(self) -> list[str]:
        """Whole lines that came since."""
        if self._file is None:
            self.open(end=False)
        if self._file is None:
            return []
        found = list(self._whole(self._file))
        if not found and self._is_another(self._file):
            found = list(self._whole(self._file))  # its last, written just before
            self.close()
        return found

    def close(self) -> None:
        """Let go of the file; more() opens the one that stands there then."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _whole(self, file: IO[str]) -> Iterator[str]:
        """Lines up to the last line feed; half of one is read again."""
        while True:
            at = file.tell()
            line = file.readline()
            if not line.endswith("\n"):
                file.seek(at)
                return
            yield line

    def _is_another(self, file: IO[str]) -> bool:
        """Whether the name leads to a new file by now."""
        try:
            return not os.path.samestat(self._path.stat(), os.fstat(file.fileno()))
        except FileNotFoundError:
            return True


def _follow(tail: Tail, wanted: Wanted, story: Story | None, *, as_json: bool) -> None:
    """Show what comes, until Ctrl-C or until nobody reads any more."""
    asked = time.monotonic()
    reader = select.poll()
    reader.register(1, 0)
    while not reader.poll(LOOK * 1000):
        shown = [line for line in logfile.lines(tail.more()) if wanted.has(line)]
        if story is not None and time.monotonic() - asked >= ASK:
            asked = time.monotonic()
            shown = sorted([*shown, *story.steps()], key=lambda line: line.at)
        _show(shown, as_json=as_json)


def _step(place: str, line: Start | LedgerLine) -> Line:
    """A line of a ledger, or the message's own in the inbox."""
    if isinstance(line, Start):
        text = f"{line.id} to={place} from={line.from_} via={line.via.door}"
        return _line(line.at, f"{text} status={line.rung}")
    parts = [f"{line.id} to={place}"]
    parts += [f"via={line.leg}"] if line.leg else []
    parts += [f"pid={line.session.pid}"] if line.session else []
    parts += [f"by={line.by}"] if line.by else []
    why = f" ({line.reason})" if line.reason else ""
    return _line(line.at, f"{' '.join(parts)} status={line.rung}{why}")


def _line(at: str, text: str, device: str = "") -> Line:
    """What a ledger tells, as a line of the log."""
    return Line(at, "info", LEDGER, visible(text), device=device)


def _names(name: str, text: str) -> bool:
    """Whether name stands in text as a name, and not as a part of another."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None


def _show(shown: Iterable[Line], *, as_json: bool) -> None:
    """Lines for a program or for a person."""
    if as_json:
        output.json_lines(render.fields(line) for line in shown)
        return
    text = "\n".join(_text(line) for line in shown)
    if text:
        output.line(text)


def _text(line: Line) -> str:
    """A line as it stands in the log."""
    part = f"{line.part}@{line.device}" if line.device else line.part
    return "\n\t".join([f"{line.at} {line.level} {part}: {line.text}", *line.more])
