"""What can be asked of the index, in the form in which SQLite is asked.

Owns the conditions of a question; asks nothing.  homi-inbox(1) has the options that
lead here.
"""

from collections.abc import Iterable

import msgspec

from homi.address import Name
from homi.envelope import SHOWN, Rung
from homi.ids import halves

_STARTS = (
    "tail >= ?1 AND tail < ?2",
    "head >= ?1 AND head < ?2",
    "head = ?3 AND tail >= ?4 AND tail < ?5",
)
BESIDE = """
SELECT max(tail) FROM mail WHERE tail < ?1 UNION ALL
SELECT min(tail) FROM mail WHERE tail > ?1 UNION ALL
SELECT max(head) FROM mail WHERE head < ?1 UNION ALL
SELECT min(head) FROM mail WHERE head > ?1"""

STAMPS = """
SELECT CASE mail.dest WHEN '' THEN box.name ELSE mail.dest END, mail.at
FROM mail JOIN box ON box.num = mail.box
WHERE mail.pending AND (?1 IS NULL OR box.name = ?1)"""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What a message must be to be found; None asks nothing."""

    names: tuple[Name, ...] | None = None
    sender: str | None = None
    device: str | None = None  # of the sender; empty: this one
    room: str | None = None  # the address it was sent to, without a device
    thread: str | None = None
    rungs: frozenset[Rung] | None = None
    pending: bool | None = None
    since: str | None = None  # RFC 3339, itself included
    before: str | None = None  # RFC 3339, itself not included
    after: int = 0  # seq
    below: int | None = None  # seq
    text: str | None = None  # words that stand in its text
    limit: int | None = None
    newest: bool = False  # the newest first, else the oldest


def asked(query: Query) -> tuple[list[str], list[object]]:
    """The conditions of a query, but for its words, and the values in them."""
    clauses: list[str] = ["mail.seq > ?"]
    values: list[object] = [max(0, query.after)]
    for clause, value in (
        ("mail.sender = ?", query.sender),
        ("coalesce(mail.device, '') = ?", query.device),
        ("mail.thread = ?", query.thread),
        ("mail.at >= ?", query.since),
        ("mail.at < ?", query.before),
        ("mail.seq < ?", query.below),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    if query.pending is not None:
        # In the words of the index of what is pending: else SQLite passes it by.
        clauses.append("mail.pending" if query.pending else "NOT mail.pending")
    if query.room is not None:
        clauses.append("(mail.addressed = ? OR mail.addressed LIKE ? ESCAPE '!')")
        values += [query.room, query.room.replace("_", "!_") + "@%"]
    rungs = None if query.rungs is None else _recorded(query.rungs)
    for column, some in (("box.name", query.names), ("mail.rung", rungs)):
        if some is not None:
            clauses.append(f"{column} IN ({','.join('?' * len(some))})")
            values += [str(one) for one in some]
    return clauses, values


def _recorded(rungs: frozenset[Rung]) -> frozenset[Rung]:
    """These, and the steps of a hand-over that are shown as one of them."""
    return rungs | {step for step, shown in SHOWN.items() if shown in rungs}


def started(
    prefix: str, names: Iterable[Name] | None, limit: int
) -> tuple[str, list[object]]:
    """The condition that an id, or its last part, starts with prefix, in one of names;
    true of all such messages, or of limit or more of them."""
    front, rest = halves(prefix)
    # Behind every digit of an id, so that a range is all that starts with its bound.
    values: list[object] = [prefix, prefix + "~", front, rest, rest + "~"]
    among = ""
    if names is not None:
        places = list(dict.fromkeys(names))
        marks = ",".join(f"?{number + 6}" for number in range(len(places)))
        # The plus keeps SQLite from walking through all of a mailbox instead.
        among = f" AND +box IN (SELECT num FROM box WHERE name IN ({marks}))"
        values += places
    parts = (
        f"SELECT row FROM (SELECT row FROM mail WHERE {start}{among} LIMIT {limit})"
        for start in _STARTS
    )
    return f"mail.row IN ({' UNION '.join(parts)})", values
