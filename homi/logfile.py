"""The log of a daemon: where it is, and the form of its lines.

Owns the form, written and read; who writes is homi.assembly.logs.  homi-log(1) has
the fields.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from homi.clock import rfc3339
from homi.visible import visible, visible_lines

FOLDER = "log"
NAME = "homi.log"
SIZE = 8 << 20  # bytes of one file: a day of a busy device, and an editor opens it
KEPT = 5  # files beside it
LEVELS = ("debug", "info", "warning", "error", "critical")
LOOSE = "stderr"  # the part of lines that nobody wrote as lines of a log


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line, with what belongs to it."""

    at: str  # RFC 3339, of this device's clock
    level: str
    part: str  # of homi: courier, link, …
    text: str
    more: list[str] = []  # lines behind it: a traceback
    device: str = ""  # that told it, where it is another one


def place(root: Path) -> Path:
    """The file that is written now."""
    return root / FOLDER / NAME


def files(root: Path) -> list[Path]:
    """All there are, the oldest first."""
    now = place(root)
    older = [now.with_name(f"{NAME}.{number}") for number in range(KEPT, 0, -1)]
    return [each for each in [*older, now] if each.is_file()]


def text_of(record: logging.LogRecord, *, dated: bool = True) -> str:
    """A record as a line; what belongs to it stands behind tabs on lines of its own."""
    part = record.name.removeprefix("homi.")
    head, *more = visible_lines(record.getMessage())
    if record.exc_info:
        more += visible_lines(_EXCEPTIONS.formatException(record.exc_info))
    level = record.levelname.lower()
    stamp = f"{rfc3339(record.created)} {level} " if dated else ""
    return "\n\t".join([f"{stamp}{part}: {head}", *more])


def lines(text: Iterable[str]) -> Iterator[Line]:
    """The lines of a log; what is none of its own form is of the part stderr, and of
    the moment before it."""
    line: Line | None = None
    at = ""
    for raw in text:
        raw = raw.rstrip("\n")
        if line is not None and raw.startswith("\t"):
            more = [*line.more, visible(raw[1:])]
            line = msgspec.structs.replace(line, more=more)
            continue
        if line is not None:
            yield line
        line = parsed(raw) or Line(at, "error", LOOSE, visible(raw))
        at = line.at
    if line is not None:
        yield line


def parsed(raw: str) -> Line | None:
    """One line of the log's own form; None where it is not."""
    at, _, rest = raw.partition(" ")
    level, _, rest = rest.partition(" ")
    part, colon, text = rest.partition(": ")
    if level not in LEVELS or not colon or len(at) < 20 or at[-1] != "Z":
        return None
    return Line(visible(at), level, visible(part), visible(text))


def read(path: Path) -> Iterator[Line]:
    """The lines of one file, damaged bytes escaped."""
    with open(path, encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        yield from lines(file)


_EXCEPTIONS = logging.Formatter()
