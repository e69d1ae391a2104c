"""What the two ends of a channel for one blob say to each other, beside its bytes.

Owns these lines and their bounds.  Standard library only: what sshd runs reads them,
too.  homi-protocol(7) is the format.
"""

import json

from homi.errors import BadMessage, HomiError, from_wire
from homi.store.blobs import MOST

LINE_MAX = 4096  # bytes
NOISE_MAX = 64 << 10  # bytes that a shell may print before the first
_BEGINS = b'{"f":"'


class Lines:
    """Lines and then bytes out of one stream.  feed() it, and take what is there."""

    def __init__(self) -> None:
        """Nothing came yet."""
        self._data = bytearray()
        self._passed = 0
        self._begun = False

    def feed(self, data: bytes) -> None:
        """More of the stream; nothing more comes behind an empty one: 75."""
        if not data:
            raise cut()
        self._data += data

    def line(self) -> dict[str, object] | None:
        """The next line of ours; None: more is needed.  What the other end tells of a
        failure is raised."""
        while (end := self._data.find(b"\n")) >= 0:
            line = bytes(self._data[:end])
            del self._data[: end + 1]
            if line.startswith(_BEGINS) and end < LINE_MAX:
                self._begun = True
                return _fields(line)
            self._passed += end + 1
            self._bound(0)
        self._bound(len(self._data))
        return None

    def take(self, count: int) -> bytes:
        """Up to so many of the bytes that are here."""
        data = bytes(self._data[:count])
        del self._data[:count]
        return data

    def _bound(self, more: int) -> None:
        if self._passed + more > (LINE_MAX if self._begun else NOISE_MAX):
            raise BadMessage("the other end does not speak of a blob")


def has(at: int) -> bytes:
    """The receiver's first line: how many bytes it has."""
    return b'\n{"f":"blob","at":%d}\n' % at


def holds(size: int) -> bytes:
    """The sender's first line: how long the blob is."""
    return b'\n{"f":"blob","size":%d}\n' % size


def done() -> bytes:
    """The receiver's last line: the blob is whole, and durable."""
    return b'{"f":"done"}\n'


def bye(error: HomiError) -> bytes:
    """The last line of an end that gives up."""
    fields = {"code": error.code, "text": error.text[:500], "reason": error.reason}
    line = json.dumps({"f": "bye"} | fields, separators=(",", ":"))
    return b"\n" + line.encode() + b"\n"


def count(fields: dict[str, object], key: str, most: int) -> int:
    """A number of bytes in a line, within bounds; 65 else."""
    found = fields.get(key)
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise BadMessage(f"no {key} where one was due")
    if found > most:
        raise BadMessage(f"{found} bytes, at most {most} are taken", reason="too-large")
    return found


def ended(fields: dict[str, object]) -> None:
    """Nothing, where the line says that all is there; 65 else."""
    if fields.get("f") != "done":
        raise BadMessage("no end where one was due")


def limit(size: int | None, room: int) -> int:
    """How long a blob may be, of which that size was told, if any."""
    return min(MOST if size is None else size, MOST, room)


def cut() -> HomiError:
    """What a connection that ended means."""
    return from_wire("not-reached", "the connection ended before the blob", reason="")


def _fields(line: bytes) -> dict[str, object]:
    """The fields of a line; the error it tells of is raised."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadMessage("a line about a blob is no JSON") from error
    if not isinstance(found, dict):
        raise BadMessage("a line about a blob is no object")
    if found.get("f") == "bye":
        code, text, reason = (
            str(found.get(key) or "")[:500] for key in ("code", "text", "reason")
        )
        raise from_wire(code, f"it says: {text}", reason=reason)
    return found
