"""Who may have a blob moved, on the end that grants and on the one that dials."""

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from homi.address import Device
from homi.errors import HomiError, NoInput, NotAllowed, NotReached, Usage
from homi.links.answering import Asker
from homi.links.bulk import AT_ONCE, GRANTED, Asked, Bulk
from homi.store.blobs import MOST, Blobs
from homi.store.disk import RealDisk
from tests.unit.links.kit import Pair

LAPTOP, MINI = Device("laptop"), Device("mini")
HERE = hashlib.sha256(b"here").hexdigest()
AWAY = hashlib.sha256(b"away").hexdigest()
ROOM = 1_000_000


class World:
    """mini, which laptop dialled; or, dials, laptop itself."""

    def __init__(self, root: Path, *, dials: bool = False) -> None:
        (root / "blobs").mkdir(mode=0o700)
        (root / "blobs" / HERE).write_bytes(b"here")
        self.pair = Pair()
        end = self.pair.laptop if dials else self.pair.mini
        self.peer = MINI if dials else LAPTOP
        self.link = SimpleNamespace(up=end.exchange, connection=None, state="up")
        self.bulk = Bulk(Blobs(str(root), RealDisk()), str(root), self._link, self.room)

    def room(self) -> int:
        return ROOM

    def _link(self, device: Device) -> Any:  # noqa: ANN401 - the part of a link
        return self.link if device == self.peer else None

    def ask(self, **fields: object) -> Any:  # noqa: ANN401 - an answer
        """What the peer is answered; None: nothing yet."""
        answers: list[object] = []
        line = msgspec.json.encode(fields)
        try:
            self.bulk.asked(Asker(self.peer, "key"), line, answers.append)
        except HomiError as error:
            return error
        return answers[0] if answers else None


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., None]:
    """Run a scenario on mini."""

    def runner(scenario: Callable[[World], None], *, dials: bool = False) -> None:
        async def main() -> None:
            scenario(World(tmp_path, dials=dials))

        asyncio.run(main())

    return runner


def test_a_grant_is_for_one_blob_one_way_one_device_and_once(
    run: Callable[..., None],
) -> None:
    def scenario(world: World) -> None:
        up = world.ask(way="up", sha256=AWAY, size=70)
        down = world.ask(way="down", sha256=HERE)
        assert (up.size, down.size) == (70, 4)
        with pytest.raises(NotAllowed, match="no such grant"):
            world.bulk.redeem("max", up.token)
        # The try of another has used it up.
        with pytest.raises(NotAllowed):
            world.bulk.redeem(LAPTOP, up.token)
        found = world.bulk.redeem(LAPTOP, down.token)
        assert (found.way, found.sha256, found.most) == ("down", HERE, 4)
        with pytest.raises(NotAllowed):
            world.bulk.redeem(LAPTOP, down.token)

    run(scenario)


def test_what_is_here_is_not_taken_and_what_is_not_is_not_given(
    run: Callable[..., None],
) -> None:
    def scenario(world: World) -> None:
        assert world.ask(way="up", sha256=HERE, size=4) == Asked(size=4, known=True)
        assert isinstance(world.ask(way="down", sha256=AWAY), NoInput)
        assert isinstance(world.ask(way="down", sha256="../x"), Usage)
        assert isinstance(world.ask(way="up", sha256=AWAY, size=1, token="x"), Usage)

    run(scenario)


@pytest.mark.parametrize("size", [-1, MOST + 1, ROOM + 1])
def test_what_has_no_room_is_not_granted(run: Callable[..., None], size: int) -> None:
    def scenario(world: World) -> None:
        answer = world.ask(way="up", sha256=AWAY, size=size)
        assert answer.reason in ("too-large", "disk")
        assert world.ask(way="up", sha256=AWAY, size=ROOM).token

    run(scenario)


def test_a_device_has_a_few_at_once_and_for_a_while(run: Callable[..., None]) -> None:
    """A grant that nobody uses is over in time, or with its exchange; one that is used
    counts until its process hangs up."""

    def scenario(world: World) -> None:
        tokens = [world.ask(way="down", sha256=HERE).token for _ in range(AT_ONCE)]
        assert world.ask(way="down", sha256=HERE).reason == "busy"
        world.bulk.redeem(LAPTOP, tokens[0])
        assert world.ask(way="down", sha256=HERE).reason == "busy"
        world.bulk.hung_up(tokens[0])
        assert world.ask(way="down", sha256=HERE).token
        world.bulk.ended(world.pair.mini.exchange)
        with pytest.raises(NotAllowed):
            world.bulk.redeem(LAPTOP, tokens[1])
        last = world.ask(way="down", sha256=HERE).token
        loop = asyncio.get_running_loop()
        now = loop.time()
        loop.time = lambda: now + GRANTED + 1  # type: ignore[method-assign]
        with pytest.raises(NotAllowed):
            world.bulk.redeem(LAPTOP, last)

    run(scenario)


def test_the_end_that_dialled_opens_the_channel_and_grants_nothing(
    run: Callable[..., None],
) -> None:
    """Where its connection is gone meanwhile that is said."""

    def scenario(world: World) -> None:
        assert isinstance(world.ask(way="up", sha256=HERE), Usage)
        answer = world.ask(way="up", sha256=HERE, token="t")
        assert answer.reason == "link-down"

    run(scenario, dials=True)


def test_what_is_wanted_here_is_asked_of_the_other_end(
    run: Callable[..., None],
) -> None:
    """With a grant where that end dialled; what is here already is not asked for."""

    def scenario(world: World) -> None:
        answers: list[Any] = []
        for sha256, do in ((HERE, "get"), (HERE, "put"), (AWAY, "get")):
            world.bulk.move(LAPTOP, sha256, do, answers.append)
        world.pair.carry()
        assert [one.known for one in answers] == [True]
        put, get = (
            msgspec.json.decode(line, type=Asked)
            for _, line in world.pair.laptop.port.questions
        )
        assert (put.way, put.size, get.way) == ("down", 4, "up")
        assert world.bulk.redeem(LAPTOP, get.token).most == ROOM
        for number in (1, 2):
            world.pair.laptop.exchange.reply(number, NoInput("no blob here"))
        world.pair.carry()
        assert [str(one) for one in answers[1:]] == ["it says: no blob here"] * 2
        with pytest.raises(NotAllowed):
            world.bulk.redeem(LAPTOP, put.token)
        with pytest.raises(NoInput):
            world.bulk.move(LAPTOP, AWAY, "put", answers.append)
        with pytest.raises(NotReached, match="max is not linked"):
            world.bulk.move(Device("max"), HERE, "put", answers.append)

    run(scenario)
