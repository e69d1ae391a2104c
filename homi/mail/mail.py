"""The messages of a state root as its files tell them, with or without a daemon.

Owns which message an id, or the start of one, means.  Reads only.
homi-mailbox(5) has the files.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from homi import ids
from homi.address import Name, show
from homi.envelope import Envelope, MessageId, Msg
from homi.errors import NoInput, Usage
from homi.mail.places import Places, readable
from homi.store import reading
from homi.store.lines import Unreadable

LISTED = 10  # ambiguous ids named in one error


class Letter(NamedTuple):
    """One message in one mailbox."""

    place: Name
    envelope: Envelope
    msg: Msg


class Mail(Places):
    """The mailboxes under one state root, and what is in them."""

    def load(self, name: Name) -> reading.Loaded:
        """The mailbox of name with what is pending in it, and what is unreadable."""
        return reading.load(str(self.root), name)

    def letters(self, name: Name) -> Iterator[Letter]:
        """Every readable message of a mailbox in file order, whatever its rung."""
        inbox = self.root / "mail" / name / reading.INBOX
        for _, envelope in reading.iter_inbox(inbox):
            if not isinstance(envelope, Unreadable) and (msg := readable(envelope.msg)):
                yield Letter(name, envelope, msg)

    def find(self, text: str, names: Iterable[Name]) -> list[Letter]:
        """The messages that text names, one a mailbox and origin; empty if none.

        text is an id, or what an id or its last part starts with; Usage (64) with
        the list where that is true of several ids.
        """
        wanted = text.lower()
        if not wanted or not set(wanted) <= set("0123456789abcdef-"):
            raise Usage(f"{show(text)} is not an id", hint="homi inbox shows the ids")
        found = [
            letter
            for name in names
            for letter in self.letters(name)
            if starts(letter.msg.id, wanted)
        ]
        exact = sorted({letter.msg.id for letter in found})
        if wanted in exact:
            return [letter for letter in found if letter.msg.id == wanted]
        if len(exact) > 1:
            more = f" and {len(exact) - LISTED} more" if len(exact) > LISTED else ""
            raise Usage(
                f"{wanted} is the start of {len(exact)} ids",
                hint=f"one of {', '.join(exact[:LISTED])}{more}",
            )
        return found

    def need(self, text: str, own: Name | None) -> list[Letter]:
        """As find(): first in the mailbox own, then in all; NoInput (66) if nowhere."""
        first = [] if own is None else self.find(text, [own])
        found = first or self.find(text, self.mailboxes())
        if found:
            return found
        if any(starts(msg.id, text.lower()) for _, msg in self.spooled()):
            raise NoInput(
                f"{text} is in no mailbox yet: it waits in pickup/ for a daemon",
                hint="homi start takes it in",
            )
        raise NoInput(
            f"no message {text} in any mailbox here", hint="homi queue lists them"
        )

    def full_id(self, text: str) -> MessageId:
        """The id that text names; a whole id need not be known here."""
        if ids.is_id(text.lower()):
            return MessageId(text.lower())
        return self.need(text, None)[0].msg.id


def starts(message: str, wanted: str) -> bool:
    """Whether wanted is the start of an id or of its last part."""
    return message.startswith(wanted) or message.rpartition("-")[2].startswith(wanted)
