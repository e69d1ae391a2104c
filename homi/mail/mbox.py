"""Files of many messages, as mail programs keep them: mbox and Maildir.

Owns where one message ends and the next begins.  A line that looks like such a place
is quoted by one more > (the mboxrd form), so that no text can make a message.
"""

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from homi.clock import parse_rfc3339
from homi.config import LINE_MAX_ALONE
from homi.envelope import decode_msg
from homi.errors import BadMessage, CannotCreate
from homi.mail import post
from homi.mail.past import Exported

_FROM = re.compile(rb"^(>*From )", re.MULTILINE)
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
SUBFOLDERS = ("tmp", "new", "cur")


def entry(of: Exported) -> bytes:
    """One message of an mbox file."""
    try:
        at = time.gmtime(parse_rfc3339(of.at))
    except (ValueError, OverflowError):
        at = time.gmtime(0)
    head = f"From {decode_msg(of.msg).from_}@homi {time.asctime(at)}\n"
    return head.encode() + _FROM.sub(rb">\1", post.write(of)) + b"\n"


def messages(file: BinaryIO) -> Iterator[bytes | BadMessage]:
    """The messages of an mbox file, unquoted; BadMessage for one that is no such."""
    parts: list[bytes] = []
    size, blank, begun = 0, True, False
    for line in iter(lambda: file.readline(LINE_MAX_ALONE), b""):
        if blank and line.startswith(b"From "):
            if begun:
                yield _whole(parts, size)
            parts, size, begun = [], 0, True
        elif not begun and line.strip():
            yield BadMessage("no mbox: it begins with another word than From")
            return
        else:
            size += len(line)
            if size <= LINE_MAX_ALONE:
                parts.append(line)
        blank = line in (b"\n", b"\r\n")
    if begun:
        yield _whole(parts, size)


def _whole(parts: list[bytes], size: int) -> bytes | BadMessage:
    """One message without its quoting and the blank line behind it."""
    if size > LINE_MAX_ALONE:
        return BadMessage(f"{size} bytes, the limit is {LINE_MAX_ALONE}")
    if parts and parts[-1] in (b"\n", b"\r\n"):
        parts.pop()
    return _QUOTED.sub(rb"\1", b"".join(parts))


def make_maildir(folder: Path, all_of: Iterable[Exported]) -> None:
    """Fill a new Maildir; 73 where something is there."""
    try:
        folder.mkdir(mode=0o700)
        for name in SUBFOLDERS:
            (folder / name).mkdir(mode=0o700)
    except OSError as error:
        raise CannotCreate(f"cannot create {folder}: {error.strerror}") from error
    for count, of in enumerate(all_of, 1):
        seconds = int(time.time())
        name = f"{seconds}.{count}_{decode_msg(of.msg).id}.homi"
        draft = folder / "tmp" / name
        draft.write_bytes(post.write(of))
        seen = post.finished(of)
        os.rename(draft, folder / ("cur" if seen else "new") / (name + ":2,S" * seen))


def maildir(folder: Path) -> Iterator[tuple[Path, bool]]:
    """The files of a Maildir in order, and whether each was seen there."""
    found = [
        path
        for name in ("new", "cur")
        if (folder / name).is_dir()
        for path in (folder / name).iterdir()
        if not path.name.startswith(".")
    ]
    for path in sorted(found, key=_place):
        yield path, "S" in path.name.rpartition(":2,")[2] and ":2," in path.name


def read_file(path: Path) -> bytes:
    """A file of a Maildir; BadMessage where it cannot be a message.  Never waits."""
    try:
        # Who made the folder may have put a pipe there, or a way to another's file.
        with open(path, "rb", opener=_opened) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise BadMessage("no regular file")
            if found.st_size > LINE_MAX_ALONE:
                raise BadMessage(
                    f"{found.st_size} bytes, the limit is {LINE_MAX_ALONE}"
                )
            return file.read(LINE_MAX_ALONE)
    except OSError as error:
        raise BadMessage(f"cannot be read: {error.strerror}") from error


def _opened(path: str, flags: int) -> int:
    """A file itself, not what it links to, and without waiting for a writer."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _place(path: Path) -> tuple[int, int, str]:
    """The order in which messages came: by second, then by number of the second."""
    second, _, rest = path.name.partition(".")
    number = re.match(r"\d+", rest)
    whole = int(second) if second.isdecimal() else 0
    return whole, int(number[0]) if number else 0, path.name
