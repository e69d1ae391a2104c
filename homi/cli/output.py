"""Where results go: stdout, as a table, as tabbed lines or as JSON.

Owns the choice by what stdout is; homi.render owns the forms.
"""

import sys
import time
from collections.abc import Iterable, Sequence

from homi import render
from homi.cli.fast import load
from homi.clock import parse_rfc3339
from homi.errors import StorageFailed
from homi.render import Cell
from homi.store.lines import Finding


def terminal() -> bool:
    """Whether a person looks at stdout."""
    return sys.stdout is not None and sys.stdout.isatty()


def when(at: str) -> str:
    """A stamp as an age for a person, as it is for a program or where it is none."""
    if not at or not terminal():
        return at
    try:
        return render.age(time.time() - parse_rfc3339(at))
    except ValueError:
        return at


def until(at: str) -> str:
    """A stamp that is ahead: for a person how long it is until then."""
    if not at or not terminal():
        return at
    try:
        return f"in {render.age(parse_rfc3339(at) - time.time())}"
    except ValueError:
        return at


def line(text: str) -> None:
    """One line of result, at once, in UTF-8 whatever the locale."""
    raw((text + "\n").encode("utf-8", "backslashreplace"))


def raw(data: bytes) -> None:
    """Bytes of result as they are, flushed: what returns here was written."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StorageFailed(f"cannot write the result: {error.strerror}") from None


def note(text: str) -> None:
    """What a person should know beside the result, on stderr."""
    if sys.stderr is not None:
        print(f"homi: {text}", file=sys.stderr, flush=True)


def finding(what: Finding) -> str:
    """What could not be read on disk, and where a person finds it."""
    return f"{what.path}: at offset {what.offset}: {what.text}"


def json_line(value: object) -> None:
    """One JSON object on one line."""
    line(render.json_line(value, plain=terminal()))


def json_lines(values: Iterable[object]) -> None:
    """One JSON object a line, written at once."""
    plain = terminal()
    if text := "\n".join(render.json_line(value, plain=plain) for value in values):
        line(text)


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    empty: str = "",
    last: bool = False,
) -> None:
    """Aligned under a head on a terminal; elsewhere tabbed lines without one.

    A person who would see a head and nothing under it is told empty instead.  last:
    the last column is whole, below its row where the terminal is too narrow.
    """
    if not terminal():
        if rows:
            line("\n".join(render.tabbed(row) for row in rows))
    elif rows:
        load("homi.cli.screen", "draw_whole" if last else "draw", columns, rows)
    elif empty:
        note(empty)
