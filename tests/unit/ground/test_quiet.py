"""A daily window of quiet: its end, over midnight and over changes of the clock."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from homi.quiet import parse_window

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> float:
    """Wall seconds of a time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("window", "now", "ends"),
    [
        ("22:00-07:00@UTC", "2026-03-01 23:30", "2026-03-02 07:00"),
        ("22:00-07:00@UTC", "2026-03-02 06:59:59", "2026-03-02 07:00"),
        ("22:00-07:00@UTC", "2026-03-02 07:00", None),
        ("22:00-07:00@UTC", "2026-03-02 21:59", None),
        ("22:00-07:00@UTC", "2026-03-02 22:00", "2026-03-03 07:00"),
        ("12:00-13:00@UTC", "2026-03-02 12:30", "2026-03-02 13:00"),
        ("12:00-13:00@UTC", "2026-03-02 11:59", None),
        ("22:00-07:00@Europe/Berlin", "2026-07-01 20:30", "2026-07-02 05:00"),
    ],
)
def test_a_window_ends_at_its_end_and_begins_at_its_beginning(
    window: str, now: str, ends: str | None
) -> None:
    """In the zone it names, whichever the machine is in."""
    expected = None if ends is None else at(ends)
    assert parse_window(window).until(at(now)) == expected


def test_a_night_with_a_skipped_hour_ends_by_the_new_clock() -> None:
    """29 March 2026 in Berlin: 02:00 becomes 03:00; 07:00 is 05:00 UTC."""
    window = parse_window("22:00-07:00@Europe/Berlin")
    assert window.until(at("2026-03-28 21:00")) == at("2026-03-29 05:00")


def test_an_end_within_the_skipped_hour_is_not_lost() -> None:
    """02:30 does not come that night; the quiet ends all the same, once."""
    window = parse_window("22:00-02:30@Europe/Berlin")
    assert window.until(at("2026-03-29 00:30")) == at("2026-03-29 01:30")
    assert window.until(at("2026-03-29 01:30")) is None


def test_an_hour_that_comes_twice_is_quiet_both_times() -> None:
    """25 October 2026 in Berlin: 02:30 comes at 00:30 and at 01:30 UTC."""
    window = parse_window("22:00-02:30@Europe/Berlin")
    assert window.until(at("2026-10-25 00:45")) == at("2026-10-25 01:30")
    assert window.until(at("2026-10-25 01:30")) is None


def test_the_end_is_ahead_and_outside_of_the_window() -> None:
    """At no moment of a year is nothing due, or due at once for ever."""
    texts = ("22:00-07:00", "02:10-02:50", "00:00-23:59", "02:30-02:00")
    windows = {text: parse_window(f"{text}@Europe/Berlin") for text in texts}
    for hours in range(0, 24 * 400, 7):
        now = at("2026-01-01 00:10") + hours * 3600
        ends = {text: window.until(now) for text, window in windows.items()}
        assert all(end is None or end > now for end in ends.values())
        hour = datetime.fromtimestamp(now, BERLIN).hour
        assert (ends["22:00-07:00"] is not None) == (hour >= 22 or hour < 7)
