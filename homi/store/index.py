"""Every message of a state root in one table: derived, a hint, made anew at will.

Owns the questions that can be asked of the index.  Knows how nothing got in:
store.indexing does; nor what becomes of a damaged file: store.volume does.
homi-mailbox(5) says when it is believed.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Self

from homi.address import Name
from homi.envelope import MessageId
from homi.errors import StorageFailed
from homi.ids import halves, last_part
from homi.store import words
from homi.store.archive import inbox_at, place, segments
from homi.store.boxes import is_current, open_pair, read_box
from homi.store.database import Broken, Moved, Unwritable, measure
from homi.store.disk import Disk, RealDisk
from homi.store.fault import Hook
from homi.store.indexing import advance
from homi.store.lines import Finding, Unreadable, read_line
from homi.store.loading import Before
from homi.store.places import folder_of, places
from homi.store.query import BESIDE, STAMPS, Query, asked, started
from homi.store.reading import readable
from homi.store.rows import SELECT, Entry, Row, decode_head
from homi.store.volume import Volume
from homi.store.vouched import before

__all__ = ["Entry", "Index", "Query", "Told"]

Told = Callable[[int, int], None]  # (bytes done, bytes in all)

_MANY = 500  # values in one statement
_FROM = f"SELECT box.name, {SELECT} FROM mail JOIN box ON box.num = mail.box"


class Index:
    """The index of a state root, for one thread; close() it, or use it in a with."""

    @classmethod
    def open(cls, root: str | Path, disk: Disk | None = None) -> Self:
        """The index under root, or one in memory where that cannot be written.  It
        knows what it knew; catch_up() makes it know all."""
        return cls(os.fspath(root), disk or RealDisk())

    def __init__(self, root: str, disk: Disk) -> None:
        """Use open()."""
        self.root = root
        self._disk = disk
        self._worded = False  # the words were wanted, and are of another file, too
        self._file = Volume(root, lambda: self.catch_up(text=self._worded))

    def __enter__(self) -> Self:
        """The index itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    @property
    def in_memory(self) -> bool:
        """Whether it stands in for a file that cannot be written."""
        return self._file.db.in_memory

    @property
    def locked(self) -> bool:
        """Whether another process keeps the file to itself."""
        return self._file.locked

    # ---- knowing ----

    def catch_up(
        self,
        names: Iterable[Name] | None = None,
        *,
        text: bool = False,
        told: Told | None = None,
        upto: Mapping[Name, tuple[int, int]] | None = None,
    ) -> None:
        """Index what the journals of names (None: of all) hold beyond it, and with
        text the words of all messages.  upto: the ends to which inbox and ledger of a
        name are synced, and no further than there.
        """
        wanted = self.names() if names is None else sorted(set(names))
        self._worded = self._worded or text

        def work() -> None:
            self._catch_up(wanted, told, upto or {})
            if text:
                self._read_texts(told)

        # As one: an index made anew between the two would know no mail at all.
        self._file.whole(work)

    def lag(self) -> tuple[int, int]:
        """(bytes of its file, 0 in memory; bytes of journals it has yet to read)."""
        wanted = self.names()
        behind = self._file.whole(lambda: sum(self._behind(name) for name in wanted))
        return 0 if self.in_memory else measure(self.root)[1], behind

    def step(self, name: Name, upto: tuple[int, int] | None = None) -> bool:
        """A piece of what catch_up() does for one name; whether there is more."""
        folder = self._folder(name)
        return self._file.whole(
            lambda: advance(self._file.db, self._disk, folder, name, upto)
        )[1]

    def step_words(self, at: Hook) -> bool:
        """A piece of what text adds to catch_up(); whether there may be more."""
        return self._file.whole(lambda: words.step(self._file.db, self._text, at)) > 0

    def names(self) -> list[Name]:
        """The mailboxes and out queues on disk."""
        return sorted(places(self._disk, self.root))

    # ---- asking ----

    def find(
        self, prefix: str, names: Iterable[Name] | None = None, limit: int = 11
    ) -> list[Entry]:
        """The messages whose id, or the last part of it, starts with prefix."""
        where, values = started(prefix.lower(), names, limit)
        found = self._file.entries(f"{_FROM} WHERE {where}", *values)
        return sorted(found[:limit], key=lambda e: (e.name, e.seq))

    def near(self, ids: Iterable[str]) -> set[str]:
        """What stands beside the last part of each id in the order of all last parts
        and of all beginnings of ids: what an abbreviation of it could be taken for."""
        found = set[str]()
        for one in ids:
            rows = self._file.rows(tuple[str | None], BESIDE, last_part(one))
            found |= {beside.partition("-")[0] for (beside,) in rows if beside}
        return found

    def search(self, query: Query) -> list[Entry]:
        """The messages that are all the query asks for; Usage (64): odd words."""
        clauses, values = asked(query)
        if query.text is not None:
            text = words.match(query.text)
            few = query.limit is not None and self._is_common(text)
            clauses.append(words.WALKED if few else words.LOOKED_UP)
            values.append(text)
        order = "DESC" if query.newest else "ASC"
        one = query.names is not None and len(query.names) == 1
        by = f"mail.seq {order}" if one else f"mail.at {order}, mail.row {order}"
        sql = f"{_FROM} WHERE {' AND '.join(clauses)} ORDER BY {by}"
        if query.limit is not None:
            sql += f" LIMIT {max(0, query.limit)}"
        with words.usage():
            return self._file.entries(sql, *values)

    def _is_common(self, text: str) -> bool:
        """Whether the words are in so many messages that it matters."""
        with words.usage():
            found = self._file.rows(tuple[int], words.COUNTED, text, words.COMMON)
        return len(found) == words.COMMON

    def replies(self, ids: Iterable[MessageId]) -> list[Entry]:
        """The messages that reply to one of ids, oldest first."""
        wanted, found = list(dict.fromkeys(ids)), list[Entry]()
        for at in range(0, len(wanted), _MANY):
            some = wanted[at : at + _MANY]
            marks = ",".join("?" * len(some))
            sql = f"{_FROM} WHERE mail.reply_to IN ({marks}) AND mail.seq > 0"
            found += self._file.entries(sql, *some)
        return sorted(found, key=lambda e: (e.at, e.name, e.seq))

    def pending(self, name: Name) -> list[Entry]:
        """What is pending in the mailbox of name, oldest first."""
        sql = f"{_FROM} WHERE box.name=? AND mail.pending ORDER BY mail.seq"
        return self._file.entries(sql, name)

    def stamps(self, name: Name | None = None) -> list[tuple[str, str]]:
        """Of all that is pending, or is in one place: for whom, and when it came; an
        out queue's by whole addresses."""
        return self._file.rows(tuple[str, str], STAMPS, name)

    def counts(self) -> dict[Name, tuple[int, int]]:
        """How many messages each mailbox holds, and how many are pending in it."""
        rows = self._file.rows(tuple[str], "SELECT name FROM box")
        names = [Name(name) for (name,) in rows]
        boxes = self._file.whole(
            lambda: [read_box(self._file.db, name) for name in names]
        )
        return {box.name: (box.total, box.pending) for box in boxes}

    def findings(self, names: Iterable[Name] | None = None) -> list[Finding]:
        """What could not be read in the journals of names (None: of all)."""
        rows = self._file.rows(
            tuple[str, str, int, str],
            "SELECT box.name, journal, offset, text FROM finding"
            " JOIN box ON box.num = finding.box WHERE text <> ''"
            " ORDER BY box.name, journal, offset",
        )
        allowed = None if names is None else set(names)
        return [
            Finding(os.path.join(self._folder(name), journal), offset, text)
            for name, journal, offset, text in rows
            if allowed is None or name in allowed
        ]

    def line(self, entry: Entry) -> bytes:
        """The inbox line of a message, read at its place; 74 where it is not there."""
        path, _ = inbox_at(self._folder(entry.name), place(entry.segment, 0))
        try:
            line = read_line(self._disk, path, entry.offset, entry.length)
        except OSError as error:
            raise StorageFailed(f"cannot read {path}: {error.strerror}") from error
        head = readable(line.rstrip(b"\n"), entry.offset, decode_head)
        if isinstance(head, Unreadable) or (head.seq, head.msg.id) != (
            entry.seq,
            entry.id,
        ):
            raise StorageFailed(
                f"message {entry.id} is not at its place in {path}",
                hint="another hand changed the file; homi trace shows what is left",
            )
        return line

    def before(self, name: Name) -> Before | None:
        """What need not be read of a mailbox at a start; None: all of it must be."""
        folder = self._folder(name)
        try:
            box = read_box(self._file.db, name)
            if box.num and not is_current(
                self._disk, folder, box, segments(self._disk, folder)
            ):
                # Rows follow a segment that was closed or removed; nothing is read.
                self.catch_up([name])
            return before(self._file.db, self._disk, folder, name)
        except StorageFailed:
            return None  # somebody keeps it to itself
        except (Broken, Moved, Unwritable) as why:
            self._file.anew(why)
            return None

    def places(self, name: Name, message: str) -> list[int]:
        """Where lines with that id stand in the mailbox of name, as far as is known."""
        head, tail = halves(message)
        rows = self._file.rows(
            tuple[int, int],
            "SELECT segment, offset FROM mail JOIN box ON box.num = mail.box"
            " WHERE mail.tail=? AND mail.head=? AND box.name=? ORDER BY mail.row",
            tail,
            head,
            name,
        )
        return [place(segment, offset) for segment, offset in rows]

    def _folder(self, name: str) -> str:
        """Where the journals of name are."""
        return os.path.join(self.root, folder_of(Name(name)))

    # ---- catching up ----

    def _catch_up(
        self,
        names: list[Name],
        told: Told | None,
        upto: Mapping[Name, tuple[int, int]],
    ) -> None:
        """Mailbox after mailbox, step after step."""
        total = sum(self._behind(name) for name in names) if told else 0
        done = 0
        for name in names:
            more = True
            while more:
                took, more = advance(
                    self._file.db, self._disk, self._folder(name), name, upto.get(name)
                )
                done += took
                if told and took:
                    told(done, max(total, done))

    def _behind(self, name: Name) -> int:
        """Bytes of the journals of name that are not indexed."""
        pair = open_pair(self._disk, self._folder(name))
        pair.close(self._disk)
        return pair.behind(read_box(self._file.db, name))

    def _read_texts(self, told: Told | None) -> None:
        """Index the words of every message whose text was not read yet."""
        total = words.behind(self._file.db) if told else 0
        done = 0
        while took := words.step(self._file.db, self._text):
            done += took
            if told:
                told(done, max(total, done))

    def _text(self, name: Name, row: Row) -> str:
        """The text of a message; empty where its line cannot be read."""
        try:
            return words.text_of(self.line(row.entry(name)))
        except StorageFailed:
            return ""
