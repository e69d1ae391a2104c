"""`bundle`: mail between two devices by hand, where no network is.  homi-bundle(1).

Owns the copy of what is read, checked to its end before any of it is stored; the form
is homi.links.bundle's, the daemon stores.
"""

import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

import click
import msgspec

from homi import paths
from homi.address import Device, nearest, parse_name
from homi.amount import amount
from homi.bounds import counted
from homi.cli import file, options, output
from homi.cli.caller import connect
from homi.cli.meant import Family
from homi.cli.progress import Progress
from homi.clock import rfc3339
from homi.config import LINE_MAX_ALONE
from homi.connection import Connection
from homi.dial import Absent
from homi.errors import (
    BadMessage,
    HomiError,
    NoInput,
    NotAllowed,
    NotReached,
    StorageFailed,
    Usage,
    not_linked,
)
from homi.errors import from_wire as wire_error
from homi.linked import Bundled, BundleRow
from homi.links import bundle as form
from homi.links import keys
from homi.links.book import Book, Peering
from homi.links.identity import Identity, verify
from homi.mail.pack import Pack
from homi.mail.places import Places
from homi.requests import Bundle, CallerClass
from homi.store.disk import RealDisk

TOGETHER = 1 << 20  # bytes of lines in one request
AT_ONCE = 256  # lines in one request
TOLD = 30 * 86_400  # s: as long as an id is known at least
COPIED = 1 << 20  # bytes between two figures of a check


class Came(msgspec.Struct):
    """What a bundle that was read came to; its fields are those of the JSON form."""

    device: str  # that wrote it
    at: str  # when, by its own clock
    stored: int = 0
    known: int = 0  # were here before
    relayed: int = 0  # messages of ours that are known to be there, from now on
    refused: dict[str, int] = {}  # by reason
    later: int = 0  # of those refused: they may be taken when it is read again


class Checked(NamedTuple):
    """A bundle that may be read: a copy that nobody can change."""

    copy: IO[bytes]
    head: form.Bundle
    fingerprint: str
    size: int


@click.group(cls=Family, no_args_is_help=False, subcommand_metavar="VERB ...")
def bundle() -> None:
    """Carry mail between two linked devices by hand, as files.

    \b
      $ homi bundle write mini > to-mini
      $ homi bundle read to-mini               # on mini
      $ homi bundle write laptop > back        # on mini: says what arrived
      $ homi bundle read back
    """


@bundle.command()
@click.argument("device")
@click.option("-o", "--output", "to", metavar="PATH", help="Into a new file.")
@options.since
@click.pass_obj
def write(home: str, /, device: str, to: str | None, since: str | None) -> int:
    """Write out, signed, what waits for DEVICE; it stays in the queue.

    \b
      $ homi bundle write mini > to-mini
      $ homi bundle write mini -o /media/stick/to-mini
    """
    root = paths.state_root(home)
    _need_right(root, "write")
    known = Book.read(root)
    peering = _linked(known, device)
    path = None if to in (None, "-") else Path(to or "")
    mail, now = Places(root, output.note), time.time()
    turn = counted(root, RealDisk()).told
    pack = Pack(mail, known, peering.device, since or rfc3339(now - TOLD), turn)
    count = pack.count()
    identity = Identity.load(root)
    head = form.head_of(
        mail.device, peering.device, identity.public, rfc3339(now), count
    )
    lines = _shown(pack, count)
    file.write(path, form.sealed(head, lines, identity.sign))
    _tell_written(pack, peering.device, path)
    return StorageFailed.exit_status if pack.lost else 0


@bundle.command()
@click.argument("source", metavar="[PATH]", required=False)
@options.as_json
@click.pass_obj
def read(home: str, /, source: str | None, *, as_json: bool) -> int:
    """Store the mail of a bundle, from PATH or standard input.

    Nothing of it is stored before all of it is proven to be whole, for this device and
    by one that is paired with it.  To read it again does nothing.

    \b
      $ homi bundle read to-mini
      $ ssh attic cat to-mini | homi bundle read -
    """
    if source is None and os.isatty(0):
        raise Usage("which bundle?", hint="homi bundle read PATH, or it on stdin")
    root = paths.state_root(home)
    me, client = connect(root)
    if me.caller is CallerClass.SESSION:
        raise _not_allowed("read")
    if client is None:
        raise Absent("no daemon runs to store it", hint="homi start")
    with client:
        checked = _check(root, client, source)
        with checked.copy:
            came = _Reader(client, checked).run()
    if as_json:
        output.json_line(came)
    else:
        _tell_read(came)
    if came.later:
        return NotReached.exit_status
    return BadMessage.exit_status if came.refused else 0


# ---- writing ----


def _need_right(root: Path, verb: str) -> None:
    """A session may not: it could carry the mail of others away."""
    me, client = connect(root)
    if client is not None:
        client.close()
    if me.caller is CallerClass.SESSION:
        raise _not_allowed(verb)


def _not_allowed(verb: str) -> NotAllowed:
    """What an agent's session is told."""
    return NotAllowed(
        f"an agent's session may not {verb} bundles", hint="a person or a service may"
    )


def _linked(known: list[Peering], given: str) -> Peering:
    """The linked device of that name; 64 no name, 68 with the nearest."""
    device = parse_name(given)
    for peering in known:
        if str(peering.device) == device:
            return peering
    near = nearest(device, [one.device for one in known])
    raise not_linked(device, "homi pair USER@HOST links one", near)


def _shown(pack: Pack, count: int) -> Iterator[bytes]:
    """The lines of pack, with how far they are."""
    progress = Progress("writing,")
    for line in pack.lines():
        progress(min(pack.done, max(count - 1, 0)), max(count, 1))
        yield line
    progress(1, 1)


def _tell_written(pack: Pack, device: str, path: Path | None) -> None:
    """What is in it, on stderr: stdout may be the bundle."""
    where = "" if path is None else f" in {path}"
    known = f", and that {pack.ids} of its own are here" if pack.ids else ""
    output.note(f"{amount(pack.mails, 'message')} for {device}{where}{known}")
    if pack.kept:
        left = amount(pack.kept, "message")
        output.note(f"{left} left out: a person holds them, or one before")


# ---- reading ----


def _check(root: Path, client: Connection, source: str | None) -> Checked:
    """A copy of a bundle that is proven to be one for this device."""
    known: dict[str, str] = {one.device: one.key for one in Book.read(root)}
    here = Device(client.welcome.device)
    check = form.Check(here, lambda device: known.get(device), verify)
    name = "standard input" if source in (None, "-") else source
    try:
        with _opened(source) as came:
            copy, size = _copied(root, came, check)
        head = check.end()
    except HomiError as error:
        where = f"{name}: " if name else ""
        raise type(error)(
            f"{where}{error.text}", hint=error.hint, reason=error.reason
        ) from error
    return Checked(copy, head, keys.fingerprint(known[head.from_]), size)


def _opened(source: str | None) -> IO[bytes]:
    """The bundle; NoInput (66) where it is not there."""
    if source is None or source == "-":
        return os.fdopen(0, "rb", closefd=False)
    if not source:
        raise NoInput("the file has no name", hint="without PATH, standard input")
    try:
        return open(source, "rb")
    except OSError as error:
        raise NoInput(f"cannot read it: {error.strerror}") from error


def _copied(root: Path, came: IO[bytes], check: form.Check) -> tuple[IO[bytes], int]:
    """A copy in the state root that has no name, each line of it checked."""
    total = 0
    with suppress(OSError):
        total = os.fstat(came.fileno()).st_size
    progress = Progress("checking,")
    size = shown = 0
    copy = tempfile.TemporaryFile(dir=root)  # noqa: SIM115 - closed by who reads it
    try:
        while line := came.readline(LINE_MAX_ALONE + 1):
            check.line(line)
            copy.write(line)
            size += len(line)
            if total and size - shown > COPIED:
                shown = size
                progress(min(size, total - 1), total)
        copy.seek(0)
    except OSError as error:
        copy.close()
        raise StorageFailed(f"cannot copy it: {error.strerror}") from error
    except HomiError:
        copy.close()
        raise
    progress(1, 1)
    return copy, size


class _Reader:
    """The lines of a checked bundle on their way to the daemon, many in a request."""

    def __init__(self, client: Connection, checked: Checked) -> None:
        self._client = client
        self._checked = checked
        head = checked.head
        self._came = Came(device=head.from_, at=head.at)
        self._refused: Counter[str] = Counter()
        self._some: list[bytes] = []
        self._size = 0

    def run(self) -> Came:
        """Have all of it dealt with."""
        progress = Progress("storing,")
        done = 0
        for line in self._checked.copy:
            done += len(line)
            if form.read(line) is None:
                continue  # the first, the last, or of a later homi
            if self._size + len(line) > TOGETHER or len(self._some) >= AT_ONCE:
                self._send()
                progress(min(done, self._checked.size - 1), self._checked.size)
            self._some.append(line)
            self._size += len(line)
        self._send()
        progress(1, 1)
        self._came.refused = dict(sorted(self._refused.items()))
        return self._came

    def _send(self) -> None:
        """Have the next of it dealt with; none: to be told who may."""
        some, self._some, self._size = self._some, [], 0
        request = Bundle(
            i=1,
            device=self._checked.head.from_,
            key=self._checked.fingerprint,
            lines=[msgspec.Raw(line.rstrip(b"\n")) for line in some],
        )
        answer = self._client.call(request, Bundled)
        self._came.relayed += answer.relayed
        for row in answer.rows:
            self._count(row)

    def _count(self, row: BundleRow) -> None:
        """One outcome; the first of each reason is told in full."""
        if not row.code:
            self._came.stored += not row.duplicate
            self._came.known += row.duplicate
            return
        reason = row.reason or row.code
        if reason not in self._refused:
            error = wire_error(row.code, row.error, row.hint)
            hint = f" ({error.hint})" if error.hint else ""
            output.note(f"{row.id} is refused: {error.text}{hint}")
        self._refused[reason] += 1
        self._came.later += not row.permanent


def _tell_read(came: Came) -> None:
    """What it came to, in one line."""
    parts = [f"stored {amount(came.stored, 'message')} from {came.device}"]
    if came.known:
        parts.append(f"{came.known} were here already")
    parts += [f"{count} refused ({why})" for why, count in came.refused.items()]
    if came.relayed:
        parts.append(f"{amount(came.relayed, 'message')} of ours arrived there")
    output.line(", ".join(parts))
