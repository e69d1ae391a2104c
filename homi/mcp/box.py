"""The caller's mailboxes as a tool shows them, from the files.

Owns what of a message is listed, and how much of a long one is shown at once.
Changes nothing.  homi-mcp(1).
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

from homi import render
from homi.address import Name
from homi.clock import SystemClock, age, parse_rfc3339
from homi.envelope import Kind
from homi.errors import NoInput, StorageFailed, Usage
from homi.legs import base
from homi.legs import render as letters
from homi.legs.listing import opening
from homi.mail import Self, ShownMail, listed
from homi.mcp.caller import Caller
from homi.mcp.result import Result, Seen
from homi.requests import CallerClass
from homi.store.index import Entry, Query

PART = 16_000  # characters of a text shown at once: a client cuts longer results


class Rows(NamedTuple):
    """What a listing shows of some mailboxes."""

    lines: list[str]
    fields: list[dict[str, Any]]


class Box:
    """The mail of one caller.  For one thread; use it in a with."""

    def __init__(self, root: Path, me: Caller) -> None:
        """What reads is an agent, whatever this process is."""
        reader = Self(CallerClass.SESSION, Name(me.name))
        self._mail = ShownMail(root, lambda _: None, me=reader)
        self._me = me

    def __enter__(self) -> "Box":
        """The box itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        self._mail.close()

    def listing(
        self, limit: int, *, every: bool = False, only: Collection[str] | None = None
    ) -> Rows:
        """The newest of the mail, oldest first; only: of these ids."""
        query = Query(
            names=self._places(),
            pending=None if every else True,
            limit=None if only else limit,
        )
        found = [
            one for one in self._mail.latest(query) if only is None or one.id in only
        ]
        return self._rows(found[-limit:])

    def pending(self) -> int:
        """How much is not finished."""
        counts = self._mail.waiting(self._places())
        return sum(count for count, _ in counts.values())

    def read(self, text: str, offset: int) -> Result:
        """One message, from a character on; 66 where it is not in these mailboxes."""
        entry = self._entry(text)
        letter = self._letter(entry)
        length = len(letter.msg.text)
        if offset >= length:
            raise Usage(f"it has {length} characters, so none at {offset}")
        end = min(length, offset + PART)
        while len(letters.quoted(letter.msg.text[offset:end])) > 2 * PART:
            end = offset + (end - offset) // 2  # much of it is shown as escapes
        shown = letters.part(letter, offset, end)
        fields = self._fields(entry, letter) | {"text": shown}
        if end < length:
            fields["offset"] = end
            shown += f"\n[go on: read {entry.id} with offset {end}]"
            return Result(shown, fields | {"text": shown})
        return Result(shown, fields, Seen(entry.name, [entry.id]))

    def question(self, text: str) -> tuple[str, bytes]:
        """The id and the bytes of a question of the caller's; 66 if there is none."""
        for entry in self._mail.find(text):
            own = entry.device is None and entry.from_ in self._me.names
            if own and entry.kind is Kind.ASK:
                return entry.id, bytes(self._mail.letter(entry).envelope.msg)
        raise NoInput(f"no question {text} of {self._me.name}'s is known here")

    def whole(self, ids: Collection[str]) -> dict[str, list[str]]:
        """The ids that these, or their starts, mean, by mailbox; 66 of one unknown."""
        found: dict[str, list[str]] = {}
        for text in ids:
            entry = self._entry(text)
            found.setdefault(entry.name, []).append(entry.id)
        return found

    def _places(self) -> tuple[Name, ...]:
        """The mailboxes that are there: of a session's own name there may be none."""
        there = set(self._mail.mailboxes())
        return tuple(Name(name) for name in self._me.names if name in there)

    def _entry(self, text: str) -> Entry:
        """The message of the caller's that text means."""
        places = self._places()
        found = self._mail.find(text, places) if places else []
        if not found:
            raise NoInput(
                f"no message {text} in the mailbox of {self._me.name}",
                hint="the tool inbox lists it",
            )
        return found[0]

    def _letter(self, entry: Entry) -> base.Letter:
        """A message as the one renderer takes it."""
        letter = self._mail.letter(entry)
        return base.Letter(
            place=letter.place,
            envelope=letter.envelope,
            msg=letter.msg,
            possible_repeat=letter.envelope.via.repeat,
            tooled=True,
        )

    def _rows(self, entries: Collection[Entry]) -> Rows:
        """Each as a line and as fields; of one that is damaged only what is known."""
        lines, fields = [], []
        ids = [one.id for one in entries]
        near = self._mail.index(self._places()).near(ids)
        shown = render.short_ids(ids, [*ids, *near])
        for entry in entries:
            try:
                letter = self._letter(entry)
            except StorageFailed as error:
                lines.append(f"{entry.id}: {error.text}")
                fields.append({"id": entry.id, "error": error.text})
                continue
            row = self._fields(entry, letter)
            row["first"] = opening(letter.msg.text)
            fields.append(row)
            lines.append(self._line(row, shown[entry.id]))
        return Rows(lines, fields)

    def _line(self, row: dict[str, Any], shown: str) -> str:
        """A row for a reader."""
        ago = age(max(0.0, SystemClock().wall() - parse_rfc3339(row["at"])))
        to = f" for {row['name']}" if len(self._me.names) > 1 else ""
        about = f" to {row['reply_to']}" if "reply_to" in row else ""
        what = f"{row['kind']}{about} from {row['from']}{to}, {ago} ago, {row['rung']}"
        return f"{shown}  {what}: {row['first']}"

    def _fields(self, entry: Entry, letter: base.Letter) -> dict[str, Any]:
        """What is known of a message, without its text."""
        known = listed(entry)
        row = {
            "id": entry.id,
            "name": entry.name,
            "from": letters.sender(letter),
            "kind": str(known.kind),
            "at": known.at,
            "rung": str(known.rung),
        }
        if known.reply_to is not None:
            row["reply_to"] = known.reply_to
        return row
