"""Who is told of a started agent that asks something, and how often."""

import asyncio

from homi.address import Name
from homi.spawn.dialogs import Dialogs
from homi.spawn.programs import Stand
from homi.spawn.state import Run
from tests.unit.spawn.conftest import Play
from tests.unit.spawn.kit import ADA, Nursery, inline


class Seats:
    """A seat in memory: what its screen shows, and whether somebody sees that."""

    def __init__(self) -> None:
        self.stand: Stand | None = Stand("ada", asks=False, attended=False)

    def look(self, run: Run) -> Stand | None:
        return self.stand


class Scene:
    """ada was started, and a person is told."""

    def __init__(self, nursery: Nursery) -> None:
        self.nursery, self.seats = nursery, Seats()
        self.told: list[tuple[Name, str]] = []
        nursery.order()
        told = self.told

        def tell(name: Name, seat: str) -> None:
            told.append((name, seat))

        parts = (nursery.spawns, nursery.sessions, self.seats, tell)
        self.dialogs = Dialogs(*parts, inline)
        self.dialogs.start(asyncio.get_running_loop())

    def shows(self, *, asks: bool, attended: bool = False) -> None:
        """Let the screen be so, and be looked at."""
        self.seats.stand = Stand("ada", asks, attended)
        self.dialogs.sweep()

    def status(self, status: str) -> None:
        """Let the session's own record say so."""
        self.nursery.stands(self.nursery.run, status)


def test_a_screen_that_asks_is_told_once_until_it_is_answered(play: Play) -> None:
    async def scene(nursery: Nursery) -> None:
        it = Scene(nursery)
        it.shows(asks=False)
        assert it.told == []
        it.shows(asks=True)
        it.shows(asks=True)
        assert it.told == [(ADA, "ada")]
        it.shows(asks=False)
        it.shows(asks=True)
        assert len(it.told) == 2

    play(scene)


def test_whoever_sits_before_it_is_told_nothing_until_they_leave(play: Play) -> None:
    async def scene(nursery: Nursery) -> None:
        it = Scene(nursery)
        it.shows(asks=True, attended=True)
        assert it.told == []
        it.shows(asks=True)
        assert len(it.told) == 1

    play(scene)


def test_a_record_is_believed_before_a_screen(play: Play) -> None:
    """It is told at once, and once; at work nothing on a screen is a dialog."""

    async def scene(nursery: Nursery) -> None:
        it = Scene(nursery)
        it.status("busy")
        it.shows(asks=True)
        assert it.told == []
        it.seats.stand = Stand("ada", asks=False, attended=False)
        it.status("waiting")
        it.dialogs.sweep()
        assert it.told == [(ADA, "ada")]
        it.status("busy")
        it.status("waiting")
        assert len(it.told) == 2

    play(scene)


def test_a_dialog_that_mail_waits_for_is_told_once_whoever_tells_it(
    play: Play,
) -> None:
    """By the screen or by the mail, the first of both; of another seat, not here."""

    async def scene(nursery: Nursery) -> None:
        it = Scene(nursery)
        ref = nursery.run.seat
        it.shows(asks=True)
        assert it.dialogs.held(ADA, ref)
        assert it.told == [(ADA, "ada")]
        it.shows(asks=False)
        it.seats.stand = Stand("ada-seat2", asks=True, attended=True)
        assert it.dialogs.held(ADA, ref)
        it.shows(asks=True)
        assert it.told[1:] == [(ADA, "ada-seat2")]
        assert not it.dialogs.held(ADA, "%99.1")
        assert not it.dialogs.held(Name("bob"), ref)
        assert len(it.told) == 2

    play(scene)


def test_nothing_is_told_of_a_seat_that_is_gone_or_by_a_daemon_that_ends(
    play: Play,
) -> None:
    async def scene(nursery: Nursery) -> None:
        it = Scene(nursery)
        it.seats.stand = None
        it.dialogs.sweep()
        it.dialogs.stop()
        it.shows(asks=True)
        it.status("waiting")
        assert it.told == []

    play(scene)
