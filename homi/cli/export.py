"""`export`: a mailbox as one file, or as a Maildir.  homi-queue(1).

Owns where it goes, and that nothing is overwritten; homi.mail has the forms.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from homi import paths
from homi.address import Name
from homi.cli import options, output
from homi.cli.mail import Mail
from homi.cli.progress import Progress
from homi.errors import CannotCreate, StorageFailed, Usage
from homi.mail import mbox, past
from homi.mail.past import Exported
from homi.store.index import Query

FORMATS = ("jsonl", "mbox", "maildir")
TOGETHER = 1 << 20  # bytes written at once

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
Form = Callable[[Exported], bytes]


@click.command()
@click.argument("name")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="jsonl",
    help="jsonl (the default), mbox or maildir.",
)
@click.option("-o", "--output", "to", metavar="PATH", help="Into a new file or folder.")
@options.since
@click.pass_obj
def export(
    home: str, /, name: str, form: str, to: str | None, since: str | None
) -> int:
    """Write out all mail of NAME, finished or not.

    \b
      $ homi export gds-agent > gds-agent.jsonl
      $ homi export gds-agent --format mbox -o gds-agent.mbox
      $ homi export gds-agent --format maildir -o Mail/gds-agent
    """
    mail = Mail(paths.state_root(home))
    found = _Export(mail, mail.place(name), since)
    path = None if to in (None, "-") else Path(to or "")
    if form == "maildir":
        if path is None:
            raise Usage("a Maildir is a folder", hint="-o PATH names a new one")
        mbox.make_maildir(path, found)
    else:
        one = past.line if form == "jsonl" else mbox.entry
        if path is None:
            _to_stdout(found, one)
        else:
            _to_file(path, found, one)
    if path is not None:
        output.note(f"{found.count} messages in {path}")
    return StorageFailed.exit_status if found.lost else 0


class _Export:
    """The messages of a mailbox one after the other; what is unreadable is noted."""

    def __init__(self, mail: Mail, place: Name, since: str | None) -> None:
        self._mail = mail
        self._query = Query(names=(place,), since=since)
        self._place = place
        self.count = 0  # written out
        self.lost = 0

    def __iter__(self) -> Iterator[Exported]:
        """Each in order of arrival."""
        progress = Progress("writing,")
        counts = self._mail.index([self._place]).counts()
        total = counts.get(self._place, (0, 0))[0]
        for done, entry in enumerate(self._mail.entries(self._query)):
            progress(done, max(total, done + 1))
            try:
                letter = self._mail.letter(entry)
            except StorageFailed as error:
                self.lost += 1
                output.note(error.text)
            else:
                self.count += 1
                yield past.exported(entry, letter.envelope)
        progress(total, total)


def _to_stdout(found: _Export, one: Form) -> None:
    """Write every message to standard output."""
    for data in _joined(found, one):
        output.raw(data)


def _to_file(path: Path, found: _Export, one: Form) -> None:
    """Write every message to a new file, which has its name once it is whole."""
    if _stands(path):
        raise CannotCreate(f"{path} is there already", hint="homi overwrites nothing")
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fd = os.open(hidden, _CREATE, 0o600)
    except OSError as error:
        raise CannotCreate(f"cannot create {path}: {error.strerror}") from error
    try:
        with open(fd, "wb", TOGETHER) as file:
            for of in found:
                file.write(one(of))
            file.flush()
            os.fsync(file.fileno())
        os.link(hidden, path)
    except FileExistsError as error:
        raise CannotCreate(
            f"{path} is there already", hint="homi overwrites nothing"
        ) from error
    except OSError as error:
        raise StorageFailed(f"cannot write {path}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(hidden)


def _stands(path: Path) -> bool:
    """Whether anything has that name; CannotCreate (73) where nothing could."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CannotCreate(f"cannot create {path}: {error.strerror}") from error
    return True


def _joined(found: _Export, one: Form) -> Iterator[bytes]:
    """The messages in pieces large enough to be written quickly."""
    parts: list[bytes] = []
    size = 0
    for of in found:
        data = one(of)
        parts.append(data)
        size += len(data)
        if size >= TOGETHER:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)
