"""What another device tells of its rooms: by addresses, or it is not shown."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from homi.address import Device
from homi.company import Guest, MemberRow, RoomChanged, RoomRow, RoomRows
from homi.config import Config
from homi.doors.office import Office
from homi.doors.rooming import Rooming
from homi.errors import Unavailable
from homi.requests import Request, Room, Rooms
from tests.unit.rooms.kit import Company, Scenario, run  # noqa: F401

LIST, JOIN = Rooms(i=1, name="@lab"), Room(i=1, do="join", name="hall@lab")
BAD = "x\x1b]52;c;AAAA\x07"


def asked(company: Company, request: Request, answer: object) -> Any:  # noqa: ANN401
    """What ada is answered where lab answers that."""
    parts = (company.store, company.names, company.owners)
    office = Office("", Config(device="mini"), *parts, None, company.postmaster)  # type: ignore[arg-type]

    def rooms(_device: Device, _asked: Guest, done: Callable[[object], None]) -> None:
        done(answer)

    office.rooms = company.fanout
    office.neighbours = SimpleNamespace(rooms=rooms)  # type: ignore[assignment]
    caller = SimpleNamespace(name="ada", caller="person")
    rights = SimpleNamespace(caller=caller, owns=lambda _name: True)
    told: list[object] = []
    doer = Rooming(office, rights, company.clock).doers()[type(request)]  # type: ignore[arg-type]
    doer(request, lambda _i, answer: told.append(answer))
    return told[0]


def listed(room: str, member: str) -> RoomRows:
    """One room with one member."""
    return RoomRows([RoomRow(name=room, members=[MemberRow(member, "now")])])


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (LIST, listed(BAD, "eve")),
        (LIST, listed("hall", BAD)),
        (LIST, listed("hall", "eve@lab@pi")),
        (JOIN, RoomChanged(BAD, "join", ["ada@mini"])),
        (JOIN, RoomChanged("hall", "join", [BAD])),
        (JOIN, RoomChanged("hall", "join", [], [f"ada@{BAD}"])),
    ],
)
def test_what_is_no_address_is_not_shown(
    run: Callable[[Scenario], None],  # noqa: F811
    request_: Request,
    answer: object,
) -> None:
    """It would be written to a terminal as it stands."""

    async def scenario(company: Company) -> None:
        assert isinstance(asked(company, request_, answer), Unavailable)
        found = asked(company, LIST, listed("hall", "eve"))
        (room,) = found.rooms
        assert (room.name, room.members[0].member) == ("hall@lab", "eve@lab")
        joined = asked(company, JOIN, RoomChanged("hall", "join", ["ada@mini"]))
        assert (joined.name, joined.members) == ("hall@lab", ["ada@mini"])

    run(scenario)
