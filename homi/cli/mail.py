"""The mail of a state root as its files tell it, with or without a daemon.

Owns which names and mailboxes there are, and which message an id on the command
line means.  Reads only.  homi-mailbox(5) has the files.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from homi import config, ids, paths
from homi.address import BUILT_IN, Name, is_name, parse_address, show
from homi.cli.output import note
from homi.envelope import Envelope, MessageId, Msg, decode_msg
from homi.errors import NoInput, StorageFailed, Usage
from homi.routing import resolve
from homi.store import pickup, reading
from homi.store.lines import Unreadable

LISTED = 10  # ambiguous ids named in one error


class Letter(NamedTuple):
    """One message in one mailbox."""

    place: Name
    envelope: Envelope
    msg: Msg


class Mail:
    """The mailboxes under one state root."""

    def __init__(self, root: Path) -> None:
        """Nothing is read yet.  A root others can reach is refused (78)."""
        if root.exists():
            paths.check_private(root)
        self.root = root

    def claimed(self) -> list[Name]:
        """The names that are claimed here, the built-in ones with them."""
        path = self.root / "names.json"
        try:
            raw = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        except FileNotFoundError:
            raw = {}
        except OSError as error:
            raise StorageFailed(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise StorageFailed(
                f"cannot read {path}: it is damaged",
                hint="homi start sets it aside and says what it held",
            ) from error
        return sorted({*BUILT_IN, *_claims(raw.get("claims"))})

    def listed(self) -> list[Name]:
        """As claimed(); where that cannot be read, the names that have a mailbox: one
        damaged file hides no mail.  Notes it."""
        try:
            return self.claimed()
        except StorageFailed as error:
            note(error.text)
            return sorted({*BUILT_IN, *self.mailboxes()})

    def mailboxes(self) -> list[Name]:
        """The names that have a mailbox on disk, claimed or not."""
        try:
            found = os.listdir(self.root / "mail")
        except FileNotFoundError:
            return []
        return sorted(Name(name) for name in found if is_name(name))

    def place(self, text: str) -> Name:
        """The mailbox to read that an address means: also one of a released name."""
        return self._resolve(text, {*self.listed(), *self.mailboxes()})

    def recipient(self, text: str) -> Name:
        """The claimed name that an address means; 67 or 68 with a hint where none."""
        return self._resolve(text, {*self.claimed()})

    def _resolve(self, text: str, known: set[Name]) -> Name:
        """The one of known that an address means."""
        _, name = resolve(
            parse_address(text),
            config.load(paths.config_file()).device_name(),
            known.__contains__,
            lambda _: False,
            known,
        )
        return name

    def load(self, name: Name) -> reading.Loaded:
        """The mailbox of name with what is pending in it, and what is unreadable."""
        return reading.load(str(self.root), name)

    def letters(self, name: Name) -> Iterator[Letter]:
        """Every readable message of a mailbox in file order, whatever its rung."""
        inbox = self.root / "mail" / name / reading.INBOX
        for _, envelope in reading.iter_inbox(inbox):
            if not isinstance(envelope, Unreadable) and (msg := _msg(envelope.msg)):
                yield Letter(name, envelope, msg)

    def spooled(self) -> Iterator[tuple[pickup.Spooled, Msg]]:
        """What waits in pickup/, oldest first; notes each file that is no message."""
        for path, found in pickup.scan(self.root):
            if isinstance(found, Unreadable):
                note(f"{path}: {found.text}")
            elif (msg := _msg(found.msg)) is None:
                note(f"{path}: no message")
            else:
                yield found, msg

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


def _msg(raw: msgspec.Raw) -> Msg | None:
    """What the sender wrote; None where it is no message."""
    try:
        return decode_msg(raw)
    except (ValueError, RecursionError):
        return None


def _claims(raw: object) -> set[Name]:
    """The names in the claims of names.json."""
    items = raw if isinstance(raw, (list, dict)) else []
    found = (item.get("name") if isinstance(item, dict) else item for item in items)
    return {Name(name) for name in found if isinstance(name, str) and is_name(name)}
