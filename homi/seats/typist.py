"""Typing into a seat as a careful person would: look, paste, look again, Enter.

Owns the order of these steps.  Blocking: a thread of its own runs it.  homi-seat(1)
has the rules.
"""

import re
import secrets
import time

import msgspec

from homi.seats.manners import HeldBack, Why, against, held_back, typeable
from homi.seats.menu import Menu
from homi.seats.server import Look, Seat, Server, client
from homi.seats.states import CLAUDE, CODEX
from homi.seats.view import State, View

SHOWS = 4.0  # s a client may take to draw what was pasted, and what Enter did
STEP = 0.05  # s between two looks
_FOLDED = re.compile(r"\[Pasted (text|Content)\b[^\]]*\]")  # a client's stand-in
_SURE = 24  # characters that show where a client shows a part of a long text only


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a text: it stood there whole, and Enter was pressed."""

    seat: str
    state: str  # a moment later
    gone: bool  # whether the line is empty again: the client took it


class Typist:
    """The hands on the seats of one server."""

    def __init__(self, server: Server, shows: float = SHOWS) -> None:
        """Nothing is kept between two texts.  shows: s until what is drawn counts."""
        self._server = server
        self._shows = shows

    def send(self, seat: Seat, text: str) -> Sent:
        """Type text and press Enter once.  HeldBack (75) by its reason, and then no
        Enter was pressed; what was pasted and cannot be told stays where it is."""
        with self._server.hands():
            for _ in range(2):  # one look may fall between two keys of a person
                look = self._server.look(seat)
                if (why := against(look, time.time())) is not None:
                    raise held_back(seat.name, why)
                time.sleep(STEP)
            words = typeable(text, several=client(look.seat) in (CLAUDE, CODEX))
            self._paste(seat, words)
            self._check(seat, words)
            self._press(seat, "Enter")
            return self._sent(seat)

    def _paste(self, seat: Seat, words: str) -> None:
        """Put words into the seat by a buffer, as one paste."""
        buffer = f"homi-{secrets.token_hex(8)}"
        self._server.tmux.ask(("load-buffer", "-b", buffer, "-"), given=words)
        paste = ("paste-buffer", "-p", "-d", "-b", buffer, "-t", seat.pane.id)
        if not self._server.guarded(seat, paste):
            self._server.tmux.ask(("delete-buffer", "-b", buffer))
            raise self._late(seat)

    def _check(self, seat: Seat, words: str) -> None:
        """Return when words stand in the line, and nothing else does."""
        deadline = time.monotonic() + self._shows
        while True:
            look = self._server.look(seat)
            if look.seat.pane.copy_mode:
                raise held_back(seat.name, Why.COPY_MODE)
            if look.view.state is State.APPROVAL:
                raise held_back(seat.name, Why.APPROVAL)
            if stands(words, look.view.entered):
                return
            if time.monotonic() > deadline:
                raise held_back(seat.name, Why.UNVERIFIED)
            time.sleep(STEP)

    def _sent(self, seat: Seat) -> Sent:
        """What the seat shows once it took the line, or did not in time."""
        deadline = time.monotonic() + self._shows
        while True:
            look = self._server.look(seat)
            gone = not look.view.draft
            if gone or time.monotonic() > deadline:
                return Sent(seat=seat.name, state=look.view.state, gone=gone)
            time.sleep(STEP)

    def _late(self, seat: Seat) -> HeldBack:
        """Why the seat is not what it was a moment ago."""
        look = self._server.look(seat)
        return held_back(seat.name, against(look, time.time()) or Why.UNKNOWN)

    def interrupt(self, seat: Seat) -> tuple[View, View]:
        """Press Escape once; the seat before and after.  HeldBack (75) where that
        key would be for somebody else than a turn."""
        before = self._server.look(seat)
        refused = {
            State.DEAD: Why.DEAD,
            State.APPROVAL: Why.APPROVAL,
            State.BOOTING: Why.BOOTING,
        }
        why = refused.get(before.view.state)
        if before.seat.pane.copy_mode:
            why = Why.COPY_MODE
        if why is not None:
            raise held_back(seat.name, why)
        with self._server.hands():
            self._press(seat, "Escape")
            after = self._settled(seat, before)
        return before.view, after.view

    def _settled(self, seat: Seat, before: Look) -> Look:
        """The seat once it shows another state than before, or after a while."""
        deadline = time.monotonic() + self._shows
        while True:
            look = self._server.look(seat)
            changed = look.view.state is not before.view.state
            idle = before.view.state is State.IDLE
            if changed or idle or time.monotonic() > deadline:
                return look
            time.sleep(STEP)

    def respond(self, seat: Seat, index: int, asked: Menu) -> State:
        """Choose that option of the menu that is asked: step by step, each seen, then
        Enter.  HeldBack (75) where the screen is another meanwhile."""
        with self._server.hands():
            for _ in range(2 * len(asked.options)):
                marked = self._same(seat, asked).highlighted
                if marked == index:
                    break
                self._press(seat, "Down" if marked < index else "Up")
                self._moved(seat, asked, marked)
            before = self._server.look(seat)
            if self._same(seat, asked).highlighted != index:
                raise held_back(seat.name, Why.UNKNOWN)
            self._press(seat, "Enter")
            return self._settled(seat, before).view.state

    def _press(self, seat: Seat, key: str) -> None:
        """Press one key, if the seat is still that one and no mode takes the key."""
        if not self._server.guarded(seat, ("send-keys", "-t", seat.pane.id, key)):
            raise self._late(seat)

    def _same(self, seat: Seat, asked: Menu) -> Menu:
        """The menu as it stands now, if it is still that one."""
        look = self._server.look(seat)
        menu = look.view.menu
        if look.seat.pane.copy_mode:
            raise held_back(seat.name, Why.COPY_MODE)
        if menu is None or not alike(menu, asked):
            raise held_back(seat.name, Why.UNKNOWN)
        return menu

    def _moved(self, seat: Seat, asked: Menu, was: int) -> None:
        """Wait until another option is highlighted."""
        deadline = time.monotonic() + self._shows
        while self._same(seat, asked).highlighted == was:
            if time.monotonic() > deadline:
                raise held_back(seat.name, Why.UNKNOWN)
            time.sleep(STEP)


def alike(menu: Menu, other: Menu) -> bool:
    """Whether both are the same question with the same options."""
    same = (menu.kind, menu.about, menu.options)
    return menu.complete and same == (other.kind, other.about, other.options)


def stands(words: str, entered: str) -> bool:
    """Whether what a line shows is words and nothing else: rows are wrapped and blanks
    at their ends lost, and of a long text a client may show a part."""
    want, have = "".join(words.split()), "".join(entered.split())
    if have == want or _FOLDED.fullmatch(entered):
        return True
    return len(have) >= _SURE and len(want) > len(have) and have in want
