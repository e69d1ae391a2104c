"""`import`: mail of before into a mailbox.  homi-queue(1).

Owns what is read of a file, and the telling of what could not be; the daemon stores.
"""

import os
import time
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

import click
import msgspec

from homi import paths
from homi.address import parse_address, show
from homi.admitted import Imported, ImportedRow
from homi.cli import options, output
from homi.cli.caller import connect
from homi.cli.export import FORMATS
from homi.cli.progress import Progress
from homi.config import LINE_MAX_ALONE
from homi.connection import Connection
from homi.dial import Absent
from homi.envelope import FINISHED
from homi.errors import BadMessage, HomiError, NoInput, NotReached, StorageFailed, Usage
from homi.errors import from_wire as wire_error
from homi.mail import mbox, post
from homi.mail.past import read_line
from homi.requests import Import, Past

TOGETHER = 1 << 20  # bytes of messages in one request
AT_ONCE = 256  # messages in one request
# With these the next message would fare no better.
HOPELESS = (NotReached, StorageFailed)

Found = tuple[str, Past | BadMessage]  # where it stood, and what it is


class Count(msgspec.Struct):
    """What an import came to; its fields are those of the JSON form."""

    name: str
    stored: int = 0
    pending: int = 0  # of those stored
    known: int = 0  # the mailbox had them before
    bad: int = 0


@click.command("import")
@click.argument("name")
@click.argument("source", metavar="[PATH]", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="By default what it looks like.",
)
@click.option("--pending", is_flag=True, help="What was not read is pending.")
@options.as_json
@click.pass_obj
def import_(
    home: str,
    /,
    name: str,
    source: str | None,
    form: str | None,
    *,
    pending: bool,
    as_json: bool,
) -> int:
    """Store mail from PATH or standard input in the mailbox of NAME.

    \b
      $ homi import gds-agent gds-agent.jsonl
      $ homi export gds-agent | homi --home other import gds-agent
      $ homi import archive --format mbox < old.mbox
    """
    parse_address(name)  # a mistake in it is told before any mail is asked for
    found = read(source, form, pending=pending)
    _, client = connect(paths.state_root(home))
    if client is None:
        raise Absent("no daemon runs to store it", hint="homi start")
    count = _Importer(client, name).run(found)
    if as_json:
        output.json_line(count)
    else:
        was = f", {count.known} were there already" if count.known else ""
        waits = f" ({count.pending} pending)" if count.pending else ""
        output.line(f"stored {count.stored} in {count.name}{waits}{was}")
    return BadMessage.exit_status if count.bad else 0


class _Importer:
    """Messages on their way into one mailbox, many in a request."""

    def __init__(self, client: Connection, name: str) -> None:
        self._client = client
        self._some: list[tuple[str, Past]] = []
        self._size = 0
        self._count = Count(name=name)

    def run(self, found: Iterator[Found]) -> Count:
        """Store all that can be stored."""
        for where, what in found:
            if isinstance(what, BadMessage):
                self._bad(where, what)
                continue
            size = len(what.msg)
            if self._size + size > TOGETHER or len(self._some) >= AT_ONCE:
                self._send()
            self._some.append((where, what))
            self._size += size
        self._send()
        return self._count

    def _send(self) -> None:
        """Have the next of them stored; also where there is none, to know the name."""
        some, self._some, self._size = self._some, [], 0
        letters = [past for _, past in some]
        request = Import(i=1, name=self._count.name, letters=letters)
        done = self._client.call(request, Imported)
        self._count.name = done.name
        for (where, past), row in zip(some, done.rows, strict=True):
            self._tell(where, past, row)

    def _tell(self, where: str, past: Past, row: ImportedRow) -> None:
        """Count one outcome."""
        if row.code:
            error = wire_error(row.code, row.error, row.hint)
            if isinstance(error, HOPELESS):
                raise type(error)(
                    f"{where}: {error.text}",
                    hint="import it again then: what is stored is not stored twice",
                )
            self._bad(where, error)
        elif row.duplicate:
            self._count.known += 1
        else:
            self._count.stored += 1
            self._count.pending += past.was.rung not in FINISHED

    def _bad(self, where: str, error: HomiError) -> None:
        """Note one that cannot be stored; the rest goes on."""
        self._count.bad += 1
        output.note(f"{where}: {error.text}")


def read(source: str | None, form: str | None, *, pending: bool) -> Iterator[Found]:
    """The messages of a file, a Maildir or standard input, each with its place."""
    if source is not None and source != "-":
        if not source:
            raise NoInput("the file has no name", hint="without PATH, standard input")
        path = Path(source)
        try:
            # A path that is too long is no folder either: opening it says so.
            file = None if os.path.isdir(path) else path.open("rb")
        except OSError as error:
            raise NoInput(f"cannot read {show(source)}: {error.strerror}") from error
        if file is None:
            if form not in (None, "maildir"):
                raise Usage(f"{path} is a folder", hint="--format maildir")
            return _of_maildir(path, pending=pending)
        total = path.stat().st_size
    else:
        if os.isatty(0):
            output.note("type the mail; Ctrl-D ends it")
        # Not sys.stdin: what of it was read ahead cannot be looked at.
        file, total = os.fdopen(0, "rb", closefd=False), 0
    if form == "maildir":
        raise Usage("a Maildir is a folder, not a file")
    return _of_file(file, form, total, pending=pending)


def _of_file(
    file: BufferedReader, form: str | None, total: int, *, pending: bool
) -> Iterator[Found]:
    """The messages of an open file; without a form, of what it begins like."""
    begins = file.peek(5)[:5]
    if form == "mbox" or (form is None and begins == b"From "):
        found = _of_mbox(file, pending=pending)
    elif not begins:
        found = iter(())  # a terminal would be read on
    else:
        found = _of_lines(file, pending=pending)
    progress = Progress("reading,")
    with file:
        for one in found:
            if total:
                progress(min(file.tell(), total - 1), total)
            yield one
    progress(1, 1)


def _of_lines(file: BufferedReader, *, pending: bool) -> Iterator[Found]:
    """The messages of exported lines."""
    number, whole = 0, True
    for line in iter(lambda: file.readline(LINE_MAX_ALONE), b""):
        begins, whole = whole, line.endswith(b"\n")
        number += begins
        where = f"line {number}"
        if not begins or not line.strip():
            continue
        if not whole and len(line) >= LINE_MAX_ALONE:
            yield where, BadMessage(f"over {LINE_MAX_ALONE} bytes")
            continue
        try:
            yield where, read_line(line, pending=pending)
        except BadMessage as error:
            yield where, error


def _of_mbox(file: BufferedReader, *, pending: bool) -> Iterator[Found]:
    """The messages of an mbox file."""
    for number, data in enumerate(mbox.messages(file), 1):
        where = f"message {number}"
        if isinstance(data, BadMessage):
            yield where, data
        else:
            yield where, _posted(data, pending=pending, seen=False)


def _of_maildir(folder: Path, *, pending: bool) -> Iterator[Found]:
    """The messages of a Maildir."""
    if not all((folder / name).is_dir() for name in ("new", "cur")):
        raise NoInput(f"{folder} is no Maildir: it has no folders new and cur")
    files = list(mbox.maildir(folder))
    progress = Progress("reading,")
    for done, (path, seen) in enumerate(files):
        progress(done, len(files))
        where = f"{path.parent.name}/{path.name}"
        try:
            data = mbox.read_file(path)
        except BadMessage as error:
            yield where, error
        else:
            yield where, _posted(data, pending=pending, seen=seen)
    progress(1, 1)


def _posted(data: bytes, *, pending: bool, seen: bool) -> Past | BadMessage:
    """A message as mail programs keep it, or why it is none."""
    try:
        return post.read(data, time.time(), pending=pending, seen=seen)
    except BadMessage as error:
        return error
