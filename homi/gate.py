"""The pure decision on a submission: admit it, or say why not.

Owns admission; asks nothing and changes nothing: every fact is an argument.
homi-protocol(7) lists the refusals.
"""

from homi.address import OWNER, POSTMASTER, is_name, show
from homi.config import QUEUE_BYTES, QUEUE_PENDING, QUOTA_BYTES, QUOTA_PENDING
from homi.envelope import AGENT_KINDS, Kind, Msg, Via
from homi.errors import BadMessage, HomiError, NotReached

HISTORY = "import"  # what comes by it was written before, by whomever
# Doors that do not speak for an agent or a person.
ROOM = "room"  # copies of what was judged when it came to the room
FREE_DOORS = frozenset({"homi", "wake", HISTORY, ROOM})
# What a postmaster sends back; there is no answer to it.
RETURNED = frozenset({Kind.BOUNCE, Kind.NOTICE})


def kind_refused(msg: Msg, door: str) -> HomiError | None:
    """Why this door may not submit this kind of message; None when it may."""
    if door in FREE_DOORS:
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


def link_refused(msg: Msg, device: str | None, *, ours: bool) -> HomiError | None:
    """Why another device may not submit this; None when it may.

    ours: what it replies to was sent from here to that device.
    """
    if device is None or not is_name(device):
        return BadMessage("the sender's device is not told", reason="policy")
    if not is_name(msg.from_):
        return BadMessage(f"{show(msg.from_)} is not a name", reason="policy")
    if msg.kind in RETURNED or (msg.auto and msg.kind is Kind.REPLY):
        if ours:
            return None
        return BadMessage(
            f"a {msg.kind} from {device} about no message that was sent to it",
            reason="policy",
        )
    if msg.kind not in AGENT_KINDS or msg.auto:
        return kind_refused(msg, "")
    if msg.from_ == POSTMASTER:
        # What looks like word from the system itself, and is about nothing.
        text = f"a {msg.kind} from the postmaster of {device}: it writes notices only"
        return BadMessage(text, reason="policy")
    return None


def room_refused(msg: Msg, via: Via) -> HomiError | None:
    """Why a room does not take this; None when it does."""
    if via.room is not None:
        return BadMessage(
            "it comes from a room, and a room is no member of another",
            hint=f"homi room leave {via.room}",
            reason="loop",
        )
    if msg.kind is Kind.ASK:
        return BadMessage(
            "a question needs one who answers, a room has many",
            hint="homi send it, or homi ask NAME,NAME --gather 1",
            reason="policy",
        )
    return None


def answerer(to: str, needs: str | None) -> str:
    """Who answers a question to that address: what needs a person is the owner's on
    whichever device, and no agent's it was sent to."""
    _, at, device = to.partition("@")
    return f"{OWNER}@{device}" if at and needs else to


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
    pending: int,
    pending_bytes: int,
    length: int,
    free: int,
    reserve: int,
    device: str | None = None,
) -> HomiError | None:
    """Why a mailbox with so much pending takes no more on so full a disk; or the out
    queue for device."""
    if device is not None:
        full = _queue_full(pending, pending_bytes + length, device)
        if full is not None:
            return full
    elif pending >= QUOTA_PENDING:
        return NotReached(
            f"the mailbox holds {pending} pending envelopes, the limit is"
            f" {QUOTA_PENDING}",
            hint="its owner must read or ack some (homi queue)",
            reason="quota",
        )
    elif pending_bytes + length > QUOTA_BYTES:
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


def over_quota(pending: int, size: int) -> bool:
    """Whether that is more than one name may have."""
    return pending >= QUOTA_PENDING or size > QUOTA_BYTES


def no_room_aside(pending: int, size: int, to: str) -> HomiError | None:
    """Why no more may wait for what is older than it."""
    if not over_quota(pending, size):
        return None
    what, limit = f"{pending} messages", f"{QUOTA_PENDING}"
    if pending < QUOTA_PENDING:
        what, limit = f"{size} bytes", f"{QUOTA_BYTES}"
    name = to.partition("@")[0]
    return NotReached(
        f"{what} for {name} wait for older mail of it, the limit is {limit}",
        hint="homi ls says what for",
        reason="quota",
    )


def _queue_full(pending: int, size: int, device: str) -> HomiError | None:
    """Why an out queue with so much pending takes no more."""
    if pending < QUEUE_PENDING and size <= QUEUE_BYTES:
        return None
    what, limit = f"{pending + 1} messages", f"{QUEUE_PENDING}"
    if pending < QUEUE_PENDING:
        what, limit = f"{size} bytes", f"{QUEUE_BYTES}"
    return NotReached(
        f"the queue for the device {device} would hold {what}, the limit is {limit}",
        hint=f"homi link check {device}, homi queue @{device}",
        reason="quota",
    )
