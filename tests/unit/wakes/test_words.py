"""Times and zones as a person writes them."""

import os
import time
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from homi.clock import parse_rfc3339
from homi.errors import Usage
from homi.wakes.words import local_zone, moment, seconds

BERLIN = "Europe/Berlin"
NOW = parse_rfc3339("2026-11-30T12:00:00.000Z")  # one o'clock there


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("+15m", "2026-11-30T12:15:00.000Z"),
        ("09:30", "2026-12-01T08:30:00.000Z"),
        ("13:00", "2026-12-01T12:00:00.000Z"),  # it is that now
        ("13:01", "2026-11-30T12:01:00.000Z"),
        ("2026-12-24", "2026-12-23T23:00:00.000Z"),
        ("2026-12-24T18:00", "2026-12-24T17:00:00.000Z"),
        ("2026-12-24T18:00Z", "2026-12-24T18:00:00.000Z"),
        ("2026-12-24T18:00-05:00", "2026-12-24T23:00:00.000Z"),
    ],
)
def test_a_moment_is_one_of_the_zone_unless_it_has_its_own(text: str, at: str) -> None:
    """A time of day is the next one."""
    assert moment(text, BERLIN, NOW) == at


@pytest.mark.parametrize(
    "text", ["", "+", "soon", "25:00", "9:30", "+1y", "99999-01-01", "1h", "+-1m"]
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    """With the forms it may have."""
    with pytest.raises(Usage, match="no time to come"):
        moment(text, BERLIN, NOW)


def test_a_span_has_a_unit_or_is_seconds() -> None:
    """And nothing else."""
    assert [seconds(x) for x in ("90s", "15m", "2d", "300", "0")] == [
        *(90, 900, 172_800, 300, 0)
    ]
    for text in ("", "-5m", "1.5h", "5 m", "1e3", "٣", "9" * 12):
        with pytest.raises(Usage):
            seconds(text)


def test_the_zone_of_the_machine_is_known_by_its_name(tmp_path: Path) -> None:
    """From the variable, else from where its link leads; else it is UTC."""
    link = tmp_path / "localtime"
    assert local_zone({"TZ": BERLIN}, str(link)) == BERLIN
    assert local_zone({"TZ": f":/usr/share/zoneinfo/{BERLIN}"}, str(link)) == BERLIN
    assert local_zone({}, str(link)) == "UTC"
    link.symlink_to("/usr/share/zoneinfo/America/New_York")
    assert local_zone({}, str(link)) == "America/New_York"


@pytest.mark.parametrize(
    ("given", "zone"),
    [("<+03>-3", "Etc/GMT-3"), ("EST5", "Etc/GMT+5"), ("UTC0", "UTC"), ("UTC", "UTC")],
)
def test_a_zone_that_is_an_offset_alone_is_that_zone(given: str, zone: str) -> None:
    """Never taken for UTC in silence, nor with its sign turned round."""
    assert local_zone({"TZ": given}) == zone
    there = datetime.fromtimestamp(0, ZoneInfo(zone))
    before = os.environ.get("TZ")
    os.environ["TZ"] = given
    time.tzset()
    try:
        assert time.localtime(0).tm_hour == there.hour
    finally:
        os.environ.pop("TZ")
        os.environ.update({"TZ": before} if before else {})
        time.tzset()


@pytest.mark.parametrize(
    "given", ["EST5EDT,M3.2.0,M11.1.0", "<+0530>-5:30", "Mars", "/etc/passwd"]
)
def test_a_zone_without_a_name_is_refused_with_what_helps(given: str) -> None:
    """A wake at another hour than was meant is worse than none."""
    with pytest.raises(Usage, match="name of no time zone") as refused:
        local_zone({"TZ": given})
    assert "--tz" in refused.value.hint
