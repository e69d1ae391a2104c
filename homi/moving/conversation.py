"""The transcript of a name's last session, from one device to another.

Owns how its paths are translated and where the client looks for it; understands no
line of it.  homi-move(1).
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from json import dumps
from typing import NamedTuple

import msgspec

from homi.errors import NoInput, StorageFailed
from homi.ids import is_id
from homi.legs.tail import find
from homi.store.disk import Disk
from homi.store.whole import write_pieces

Lines = Callable[[], Iterable[bytes]]  # each time from the first on

SLUG_MAX = 200  # characters of a folder's name, as the client makes it


class Found(NamedTuple):
    """A transcript here."""

    id: str
    path: str
    cwd: str  # of its first line that names one


class _Line(msgspec.Struct):
    """What is read of a line."""

    cwd: str = ""


_read = msgspec.json.Decoder(_Line).decode


def last(projects: Iterable[str], conversations: Iterable[str]) -> Found | None:
    """The first of these conversations that has a transcript."""
    folders = list(projects)
    for conversation in conversations:
        for folder in folders:
            path = find(folder, conversation)
            if path is not None:
                return Found(conversation, path, _cwd(path))
    return None


def lines(path: str) -> Iterator[bytes]:
    """The whole lines of a transcript; 74 where it cannot be read."""
    try:
        with open(path, "rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield line
    except OSError as error:
        raise StorageFailed(f"cannot read {path}: {error.strerror}") from error


def translate(data: bytes, old: str, new: str) -> bytes:
    """The same with every path in the folder old as one in the folder new."""
    if not old or old == new:
        return data
    before, after = (dumps(path)[1:-1].encode() for path in (old, new))
    # A folder beside it whose name begins the same is another.
    pattern = re.compile(re.escape(before) + rb"(?![A-Za-z0-9._-])")
    return pattern.sub(lambda _found: after, data)


def keep(disk: Disk, config: str, conversation: str, cwd: str, lines: Lines) -> str:
    """Let the transcript of these lines stand where the client looks for it; its path.
    One that stands there already stays beside it.  66 where its client was never used
    here, OSError where the disk refuses."""
    if not is_id(conversation.lower()):
        raise StorageFailed("a conversation without an id")
    if not os.path.isdir(config):
        text = f"there is no {config} here: the conversation has no client"
        raise NoInput(text, hint="its transcript stays in blobs/")
    projects = os.path.join(config, "projects")
    folder = os.path.join(projects, slug(os.path.realpath(cwd)))
    for path in (projects, folder):
        disk.mkdir(path)
    here = find(projects, conversation)
    path = here or os.path.join(folder, f"{conversation}.jsonl")
    if here is not None and _begins(path, lines()):
        return path  # its client wrote on in it since
    if here is not None:
        disk.rename(path, f"{path}.before-{os.stat(path).st_mtime_ns}")
        path = os.path.join(folder, f"{conversation}.jsonl")
    write_pieces(disk, path, lines())
    return path


def slug(cwd: str) -> str:
    """The name of the folder that the client keeps a folder's transcripts in."""
    plain = re.sub(r"[^A-Za-z0-9]", "-", cwd)
    if len(plain) <= SLUG_MAX:
        return plain
    value = 0
    for each in _units(cwd):
        value = (31 * value + each) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >> 31 else value
    return f"{plain[:SLUG_MAX]}-{_base36(abs(signed))}"


def _units(text: str) -> list[int]:
    """Its UTF-16 code units."""
    data = text.encode("utf-16-le", "surrogatepass")
    return [
        int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2)
    ]


def _base36(value: int) -> str:
    digits = ""
    while value:
        value, rest = divmod(value, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits or "0"


def _cwd(path: str) -> str:
    """The folder that a transcript says it is of."""
    for line in lines(path):
        try:
            found = _read(line).cwd
        except (msgspec.DecodeError, RecursionError):
            continue
        if found:
            return found
    return ""


def _begins(path: str, lines: Iterable[bytes]) -> bool:
    """Whether the file begins with exactly these; all of them were read then."""
    same = True
    try:
        with open(path, "rb") as file:
            for line in lines:
                same = same and file.read(len(line)) == line
    except OSError:
        return False
    return same
