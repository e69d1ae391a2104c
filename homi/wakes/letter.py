"""The envelope of one firing: its id, its text, its postmark.

Owns the form of the facts below the text, which are others' words and are shown one a
line; pure.  homi-wake(1) shows the form.
"""

from homi import ids
from homi.clock import age, rfc3339, span
from homi.envelope import Kind, MessageId, Msg, Via
from homi.submission import Stamp
from homi.visible import visible
from homi.wakes.progress import Firing
from homi.wakes.state import SESSION, Wake

TAG = "wake"
FACT_MAX = 500  # characters of one fact
DOOR = "wake"


def message_id(wake: Wake, slot: str) -> MessageId:
    """The one id of a slot of a wake, however often it is tried."""
    return MessageId(ids.derived(TAG, wake.id, slot))


def letter(wake: Wake, firing: Firing, *, plain: bool) -> Msg:
    """What is sent.  plain: as ordinary mail, since only a mailbox of this device
    takes more from us."""
    return Msg(
        id=message_id(wake, firing.slot),
        from_=wake.from_,
        to=wake.to,
        text="\n".join([wake.text, "", *_facts(wake, firing)]),
        kind=Kind.MAIL if plain else Kind.WAKE,
        tags=[TAG],
    )


def stamp(wake: Wake) -> Stamp:
    """Who had it sent, as it was measured when the wake was made."""
    verified = wake.by != "service"
    made = Stamp(Via(door=DOOR, uid=wake.uid, verified=verified))
    # What an agent set up for itself is under the person's policy like its mail.
    made.free = wake.by != SESSION
    # A name that is gone must not fill the quarantine at each slot.
    made.set_aside = True
    return made


def described(wake: Wake) -> str:
    """The trigger in a few words, as its options have it."""
    trigger = wake.trigger
    option = {"file": "on-file", "pr": "on-pr", "exit": "on-exit"}
    words = f"{option.get(trigger.kind, trigger.kind)} {visible(trigger.value)}"
    if trigger.kind == "every":
        words = f"every {_span(trigger.value)}"
    return f"{words} {trigger.zone}" if trigger.zone else words


def _span(value: str) -> str:
    """Seconds in the largest unit that says the same."""
    try:
        short = age(float(value))
        return short if span(short) == float(value) else f"{value}s"
    except (ValueError, OverflowError):
        return visible(value)


def _facts(wake: Wake, firing: Firing) -> list[str]:
    """A line each."""
    found = [("wake", ids.last_part(wake.id)), ("trigger", described(wake))]
    if firing.at:
        found.append(("slot", rfc3339(firing.at)))
    if firing.missed:
        found.append(("missed", str(firing.missed)))
    found += firing.facts
    return [f"{name}: {_short(value)}" for name, value in found]


def _short(text: str) -> str:
    """One line, not too long, in which nothing acts."""
    text = visible(text)
    return text if len(text) <= FACT_MAX else text[: FACT_MAX - 1] + "…"
