"""The words of messages: which text is in the index, and what may be asked of it.

Owns the form of a search and the full text's own position.  homi-inbox(1) has the
form.
"""

import contextlib
import re
from collections.abc import Callable, Iterator

from homi.address import Name, show
from homi.envelope import decode_envelope, decode_msg
from homi.errors import Usage
from homi.store.boxes import read_row, typed
from homi.store.database import BadQuery, Broken, Database
from homi.store.fault import Hook
from homi.store.places import is_place
from homi.store.rows import SELECT, Row

STEP = 500  # messages a transaction takes
STEP_BYTES = 1 << 20  # of their lines, but for the first: others get their turn soon
COMMON = 5000  # messages with the words: from so many on a search takes its time
COUNTED = "SELECT 1 FROM words WHERE words MATCH ? LIMIT ?"
LOOKED_UP = "mail.row IN (SELECT rowid FROM words WHERE words MATCH ?)"
# All rows of a common word would be fetched and sorted for a few of them: with the sign
# messages are met in the order asked for, until there are enough with the word.
WALKED = f"+{LOOKED_UP}"
_OPERATORS = frozenset({"AND", "OR", "NOT", "(", ")"})
Worded = tuple[int, Name, Row]  # a row's number, where it is, what it says
_TOKEN = re.compile(r'"(?:[^"]|"")*"\*?|[()]|[^\s()"]+|"')


def match(text: str) -> str:
    """What was asked for in the form of the full text index; Usage (64) if in none.

    Words and "phrases" stand for themselves, a * behind one for any end; AND, OR, NOT
    and parentheses join them.
    """
    parts = []
    for token in _TOKEN.findall(text):
        if token == '"':
            raise Usage(f"a quote is open in {show(text)}", hint="close the quote")
        if token in _OPERATORS or token.startswith('"'):
            parts.append(token)
        else:
            stem = token.rstrip("*")
            star = "*" if stem and stem != token else ""
            parts.append(f'"{stem or token}"{star}')
    if not parts:
        raise Usage("nothing to search for", hint="homi search WORD...")
    return " ".join(parts)


@contextlib.contextmanager
def usage() -> Iterator[None]:
    """A search that cannot be understood is Usage (64)."""
    try:
        yield
    except BadQuery as error:
        raise Usage(
            "that is no search: AND, OR, NOT and parentheses join words",
            hint="quote them to search for the words themselves",
        ) from error


def step(
    db: Database, text: Callable[[Name, Row], str], at: Hook = lambda _: None
) -> int:
    """Index the words of the next messages; bytes of their lines, 0: none is left."""
    with db.transaction():
        (done,) = typed(db.one("SELECT row FROM worded"), tuple[int])
        found = db.all(
            f"SELECT mail.row, box.name, {SELECT} FROM mail"
            " JOIN box ON box.num = mail.box WHERE mail.row > ?"
            " ORDER BY mail.row LIMIT ?",
            done,
            STEP,
        )
        rows = _few(
            (number, _place(name), read_row(tuple(values)))
            for number, name, *values in found
        )
        db.many(
            "INSERT INTO words(rowid, text) VALUES(?, ?)",
            [(number, text(name, row)) for number, name, row in rows],
        )
        if rows:
            at("words-written")
            db.one("UPDATE worded SET row=?", rows[-1][0])
        return sum(row.length for _, _, row in rows)


def _few(rows: Iterator[Worded]) -> list[Worded]:
    """As many of them as one transaction takes by their bytes, one at least."""
    few, size = list[Worded](), 0
    for one in rows:
        size += one[2].length
        if few and size > STEP_BYTES:
            break
        few.append(one)
    return few


def _place(found: object) -> Name:
    """A place that becomes a path; Broken where it is none."""
    if not isinstance(found, str) or not is_place(found):
        raise Broken("a name")
    return Name(found)


def among(texts: list[str], asked: str) -> set[int]:
    """Which of these texts a search finds, by their places; Usage (64): odd words."""
    db = Database(None)
    try:
        db.many("INSERT INTO words(rowid, text) VALUES(?, ?)", enumerate(texts))
        with usage():
            sql = "SELECT rowid FROM words WHERE words MATCH ?"
            return {place for (place,) in db.all(sql, match(asked))}
    finally:
        db.close()


def behind(db: Database) -> int:
    """Bytes of the lines whose words are not indexed."""
    sql = "SELECT sum(length) FROM mail WHERE row > (SELECT row FROM worded)"
    return typed(db.one(sql), tuple[int | None])[0] or 0


def text_of(line: bytes) -> str:
    """The text in an inbox line; empty where it is none."""
    try:
        return decode_msg(decode_envelope(line).msg).text
    except (ValueError, RecursionError):
        return ""
