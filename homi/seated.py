"""What is told of seats: on the control socket and by `homi seat`.

Owns the fields, which only grow.  homi-seat(1) explains each.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from homi.address import Name
from homi.clock import rfc3339
from homi.seats.menu import Menu
from homi.seats.server import Look, Seat, Server, client
from homi.seats.tmux import NoPane


class SeatRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One seat, as it is now."""

    seat: str
    pane: str  # %N
    pid: int
    ref: str  # id, pid and start time: a reused id is another seat
    state: str
    client: str = ""  # claude | codex | shell | ""
    draft: bool = False
    copy_mode: bool = False
    command: str = ""  # the program in the foreground
    title: str = ""
    cwd: str = ""
    columns: int = 0
    rows: int = 0
    at: str = ""  # RFC 3339: when it was opened
    by: list[str] = []  # who spawned it, then who spawned that one's seat
    names: list[str] = []  # whose mail is typed into it
    ended: str = ""  # the exit status of its program
    device: str = ""  # where it is; empty: here


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a dialog in a seat asks."""

    kind: str
    about: list[str]
    options: list[str]
    highlighted: int  # from 0
    complete: bool  # else it is never answered
    lasting: list[int] = []  # the options that hold for longer: never chosen


class SeatState(msgspec.Struct, frozen=True, omit_defaults=True):
    """A seat and what its screen asks."""

    row: SeatRow
    asked: Asked | None = None


class SeatDone(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was done with a seat."""

    seat: str
    did: str  # sent | interrupted | answered | killed | bound | unbound
    before: str = ""  # its state
    state: str = ""  # a moment later
    gone: bool = False  # of what was sent: the line is empty again
    draft: bool = False  # of an interruption: text stands in the line afterwards
    option: str = ""  # of an answer: what was chosen
    name: str = ""  # of a binding


class SeatAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What another device asks of the seats here: the question seat of a link."""

    do: Literal["ls", "read", "state", "send", "respond", "interrupt"]
    seat: str = ""
    text: str = ""  # to type
    option: str = ""  # to choose
    lines: int = 0  # above the screen


class SeatSaid(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a device says of its seats: one of these."""

    rows: list[SeatRow] = []
    lines: list[str] = []  # of a screen, secrets masked
    state: SeatState | None = None
    done: SeatDone | None = None


def listed(server: Server, bound: Mapping[str, list[Name]]) -> list[SeatRow]:
    """Every seat as it is now; one that ends meanwhile is dead.  bound: whose mail is
    typed into which, by its ref."""
    found = []
    for each in server.seats():
        try:
            found.append(row(server.look(each), bound.get(each.ref, [])))
        except NoPane:
            found.append(gone(each))
    return found


def row(look: Look, names: list[Name]) -> SeatRow:
    """A seat that was looked at."""
    seat, view = look.seat, look.view
    pane = seat.pane
    return SeatRow(
        seat=seat.name,
        pane=pane.id,
        pid=pane.pid,
        ref=seat.ref,
        state=view.state,
        client=client(seat),
        draft=view.draft,
        copy_mode=pane.copy_mode,
        command=pane.command,
        title=pane.title,
        cwd=pane.cwd,
        columns=pane.width,
        rows=pane.height,
        at=rfc3339(seat.at) if seat.at else "",
        by=seat.by,
        names=[str(name) for name in names],
        ended=seat.ended,
    )


def gone(seat: Seat) -> SeatRow:
    """A seat that ended while it was looked for."""
    return SeatRow(
        seat=seat.name, pane=seat.pane.id, pid=seat.pane.pid, ref=seat.ref, state="dead"
    )


def asked(menu: Menu | None) -> Asked | None:
    """What is asked, with what is never chosen of it."""
    if menu is None:
        return None
    return Asked(
        kind=menu.kind,
        about=menu.about,
        options=menu.options,
        highlighted=menu.highlighted,
        complete=menu.complete,
        lasting=[n for n in range(len(menu.options)) if menu.lasting(n)],
    )
