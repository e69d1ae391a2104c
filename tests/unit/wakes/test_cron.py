"""A crontab expression on the clock of a zone, over every change of it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from homi.clock import rfc3339
from homi.errors import Usage
from homi.wakes.cron import cron
from tests.unit.wakes.kit import Land, Scenario, minutes

BERLIN, YORK, HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
# The day before each change; Lord Howe moves its clock by half an hour.
FORWARD = {BERLIN: "2027-03-27", YORK: "2027-03-13", HOWE: "2027-10-02"}
BACK = {BERLIN: "2027-10-30", YORK: "2027-11-06", HOWE: "2027-04-03"}
# A time that is left out in spring, one that comes twice in autumn.
GONE = {BERLIN: "30 2", YORK: "30 2", HOWE: "15 2"}
TWICE = {BERLIN: "30 2", YORK: "30 1", HOWE: "45 1"}
ON = {BERLIN: "03:00", YORK: "03:00", HOWE: "02:30"}


def fires(expression: str, zone: str, day: str, hours: int = 24) -> list[str]:
    """Each firing within hours from noon of a day, on the clock of the zone."""
    plan, here = cron(expression, zone), ZoneInfo(zone)
    noon = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=here).timestamp()
    found, at = [], plan.next(noon)
    while at is not None and at <= noon + hours * 3600:
        found.append(datetime.fromtimestamp(at, here).strftime("%H:%M%z"))
        at = plan.next(at)
    return found


@pytest.mark.parametrize("zone", [BERLIN, YORK, HOWE])
def test_a_time_that_is_left_out_fires_once_when_the_clock_goes_on(zone: str) -> None:
    """And on the next day at its own time."""
    first, second = fires(f"{GONE[zone]} * * *", zone, FORWARD[zone], 48)
    assert first[:5] == ON[zone]
    minute, hour = GONE[zone].split()
    assert second[:5] == f"{int(hour):02}:{minute}"


@pytest.mark.parametrize("zone", [BERLIN, YORK, HOWE])
def test_several_times_that_are_left_out_are_one(zone: str) -> None:
    """They would all come at the same moment."""
    minute, hour = GONE[zone].split()
    found = fires(f"{minute},{int(minute) + 5} {hour} * * *", zone, FORWARD[zone])
    assert [each[:5] for each in found] == [ON[zone]]


@pytest.mark.parametrize("zone", [BERLIN, YORK, HOWE])
def test_a_time_that_comes_twice_fires_the_first_time(zone: str) -> None:
    """Not again; the day after as ever."""
    first, second = fires(f"{TWICE[zone]} * * *", zone, BACK[zone], 48)
    assert first[:5] == second[:5]
    assert first[5:] != second[5:]


@pytest.mark.parametrize("eve", [FORWARD, BACK])
@pytest.mark.parametrize("zone", [BERLIN, YORK, HOWE])
def test_over_a_change_of_the_clock_a_slot_has_one_envelope(
    run: Callable[[Scenario], None], zone: str, eve: dict[str, str]
) -> None:
    """Whatever becomes of what is missed, for here nothing is; an interval keeps to
    the time that passes."""
    here = ZoneInfo(zone)
    noon = datetime.fromisoformat(f"{eve[zone]}T12:00").replace(tzinfo=here)
    minute, hour = (GONE if eve is FORWARD else TWICE)[zone].split()
    at = ON[zone] if eve is FORWARD else f"{int(hour):02}:{minute}"
    day = noon.date() + timedelta(days=1)
    slot = datetime.fromisoformat(f"{day}T{at}").replace(tzinfo=here).timestamp()

    async def scenario(land: Land) -> None:
        land.clocks.stepped = noon.timestamp() - land.clocks.wall()
        wakes = [
            land.add(
                "cron", f"{minute} {hour} * * *", zone=zone, missed=way, overlap="queue"
            )
            for way in ("once", "skip", "all")
        ]
        land.add("every", "21600", to="bob", overlap="queue")
        await minutes(36 * 60 - 1)
        assert land.facts("slot") == [rfc3339(slot)] * 3
        assert len(land.texts("bob")) == 5
        assert [land.keeper.at(wake).missed for wake in wakes] == [0, 0, 0]

    run(scenario)


@pytest.mark.parametrize("zone", [BERLIN, YORK, HOWE])
def test_each_hour_is_each_hour_that_passes(zone: str) -> None:
    """A day of 23, 25 or 24 and a half hours; * means the time, not the clock."""
    for day in (FORWARD[zone], BACK[zone]):
        # Half an hour more or less leaves one out.
        hours = len(fires("0 * * * *", zone, day))
        assert hours == 24 or (zone == HOWE and hours == 23)
        found = fires("*/15 * * * *", zone, day)
        assert len(found) == 96
        assert len(set(found)) == 96


def test_what_the_clock_does_is_told() -> None:
    """For who looks ahead, and only where it does something."""

    def told(zone: str, day: str) -> str:
        here = ZoneInfo(zone)
        start = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=here)
        plan = cron("30 2 * * *", zone)
        at = plan.next(start.timestamp())
        assert at is not None
        return plan.told(at)

    assert told(BERLIN, FORWARD[BERLIN]) == "the clock goes from 02:00 to 03:00 here"
    assert told(BERLIN, BACK[BERLIN]) == "02:30 comes twice, this is the first time"
    assert told(BERLIN, "2027-06-01") == ""


@pytest.mark.parametrize(
    ("expression", "day", "expected"),
    [
        ("0 0 13 * 5", "2026-11-30", "2026-12-04"),  # a Friday: one of both is enough
        ("0 0 13 * *", "2026-11-30", "2026-12-13"),
        ("0 0 * * 0", "2026-11-30", "2026-12-06"),  # Sunday, by both numbers
        ("0 0 * * 7", "2026-11-30", "2026-12-06"),
        ("0 0 * * sun", "2026-11-30", "2026-12-06"),
        ("0 0 * * Mon-FRI", "2026-12-04", "2026-12-07"),
        ("0 0 29 feb *", "2026-11-30", "2028-02-29"),
        ("0 0 1 */5 *", "2026-11-30", "2027-01-01"),
        ("@weekly", "2026-11-30", "2026-12-06"),
        ("0 0 31 * *", "2027-01-31", "2027-03-31"),
        ("0 0 29 2 *", "2096-03-01", "2104-02-29"),  # 2100 has none
    ],
)
def test_days_are_those_of_cron(expression: str, day: str, expected: str) -> None:
    """Sunday is 0 and 7; with both fields of days one of them is enough."""
    start = datetime.fromisoformat(f"{day}T12:00+00:00").timestamp()
    at = cron(expression, "UTC").next(start)
    assert at is not None
    assert datetime.fromtimestamp(at, ZoneInfo("UTC")).strftime("%Y-%m-%d") == expected


@pytest.mark.parametrize(
    "expression", ["* * * * *", "7,50 */5 * * *", "0 9 * * 1-5", "30 4 1,15 * 5"]
)
@pytest.mark.parametrize("start", ["2026-11-30T09:00", "2026-12-31T23:59:30"])
def test_what_is_counted_is_what_would_have_been_met(
    expression: str, start: str
) -> None:
    """By the calendar, since half a million steps would keep everybody waiting."""
    plan = cron(expression, "UTC")
    begin = datetime.fromisoformat(f"{start}+00:00").timestamp()
    at, met = plan.next(begin), 0
    for minute in range(0, 3 * 1440, 97):
        upto = begin + minute * 60 + 30
        while at is not None and at <= upto:
            at, met = plan.next(at), met + 1
        assert plan.count(begin, upto) == met


def test_a_day_that_never_comes_is_never_and_told_at_once() -> None:
    """Not searched for up to the end of the calendar."""
    assert cron("0 0 30 2 *", "UTC").next(0.0) is None


@pytest.mark.parametrize(
    "expression",
    [
        *("", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *"),
        *("* * * 13 *", "* * * * 8", "*/0 * * * *", "5-1 * * * *", "a * * * *"),
        *("* * * * funday", "1,,2 * * * *", "-1 * * * *", "1- * * * *", "@often"),
        *("٣ * * * *", "0x1 * * * *", "1e1 * * * *", "*" * 5000, "*/999 1 1 1 1;"),
        *("$(id) * * * *", "\n\n\n\n\n", "* * * * L", "1/2/3 * * * *", "** * * * *"),
    ],
)
def test_what_is_no_expression_is_refused_by_its_field(expression: str) -> None:
    """One clear line, whatever it is; the control is every other test here."""
    with pytest.raises(Usage) as refusal:
        cron(expression, "UTC")
    assert "\n" not in refusal.value.text


@pytest.mark.parametrize(
    "zone",
    ["", "Mars/Base", "../../etc/passwd", "/etc/localtime", "Europe", "a\0", "ü"],
)
def test_what_is_no_zone_is_refused(zone: str) -> None:
    """No path leads out of the zones."""
    with pytest.raises(Usage):
        cron("* * * * *", zone)
