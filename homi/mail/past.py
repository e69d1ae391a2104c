"""A message with what became of it, as it leaves a mailbox and enters another.

Owns the exported line: what of a message outlives its mailbox.  Its fields are those
of the JSON form in homi-queue(1).
"""

import re
from typing import Any

import msgspec

from homi import ids
from homi.address import fold, is_name
from homi.envelope import Envelope, Msg, Reason, Rung, Was, encode
from homi.errors import BadMessage
from homi.requests import Past
from homi.store.index import Entry

VERSION = 1
_QUOTED = re.compile(r"'.*'", re.DOTALL)


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """One message.  What an import adds or loses is not among it, so that a second
    export says the same."""

    v: int = VERSION
    at: str  # RFC 3339: when it was stored
    to: str = ""  # the mailbox it was stored in
    from_: str = msgspec.field(name="from", default="")  # of a writer without a name
    rung: Rung | None = None  # none: finished, unless the import says otherwise
    reason: Reason | None = None
    changed: str = ""  # RFC 3339: when that rung was reached
    via: dict[str, Any] | None = None  # its postmark there
    msg: msgspec.Raw


_decode = msgspec.json.Decoder(Exported).decode
_decode_msg = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def exported(entry: Entry, envelope: Envelope) -> Exported:
    """The message of an entry; an imported one as it was told, while nothing has
    become of it here."""
    was = envelope.via.was
    if was is None:
        via: dict[str, Any] | None = msgspec.to_builtins(envelope.via)
        was = Was(at=envelope.at, to=envelope.to, via=via)
    untouched = (
        envelope.via.was is not None
        and entry.changed == entry.at
        and entry.rung in (Rung.STORED, was.rung)
    )
    return Exported(
        at=was.at,
        to=was.to,
        from_=was.from_,
        rung=was.rung if untouched else entry.rung,
        reason=was.reason if untouched else entry.reason,
        changed=was.changed if untouched else entry.changed,
        via=was.via,
        msg=envelope.msg,
    )


def replaced(of: Exported, via: dict[str, Any]) -> Exported:
    """The same with another postmark."""
    return msgspec.structs.replace(of, via=via)


def line(of: Exported) -> bytes:
    """The exported line, line feed included."""
    return encode(of) + b"\n"


def read_line(raw: bytes, *, pending: bool) -> Past:
    """The message of an exported line; BadMessage (65) where there is none.

    pending: one without a rung is pending, else it is finished.
    """
    try:
        raw.isascii() or raw.decode()
        found = _decode(raw)
    except (ValueError, RecursionError) as error:
        text = _QUOTED.sub("'…'", str(error)).splitlines() or ["no object"]
        raise BadMessage(f"no exported message: {text[0][:200]}") from error
    if found.v != VERSION:
        raise BadMessage(f"version {found.v}; this homi reads version {VERSION}")
    was = Was(
        at=found.at,
        to=found.to,
        from_=found.from_,
        rung=found.rung or (Rung.STORED if pending else Rung.SEEN),
        reason=found.reason,
        changed=found.changed,
        via=found.via,
    )
    return _named(found.msg, was)


def composed(msg: Msg, was: Was) -> Past:
    """A message made of what another program wrote."""
    return Past(msg=msgspec.Raw(encode(msg)), was=was)


def name_of(address: str) -> str:
    """The name that a writer elsewhere has here: its address, folded."""
    return fold(address.replace("@", "-")) or "unknown"


def id_of(text: str) -> str:
    """The id of a message elsewhere: the same each time it is read."""
    return text if ids.is_id(text) else ids.derived("import", text)


def _named(msg: msgspec.Raw, was: Was) -> Past:
    """The message, its writer's name within the grammar; its bytes stay if they can."""
    try:
        fields = _decode_msg(msg)
        sender = msgspec.json.decode(fields.get("from", b'""'), type=str)
    except (ValueError, RecursionError):
        return Past(msg=msg, was=was)  # the gate says what is wrong with it
    if is_name(sender):
        return Past(msg=msg, was=was)
    fields["from"] = msgspec.Raw(encode(name_of(sender)))
    was = msgspec.structs.replace(was, from_=sender)
    return Past(msg=msgspec.Raw(encode(fields)), was=was)
