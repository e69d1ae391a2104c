"""What a classifier says of a screen.

Owns the words; homi-seat(1) explains each.
"""

from enum import StrEnum

import msgspec

from homi.seats.menu import Menu


class State(StrEnum):
    """What the client in a pane is doing."""

    DEAD = "dead"  # its program has ended
    APPROVAL = "approval"  # a person must answer a dialog before it goes on
    BUSY = "busy"  # a turn, or a foreground command, runs
    BOOTING = "booting"  # it was started and cannot take a line yet
    IDLE = "idle"  # it would take a line now
    UNKNOWN = "unknown"  # none of these by the rules: a picker, an editor, a pager


class View(msgspec.Struct, frozen=True, kw_only=True):
    """One screen, judged."""

    state: State
    draft: bool = False  # text that was typed and not sent
    hidden: bool = False  # a dialog covers the line where a draft would be
    menu: Menu | None = None
    composer: int = -1  # the first row of what is typed; -1: it is not on the screen
    entered: str = ""  # what stands there, as one line
