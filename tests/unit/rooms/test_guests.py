"""Names of another device that join rooms here by themselves: which, and who says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homi.address import Device
from homi.company import RoomChanged, RoomRows
from homi.config import Config
from homi.doors.guests import Guests
from homi.doors.office import Office
from homi.errors import HomiError, NoSuchName, NotAllowed
from homi.policy import Policy
from tests.unit.rooms.kit import TEAM, Company, Scenario, settled

Run = Callable[[Scenario], None]
Ask = Callable[..., Any]


def guests(company: Company, **policy: object) -> Ask:
    """What a device asks, and what it is told."""
    config = Config(device="mini", policy=Policy(**policy))  # type: ignore[arg-type]
    parts = (company.store, company.names, company.owners)
    office = Office("", config, *parts, None, company.postmaster)  # type: ignore[arg-type]
    asked = Guests(office, company.fanout, company.clock).asked

    def ask(device: str, **fields: object) -> msgspec.Struct | HomiError:
        told: list[msgspec.Struct | HomiError] = []
        asked(Device(device), json.dumps({"f": "req", **fields}).encode(), told.append)
        return told[0]

    return ask


def test_a_device_speaks_for_its_own_names_and_gets_what_they_missed_nothing_of(
    run: Run,
) -> None:
    """Whatever it writes, the member is of that device; it leaves as it joined."""

    async def scenario(company: Company) -> None:
        ask = guests(company)
        done = ask("lab", do="join", room="team", members=["eve", "zoe"])
        assert isinstance(done, RoomChanged)
        assert done.members == ["eve@lab", "zoe@lab"]
        again = ask("lab", do="join", room="team", members=["eve"], notify=True)
        assert again.already == ["eve@lab"]
        assert company.rooms.members(TEAM)["eve@lab"].notify
        for bad in ("eve@pi", "postmaster", "../x", ""):
            with pytest.raises(HomiError):
                ask("lab", do="join", room="team", members=["zoe", bad])
        with pytest.raises(NoSuchName):
            ask("pi", do="leave", room="team", members=["eve"])
        assert ask("lab", do="leave", room="team", members=["eve"]).total == 4
        with pytest.raises(NoSuchName):
            ask("lab", do="join", room="ghosts", members=["eve"])
        listed = ask("lab", do="ls")
        assert isinstance(listed, RoomRows)
        assert [one.member for one in listed.rooms[0].members][-1] == "zoe@lab"

    run(scenario)


@pytest.mark.parametrize(
    ("policy", "may"),
    [
        ({}, True),
        ({"remote": {"lab": "refuse"}}, False),
        ({"remote": {"lab": "park", "eve@lab": "deliver"}}, True),
        ({"join": {"team": ["zoe@lab"]}}, False),
        ({"join": {"team": ["*@lab"]}, "remote": {"lab": "refuse"}}, True),
        ({"join": {"*": []}}, False),
    ],
)
def test_the_policy_says_who_may_join(
    run: Run, policy: dict[str, object], *, may: bool
) -> None:
    """The list of the room, else whose mail is delivered."""

    async def scenario(company: Company) -> None:
        ask = guests(company, **policy)
        if may:
            assert ask("lab", do="join", room="team", members=["eve"]).members
            return
        with pytest.raises(NotAllowed, match="policy of mini"):
            ask("lab", do="join", room="team", members=["eve"])
        assert "eve@lab" not in company.rooms.members(TEAM)

    run(scenario)


def test_what_a_person_lets_leave_goes_to_the_members_elsewhere_once(
    run: Run, tmp_path: Path
) -> None:
    """With their reason, also where it is tried again after a restart; the next time
    it is refused as ever."""
    secret = "DB_PASS" + "WORD=hunter2hunter2"

    async def scenario(company: Company) -> None:
        company.join("eve@lab")
        await company.permit(secret, "rotated")
        lab = company.store.queues()[0]
        (item,) = lab.pending.values()
        (line,) = [x for x in company.store.ledgers[lab.name] if x.allowed]
        assert (line.seq, line.allowed) == (item.seq, "rotated")
        assert line.by == "owner pid 1, to the room team"
        assert company.texts("bob") == [secret]
        await company.post(secret)
        await settled()
        assert len(lab.pending) == 1

    run(scenario)
