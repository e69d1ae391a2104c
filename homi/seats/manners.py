"""When a seat may be typed into, and what: pure.

Owns the reasons to leave a seat alone, and what of a text a terminal would act on.
homi-seat(1) lists the reasons.
"""

import re
from enum import StrEnum

from homi.errors import BadMessage, NotReached
from homi.seats.server import Look
from homi.seats.view import State

HANDS_OFF = 5.0  # s after a person's last key: whoever types is about to go on
PASTE_END = "\x1b[201~"
# What a terminal, or the line editor of a program, would act on; not tab, not newline.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_EACH = re.compile(r"\r\n?|[\x85\u2028\u2029]")


class Why(StrEnum):
    """Why nothing is typed into a seat."""

    DEAD = "dead"  # its program has ended
    COPY_MODE = "copy-mode"  # keys would go to tmux
    APPROVAL = "approval"  # a dialog would take them for its answer
    TYPING = "typing"  # a person pressed a key there a moment ago
    DRAFT = "draft"  # a half-typed line would be sent along
    BUSY = "busy"
    BOOTING = "booting"
    UNKNOWN = "unknown"  # nobody can say who would take the keys
    UNVERIFIED = "unverified"  # what was pasted does not stand there as it was


class HeldBack(NotReached):
    """Nothing was sent from a seat; reason says why (75)."""


def against(look: Look, now: float) -> Why | None:
    """Why the seat must not be typed into at that moment (wall seconds)."""
    view = look.view
    if view.state is State.DEAD:
        return Why.DEAD
    if look.seat.pane.copy_mode:
        return Why.COPY_MODE
    if view.state is State.APPROVAL:
        return Why.APPROVAL
    if now - look.typed < HANDS_OFF:
        return Why.TYPING
    if view.draft:
        return Why.DRAFT
    if view.state is State.IDLE and view.composer >= 0:
        return None
    return {State.BUSY: Why.BUSY, State.BOOTING: Why.BOOTING}.get(
        view.state, Why.UNKNOWN
    )


def held_back(name: str, why: Why) -> HeldBack:
    """The refusal for a person."""
    what, hint = _WORDS[why]
    text = f"nothing was sent to seat {name}: {what}"
    return HeldBack(text, hint=hint.format(name), reason=why)


def typeable(text: str, *, several: bool) -> str:
    """The text as it is pasted: without what a terminal acts on.

    BadMessage (65) for an empty one, for one that holds the end of a paste, and for
    several lines where each would be taken for a command.
    """
    if PASTE_END in text or "\x9b201~" in text:
        raise BadMessage(
            "the text holds the end of a paste, what follows would be keys"
        )
    clean = _CONTROLS.sub("", _EACH.sub("\n", text)).strip("\n")
    if not clean.strip():
        raise BadMessage("there is nothing to type")
    if "\n" in clean and not several:
        raise BadMessage(
            "several lines for a shell: it would run each of them",
            hint="several lines go to an agent client only",
        )
    return clean


_WORDS = {
    Why.DEAD: ("its program has ended", "homi seat kill {}, then spawn another"),
    Why.COPY_MODE: ("it is in copy mode", "q ends copy mode in its terminal"),
    Why.APPROVAL: ("it asks for an approval", "homi seat state {} shows what"),
    Why.TYPING: ("a person types there", "try again in some seconds"),
    Why.DRAFT: ("a half-typed line stands there", "send or clear it in its terminal"),
    Why.BUSY: ("it is busy", "homi seat wait {}"),
    Why.BOOTING: ("it is starting", "homi seat wait {}"),
    Why.UNKNOWN: ("its screen is none homi knows", "homi seat read {} shows it"),
    Why.UNVERIFIED: (
        "what was pasted does not stand there as it was, Enter was not pressed",
        "homi seat read {} shows what stands there",
    ),
}
