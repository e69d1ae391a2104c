"""The pure decision on a submission: admit it, or say why not.

Owns admission; asks nothing and changes nothing: every fact is an argument.
homi-protocol(7) lists the refusals.
"""

from homi.config import QUOTA_BYTES, QUOTA_PENDING
from homi.envelope import AGENT_KINDS, Msg
from homi.errors import BadMessage, HomiError, NotReached, StorageFailed

# Doors that speak for a postmaster, not for an agent or a person.
POSTMASTER_DOORS = frozenset({"homi", "wake"})
# What comes by it was written before, by whomever.
HISTORY = "import"


def kind_refused(msg: Msg, door: str) -> HomiError | None:
    """Why this door may not submit this kind of message; None when it may."""
    if door in POSTMASTER_DOORS or door == HISTORY:
        return None
    if msg.kind not in AGENT_KINDS:
        return BadMessage(
            f"a message of kind {msg.kind} is minted by a postmaster only",
            hint="send mail, ask or reply",
            reason="policy",
        )
    if msg.auto:
        return BadMessage("auto is set by a postmaster only", reason="policy")
    return None


def too_long(length: int, limit: int) -> HomiError | None:
    """Why a line of so many bytes cannot be committed at all."""
    if length <= limit:
        return None
    return BadMessage(
        f"the message makes a line of {length} bytes, the ring takes {limit}",
        hint="send less, or set a larger ring in homi.toml",
        reason="too-large",
    )


def no_room(
    pending: int, pending_bytes: int, length: int, free: int, reserve: int
) -> HomiError | None:
    """Why a mailbox with so much pending takes no more on so full a disk."""
    if pending >= QUOTA_PENDING:
        return NotReached(
            f"the mailbox holds {pending} pending envelopes, the limit is"
            f" {QUOTA_PENDING}",
            hint="its owner must read or ack some (homi queue)",
            reason="quota",
        )
    if pending_bytes + length > QUOTA_BYTES:
        return NotReached(
            f"the mailbox holds {pending_bytes} pending bytes, the limit is"
            f" {QUOTA_BYTES}",
            hint="its owner must read or ack some (homi queue)",
            reason="quota",
        )
    if free < reserve + length:
        return NotReached(
            f"{free >> 20} MiB of disk are free, the reserve is {reserve >> 20} MiB",
            hint="free some disk space; nothing stored is lost",
            reason="quota",
        )
    return None


def store_closed(why: str) -> HomiError:
    """The refusal while the store takes nothing after a failed sync or write."""
    return StorageFailed(
        f"not known to be stored: {why}",
        hint="send it again with the same id; a repeat is recognised",
        reason="disk",
    )
