"""What comes in over a link: stored with a true postmark, or refused and not stored."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from homi import ids
from homi.address import Device, Name
from homi.claims import State
from homi.config import Config
from homi.envelope import Envelope, decode_envelope
from homi.links.frames import (
    Mail,
    Refusal,
    Tail,
    decode,
    mail_line,
    mail_tail,
    whole_room,
)
from homi.links.greeting import Peer
from homi.links.intake import LANES, STAMPS, Intake
from homi.names import Names
from homi.owners import Owners
from homi.postmaster import Postmaster, Submission
from homi.sessions import Sessions
from homi.store.disk import RealDisk
from homi.store.memory import MemoryStore
from homi.store.quarantine import Quarantine
from homi.store.state import StateFile
from tests.unit.links.kit import IDENTITIES, KEYS, Pair, Turned

LAPTOP = Peer(Device("laptop"), KEYS["laptop"], "homi", 1, 0.0)
Answer = Refusal | None
CHAIN = ids.new()


class Noted:
    """A desk that only notes what comes."""

    def __init__(self) -> None:
        self.subs: list[Submission] = []

    def accept(self, sub: Submission) -> None:
        self.subs.append(sub)


class Mini:
    """The device mini behind a link to laptop."""

    def __init__(self, root: Path) -> None:
        self.store = MemoryStore()
        names = Names(StateFile(str(root / "names.json"), RealDisk(), State))
        names.claim(Name("ada"), None, 0.0)
        names.claim(Name("bob"), None, 0.0)
        owners = Owners(names, Sessions([root / "claude"], Turned()))
        owners.devices = lambda: [Device("laptop"), Device("max")]
        postmaster = Postmaster(
            self.store,
            names,
            owners,
            Quarantine(str(root), RealDisk()),
            Turned(),
            Config(device="mini"),
        )
        self.pair = Pair()
        self.intake = Intake(self.pair.mini.exchange, LAPTOP, postmaster)

    async def take(
        self,
        msg: object,
        to: str = "ada@mini",
        hops: tuple[str, ...] = ("laptop",),
        *,
        first: bool = False,
        again: bool = False,
    ) -> Answer:
        """What the peer is answered."""
        async with asyncio.timeout(60):
            return await self.give(msg, to, hops, first=first, again=again)

    def give(
        self,
        msg: object,
        to: str = "ada@mini",
        hops: tuple[str, ...] = ("laptop",),
        *,
        first: bool = False,
        again: bool = False,
        room: str | None = None,
        moved: int = 0,
    ) -> asyncio.Future[Answer]:
        """What the peer will be answered."""
        body = msg if isinstance(msg, bytes) else msgspec.json.encode(msg)
        tail = mail_tail(
            Tail(
                to=to,
                hops=hops,
                verified=True,
                room=whole_room(room, hops),
                first=first,
                again=again,
                moved=moved,
                msg=msgspec.Raw(body),
            )
        )
        mail = decode(mail_line(1, tail)[:-1])
        assert isinstance(mail, Mail)
        got: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.intake.take(mail, got.set_result)
        return got

    def stored(self, name: str = "ada") -> list[Envelope]:
        """What stands in a mailbox."""
        lines = bytes(self.store.inboxes.get(Name(name), b"")).splitlines()
        return [decode_envelope(line) for line in lines]

    def everything(self) -> int:
        """Bytes in all places."""
        return sum(map(len, self.store.inboxes.values()))


def letter(**fields: object) -> dict[str, object]:
    whole = {"id": ids.new(), "from": "cid", "to": "ada@mini", "text": "hello"}
    return whole | fields


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., None]:
    """Run a scenario over a fresh device."""

    def runner(scenario: Callable[[Mini], object]) -> None:
        async def main() -> None:
            await scenario(Mini(tmp_path))  # type: ignore[misc]

        asyncio.run(main())

    return runner


def test_mail_is_stored_with_the_postmark_of_the_link(run: Callable[..., None]) -> None:
    async def scenario(mini: Mini) -> None:
        body = b'{"id":"%b","from":"cid","to":"ada@mini","text":"x", "ext":{"foo":1}}'
        body %= ids.new().encode()
        assert await mini.take(body) is None
        (found,) = mini.stored()
        assert bytes(found.msg) == body
        via = found.via
        assert (via.door, via.device, via.verified) == ("link", "laptop", True)
        assert (via.key, via.relay) == (IDENTITIES["laptop"].fingerprint, None)

    run(scenario)


@pytest.mark.parametrize(
    ("told", "believed"),
    [
        ({"chain": CHAIN, "n": 3, "limit": 12}, (3, 12)),
        ({"chain": CHAIN, "n": 3, "limit": 99, "more": {}}, (3, 14)),
        ({"chain": CHAIN, "n": 10**30, "limit": 10**30}, (200, 211)),
        ({"chain": CHAIN, "n": -5, "limit": -5}, (1, -5)),
        ({"chain": "../../x", "n": 1, "limit": 12}, None),
        ({"chain": "x" * 100_000, "n": 1, "limit": 12}, None),
    ],
    ids=range(6),
)
def test_what_is_told_of_a_turn_is_believed_within_bounds(
    run: Callable[..., None], told: object, believed: tuple[int, int] | None
) -> None:
    """Whatever it says, the mail itself is taken."""

    async def scenario(mini: Mini) -> None:
        body = msgspec.Raw(msgspec.json.encode(letter()))
        tail = mail_tail(Tail(to="ada@mini", hops=["laptop"], verified=True, msg=body))
        turn = b'"turn":%b,"msg":' % json.dumps(told).encode()
        mail = decode(mail_line(1, tail.replace(b'"msg":', turn))[:-1])
        assert isinstance(mail, Mail)
        desk = Noted()
        Intake(mini.pair.mini.exchange, LAPTOP, desk).take(mail, lambda _not: None)
        (sub,) = desk.subs
        found = None if sub.told is None else (sub.told.n, sub.told.limit)
        assert found == believed

    run(scenario)


def test_a_copy_from_a_room_names_it_with_its_device(run: Callable[..., None]) -> None:
    """That of the device it left; one that is no whole address is refused."""

    async def scenario(mini: Mini) -> None:
        for room in ("team", "team@pi"):
            assert await mini.give(letter(), room=room) is None
        rooms = [envelope.via.room for envelope in mini.stored()]
        assert rooms == ["team@laptop", "team@pi"]
        assert {envelope.via.door for envelope in mini.stored()} == {"link"}
        refused = await mini.give(letter(), room="no room@pi")
        assert refused is not None
        assert refused.permanent

    run(scenario)


def test_mail_that_was_handed_on_names_who_did_it(run: Callable[..., None]) -> None:
    async def scenario(mini: Mini) -> None:
        assert await mini.take(letter(), hops=("max", "laptop")) is None
        via = mini.stored()[0].via
        assert (via.device, via.relay) == ("max", "laptop")

    run(scenario)


@pytest.mark.parametrize(
    "hops",
    [
        (),
        ("max",),
        ("laptop", "max"),
        ("../laptop", "laptop"),
        ("", "laptop"),
        ("laptop\n", "laptop"),
        ("a" * 65, "laptop"),
        ("laptop",) * 29,
    ],
    ids=range(8),
)
def test_a_way_that_does_not_lead_over_the_peer_is_refused(
    run: Callable[..., None], hops: tuple[str, ...]
) -> None:
    async def scenario(mini: Mini) -> None:
        refusal = await mini.take(letter(), hops=hops)
        assert refusal is not None
        assert refusal.permanent
        assert mini.everything() == 0

    run(scenario)


@pytest.mark.parametrize(
    "fields",
    [
        {"from": "ada@mini"},
        {"from": "../../etc/passwd"},
        {"from": ""},
        {"from": "Cid"},
        {"from": "x" * 65},
        {"id": "../../x"},
        {"id": "X"},
        {"text": ""},
        {"text": "x" * (1 << 20) + "x"},
        {"kind": "bounce"},
        {"kind": "notice", "reply_to": "0199f3a2-61b4-7c7e-9d0e-52b07c10a9e2"},
        {"kind": "wake"},
        {"kind": "other"},
        {"auto": True},
        {"reply_to": "../x"},
        {"ttl_s": -1},
        {"mode": "root"},
        {"tags": [1]},
        {"x": 1 << 70},
    ],
    ids=range(19),
)
def test_a_message_that_is_not_what_it_must_be_is_refused_for_good(
    run: Callable[..., None], fields: dict[str, object]
) -> None:
    async def scenario(mini: Mini) -> None:
        refusal = await mini.take(letter(**fields))
        assert refusal is not None
        assert refusal.permanent
        assert mini.everything() == 0

    run(scenario)


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"null",
        b'{"a":1,"a":2}',
        b'{"id":"x","text":"' + b"[" * 100 + b'"}',
        b'{"deep":' + b"[" * 40 + b"]" * 40 + b"}",
    ],
    ids=range(5),
)
def test_bytes_that_are_no_message_are_refused_for_good(
    run: Callable[..., None], body: bytes
) -> None:
    async def scenario(mini: Mini) -> None:
        refusal = await mini.take(body)
        assert refusal is not None
        assert (refusal.code, refusal.permanent) == ("bad-message", True)
        assert mini.everything() == 0

    run(scenario)


@pytest.mark.parametrize(
    "to",
    [
        "nobody@mini",
        "nobody",
        "ada@nowhere",
        "../../etc/passwd",
        "ada@../x",
        "@laptop",
        "",
        "ada@mini@mini",
        "a" * 5000,
        "ada\n@mini",
    ],
    ids=range(10),
)
def test_an_address_that_leads_nowhere_makes_no_place(
    run: Callable[..., None], to: str
) -> None:
    async def scenario(mini: Mini) -> None:
        refusal = await mini.take(letter(), to=to)
        assert refusal is not None
        assert refusal.permanent
        assert len(refusal.text) <= 800
        assert mini.everything() == 0

    run(scenario)


def test_a_repeat_is_known_and_other_bytes_under_its_id_are_refused(
    run: Callable[..., None],
) -> None:
    async def scenario(mini: Mini) -> None:
        msg = letter()
        assert await mini.take(msg) is None
        assert await mini.take(msg) is None
        refusal = await mini.take(msg | {"text": "other"})
        assert refusal is not None
        assert (refusal.reason, refusal.permanent) == ("id-conflict", True)
        assert len(mini.stored()) == 1

    run(scenario)


def test_behind_a_refusal_for_now_its_lane_waits_until_its_first_comes_again(
    run: Callable[..., None],
) -> None:
    """Else one that was under way with it would overtake it."""

    async def scenario(mini: Mini) -> None:
        one, two, other = letter(), letter(), letter(**{"from": "dan"})
        mini.store.free = 0
        refusal = await mini.take(one)
        assert refusal is not None
        assert (refusal.reason, refusal.permanent) == ("quota", False)
        mini.store.free = 1 << 40
        refusal = await mini.take(two)
        assert refusal is not None
        assert (refusal.reason, refusal.permanent) == ("", False)
        assert await mini.take(other) is None
        assert await mini.take(one, first=True) is None
        assert await mini.take(two) is None
        texts = [msgspec.json.decode(found.msg)["id"] for found in mini.stored()]
        assert texts == [other["id"], one["id"], two["id"]]

    run(scenario)


def test_what_found_no_room_is_overtaken_by_nothing_that_came_behind_it(
    run: Callable[..., None],
) -> None:
    """Room that comes while the first is being refused changes nothing for those that
    are under way with it."""

    async def scenario(mini: Mini) -> None:
        mini.store.free = 0
        first = mini.give(letter())
        mini.store.free = 1 << 40
        second = mini.give(letter())
        answers = await asyncio.gather(first, second)
        assert [answer and answer.permanent for answer in answers] == [False, False]
        assert mini.everything() == 0
        assert await mini.take(letter(), first=True) is None

    run(scenario)


def test_what_a_peer_makes_this_end_remember_is_bounded(
    run: Callable[..., None],
) -> None:
    async def scenario(mini: Mini) -> None:
        for n in range(STAMPS + 50):
            await mini.take(letter(), to="nobody", hops=(f"d{n}", "laptop"))
        assert len(mini.intake._stamps) <= STAMPS
        mini.store.free = 0
        for n in range(LANES + 1):
            await mini.take(letter(**{"from": f"n{n}"}))
        ((reason, text),) = mini.pair.mini.port.ends
        assert (reason, "lanes" in text) == ("busy", True)

    run(scenario)


def test_what_is_sent_once_more_behind_a_backup_is_marked(
    run: Callable[..., None],
) -> None:
    """Its reader may have had it before; any other mail of that way is not marked."""

    async def scenario(mini: Mini) -> None:
        for again in (False, True, False):
            assert await mini.take(letter(), again=again) is None
        assert [one.via.repeat for one in mini.stored()] == [False, True, False]

    run(scenario)
