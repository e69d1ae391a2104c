"""A backlog as one text: a line a letter, and how to read the rest.

Owns the form of a digest; pure.  The one renderer quotes it like any body.
homi-legs(7) shows it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from homi.address import Name
from homi.clock import age
from homi.ids import last_part
from homi.visible import first_line, visible

LINES = 40  # letters named one by one: more is not read, only paid for
FIRST_MAX = 100  # characters of a letter's first line
SENDERS = 12  # named in the summary of the others


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One letter of a backlog, as far as a digest shows it."""

    id: str
    sender: str  # name or name@device; as the postmark has it
    age: float  # seconds
    first: str = ""  # the first line of its text
    note: str = ""  # instead of the text: why it is not shown


def digest(name: Name, entries: Sequence[Entry], others: Iterable[str]) -> str:
    """The text of a digest for name: entries one by one, others by their senders."""
    counted = Counter(others)
    count = len(entries) + counted.total()
    shown = short([entry.id for entry in entries])
    lines = [
        f"{count} letters are waiting for {name}. These are first lines only: a letter",
        "counts as seen when you have read it or acknowledged it.",
        "  homi inbox --brief   lists them",
        "  homi read ID         prints one whole",
        "  homi ack ID...       you need not read these",
        "",
    ]
    lines += [_line(shown[entry.id], entry) for entry in entries]
    if counted:
        lines.append(f"and {counted.total()} more: {_summary(counted)}")
    return "\n".join(lines)


def short(ids: Sequence[str]) -> dict[str, str]:
    """Each id by its last part, where that tells them apart: its first digits might
    be those of a letter that is not listed."""
    parts = {each: last_part(each) for each in ids}
    return (
        parts
        if len(set(parts.values())) == len(parts)
        else {each: each for each in ids}
    )


def opening(text: str) -> str:
    """The first line of text, made visible: at most so long."""
    shown = visible(first_line(text, FIRST_MAX)).replace("\t", " ")
    return shown if len(shown) <= FIRST_MAX + 2 else shown[: FIRST_MAX - 1] + "…"


def _line(shown: str, entry: Entry) -> str:
    """One letter on one line."""
    what = f"({entry.note})" if entry.note else entry.first
    return f"{shown}  {visible(entry.sender)}  {age(entry.age)} ago  {what}"


def _summary(counted: Counter[str]) -> str:
    """How many of whom, the most first."""
    named = counted.most_common(SENDERS)
    parts = [f"{count} from {visible(who)}" for who, count in named]
    rest = counted.total() - sum(count for _, count in named)
    return ", ".join([*parts, f"{rest} from others"] if rest else parts)
