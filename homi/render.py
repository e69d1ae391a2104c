"""How homi writes things down for people: ids, ages, times, cells, JSON lines.

Owns the forms; writes nowhere.  All text of others passes through homi.visible.
"""

import json
from collections.abc import Iterable, Sequence

import msgspec

from homi.clock import age as age
from homi.envelope import Kind, Reason, Rung, SessionRef
from homi.ids import last_part
from homi.reports import SessionRow
from homi.visible import visible, visible_lines

SHORTEST = 4  # digits of an id: fewer say nothing
_FLAT = frozenset((str, int, float, bool, Kind, Rung, Reason))

Cell = str | int | float | None


def short_ids(ids: Iterable[str], among: Iterable[str]) -> dict[str, str]:
    """For each id the shortest unique prefix of its last part among all of them."""
    every = sorted(
        {last_part(known) for known in among} | {last_part(known) for known in ids}
    )
    place = {tail: at for at, tail in enumerate(every)}
    return {wanted: _unique(every, place[last_part(wanted)]) for wanted in ids}


def process(row: SessionRow | None) -> str:
    """Which process a session is; of what has none but while it works, what it is."""
    if row is None:
        return ""
    return f"pid {row.pid}" if row.pid else row.client


def session(ref: SessionRef | None) -> str:
    """Which process, in a few characters: pid and the start of the conversation."""
    if ref is None:
        return ""
    if not ref.pid:
        return ref.id
    return f"pid {ref.pid}" + (f" ({ref.id[:8]})" if ref.id else "")


def cell(value: Cell) -> str:
    """One cell of a table: on one line, nothing in it that a terminal acts on."""
    return "" if value is None else visible(str(value)).replace("\t", "\\t")


def tabbed(row: Sequence[Cell]) -> str:
    """A row for other programs: cells with a tab between, a - where one is empty."""
    return "\t".join(cell(value) or "-" for value in row)


def together(notes: Iterable[tuple[Cell, Cell]]) -> list[str]:
    """A line for each different note, behind all the names it is about; as they are,
    for cell() to be applied to."""
    names: dict[str, list[str]] = {}
    for name, note in notes:
        if note:
            names.setdefault(str(note), []).append(str(name))
    return [f"{', '.join(about)}: {note}" for note, about in names.items()]


def body(text: str) -> str:
    """A message's text for a terminal: line by line, all else escaped."""
    return "\n".join(visible_lines(text)) + "\n"


def fields(struct: msgspec.Struct) -> dict[str, object]:
    """Every field of struct by its name in JSON, those at their default too."""
    names = zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True)
    return {name: getattr(struct, field) for name, field in names}


def json_line(value: object, *, plain: bool) -> str:
    """value as JSON on one line, with every field; plain: in ASCII, for a terminal."""
    if not plain and _is_whole(value):
        return msgspec.json.encode(value).decode()
    built = msgspec.to_builtins(_full(value))
    if not plain:
        return msgspec.json.encode(built).decode()
    return json.dumps(built, separators=(",", ":")).replace("\x7f", "\\u007f")


def _is_whole(value: object) -> bool:
    """Whether value is encoded with every field as it is; a listing of a hundred
    thousand spends a quarter of the time then."""
    if not isinstance(value, msgspec.Struct) or value.__struct_config__.omit_defaults:
        return False
    kinds = map(type, filter(None, msgspec.structs.astuple(value)))
    return all(map(_FLAT.__contains__, kinds))


def _full(value: object) -> object:
    """value with its structs as dicts that hold every field."""
    if isinstance(value, msgspec.Struct):
        value = fields(value)
    if isinstance(value, dict):
        return {key: _full(one) for key, one in value.items()}
    return [_full(one) for one in value] if isinstance(value, list) else value


def _unique(every: list[str], at: int) -> str:
    """The shortest prefix of every[at] that no neighbour in sorted order shares."""
    tail = every[at]
    around = every[max(0, at - 1) : at] + every[at + 1 : at + 2]
    for length in range(SHORTEST, len(tail)):
        if not any(other.startswith(tail[:length]) for other in around):
            return tail[:length]
    return tail
