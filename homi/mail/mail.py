"""The messages of a state root, with or without a daemon: found, listed, read.

Owns which message an id, or the start of one, means, and that the index knows all
that the journals hold before it is asked.  Reads mail only.  homi-mailbox(5) has the
files.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from homi import ids
from homi.address import Name, show
from homi.envelope import Envelope, MessageId, Msg, decode_envelope
from homi.errors import LISTED, NoInput, StorageFailed, Usage
from homi.mail.message import BRIEF
from homi.mail.places import Places, readable
from homi.store.index import Entry, Index, Query, Told
from homi.store.lines import Finding
from homi.visible import first_line

PAGE = 1_000  # messages held at once of a listing without a limit
COPIES = 1_000_000  # of one message: all of them, in however many mailboxes
HEX = frozenset("0123456789abcdef-")


class Letter(NamedTuple):
    """One message in one mailbox."""

    place: Name
    envelope: Envelope
    msg: Msg


class Mail(Places):
    """The mailboxes under one state root, and what is in them.  For one thread."""

    def __init__(
        self, root: Path, note: Callable[[str], None], told: Told | None = None
    ) -> None:
        """Nothing is read yet.  A root others can reach is refused (78).

        note is told what is damaged and hides no other mail; told, how many bytes of
        how many are read where the index has to catch up first.
        """
        super().__init__(root, note)
        self._told = told
        self._index: Index | None = None
        self._fresh: set[Name] = set()
        self._said = False  # that the index is locked
        self._noted: set[Finding] = set()

    def __enter__(self) -> Self:
        """The mail itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Give the index back; it is opened again when something is asked."""
        if self._index is not None:
            self._index.close()
        self._index = None
        self._fresh.clear()

    def refresh(self) -> None:
        """What came since counts from now on."""
        self._fresh.clear()

    def index(
        self, names: Iterable[Name] | None = None, *, text: bool = False
    ) -> Index:
        """The index, which knows all that the mailboxes of names (None: all) hold
        now; text: the words in it, too.  Notes what is damaged there, once."""
        index, fresh = self._caught_up(names, text=text)
        damage = set(index.findings(fresh)) - self._noted if fresh else set()
        for what in sorted(damage, key=lambda what: (what.path, what.offset)):
            self.note(f"{what.path}: at offset {what.offset}: {what.text}")
        self._noted |= damage
        return index

    def findings(self) -> list[Finding]:
        """What cannot be read in any mailbox; none of it is noted then."""
        found = self._caught_up(None)[0].findings()
        self._noted |= set(found)
        return found

    def waiting(self, names: Iterable[Name]) -> dict[Name, tuple[int, str]]:
        """How much is pending in each mailbox, and when the oldest of it came; notes
        nothing."""
        places = list(names)
        index, _ = self._caught_up(places)
        counts, found = index.counts(), {}
        for name in places:
            _, pending = counts.get(name, (0, 0))
            query = Query(names=(name,), pending=True, limit=1)
            oldest = index.search(query) if pending else []
            found[name] = pending, oldest[0].at if oldest else ""
        return found

    def _caught_up(
        self, names: Iterable[Name] | None, *, text: bool = False
    ) -> tuple[Index, set[Name]]:
        """The index as of now, and the mailboxes it had to look at for that."""
        fresh = set(self.places() if names is None else names) - self._fresh
        if self._index is None:
            self._index = Index.open(self.root)
        if fresh or text:
            was = self._index.in_memory
            self._index.catch_up(fresh, text=text, told=self._told)
            self._fresh |= fresh
            if self._index.in_memory and not was:
                # What stood in the file before is read here once more.
                self._index.catch_up(self._fresh, text=text, told=self._told)
        if self._index.locked and not self._said:
            self._said = True
            self.note("another process keeps index.sqlite3 locked: the files are read")
        return self._index, fresh

    def entries(self, query: Query) -> Iterator[Entry]:
        """The messages that query asks for; many of one mailbox are read in pages."""
        index = self.index(query.names, text=query.text is not None)
        lone = query.names is not None and len(query.names) == 1
        if (
            not lone
            or query.newest
            or query.text is not None
            or query.limit is not None
        ):
            yield from index.search(query)
            return
        page = index.search(msgspec.structs.replace(query, limit=PAGE))
        while page:
            yield from page
            behind = msgspec.structs.replace(query, limit=PAGE, after=page[-1].seq)
            page = index.search(behind) if len(page) == PAGE else []

    def latest(self, query: Query) -> Iterator[Entry]:
        """As entries(), oldest first, but a limit keeps the newest."""
        if query.limit is None:
            return self.entries(query)
        newest = msgspec.structs.replace(query, newest=True)
        return reversed(list(self.entries(newest)))

    def line(self, entry: Entry) -> bytes:
        """The line of a message as it is stored; 74 where it is not there any more."""
        try:
            return self.index([entry.name]).line(entry)
        except StorageFailed:
            # Its segment was closed, perhaps, since the index was asked.
            self.refresh()
            for now in self.index([entry.name]).find(entry.id, [entry.name], COPIES):
                if now.seq == entry.seq and _place(now) != _place(entry):
                    return self.index([entry.name]).line(now)
            raise

    def brief(self, entry: Entry, wanted: bool = True) -> str | None:
        """The first line of its text, if wanted; noted where that cannot be read."""
        if not wanted:
            return None
        try:
            return first_line(self.letter(entry).msg.text, BRIEF)
        except StorageFailed as error:
            self.note(error.text)
            return None

    def letter(self, entry: Entry) -> Letter:
        """The message itself, from its line; 74 where that cannot be read any more."""
        envelope: Envelope | None
        try:
            envelope = decode_envelope(self.line(entry))
        except (ValueError, RecursionError):
            envelope = None
        msg = None if envelope is None else readable(envelope.msg)
        if envelope is None or msg is None:
            raise StorageFailed(
                f"message {entry.id} in the mailbox of {entry.name} is not readable",
                hint="its line is no message; homi inbox --raw shows it",
            )
        return Letter(entry.name, envelope, msg)

    def find(self, text: str, names: Iterable[Name] | None = None) -> list[Entry]:
        """The messages that text names, one a mailbox and origin; empty if none.

        names: the mailboxes to look in, by default all.  text is an id, or what an id
        or its last part starts with; Usage (64) with the list where that is true of
        several ids.
        """
        wanted = text.lower()
        if not wanted or not set(wanted) <= HEX:
            raise Usage(f"{show(text)} is not an id", hint="homi inbox shows the ids")
        places = None if names is None else sorted(set(names))
        limit = COPIES if ids.is_id(wanted) else LISTED + 1
        found = self.index(places).find(wanted, places, limit)
        exact = sorted({entry.id for entry in found})
        if wanted in exact:
            return [entry for entry in found if entry.id == wanted]
        if len(exact) > 1:
            more = len(exact) > LISTED
            raise Usage(
                f"{wanted} is the start of"
                f" {f'more than {LISTED}' if more else len(exact)} ids",
                hint=f"one of {', '.join(exact[:LISTED])}{', …' if more else ''}",
            )
        return found

    def need(self, text: str, own: Name | None) -> list[Entry]:
        """As find(): first in the mailbox own, then in all; NoInput (66) if nowhere."""
        first = [] if own is None else self.find(text, [own])
        found = first or self.find(text)
        if found:
            return found
        if any(starts(msg.id, text.lower()) for _, msg in self.spooled()):
            raise NoInput(
                f"{text} is in no mailbox yet: it waits in pickup/ for a daemon",
                hint="homi start takes it in",
            )
        raise NoInput(
            f"no message {text} in any mailbox here", hint="homi inbox shows the ids"
        )

    def beside(self, messages: Iterable[str]) -> set[str]:
        """What short forms of these ids could be taken for, over all mailboxes."""
        return self.index().near(messages)

    def full_id(self, text: str) -> MessageId:
        """The id that text names; a whole id need not be known here."""
        if ids.is_id(text.lower()):
            return MessageId(text.lower())
        return self.need(text, None)[0].id


def _place(entry: Entry) -> tuple[int, int]:
    """Where its line stands."""
    return entry.segment, entry.offset


def starts(message: str, wanted: str) -> bool:
    """Whether wanted is the start of an id or of its last part."""
    return message.startswith(wanted) or ids.last_part(message).startswith(wanted)
