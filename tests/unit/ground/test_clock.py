"""Times as people write them."""

import time
from collections.abc import Iterator

import pytest

from homi.clock import moment, parse_rfc3339, rfc3339

NOW = parse_rfc3339("2026-11-30T12:00:00.000Z")


@pytest.fixture(autouse=True)
def zone() -> Iterator[None]:
    """Somewhere that is not at Greenwich; the next test is where it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Etc/GMT-2")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        ("90s", "2026-11-30T11:58:30.000Z"),
        ("15m", "2026-11-30T11:45:00.000Z"),
        ("3h", "2026-11-30T09:00:00.000Z"),
        ("2d", "2026-11-28T12:00:00.000Z"),
        ("1w", "2026-11-23T12:00:00.000Z"),
        ("0s", "2026-11-30T12:00:00.000Z"),
        ("2026-11-30T01:02:03.456Z", "2026-11-30T01:02:03.456Z"),
        ("2026-11-30T01:02:03+05:00", "2026-11-29T20:02:03.000Z"),
        ("2026-11-30", "2026-11-29T22:00:00.000Z"),
        ("2026-11-30 14:00", "2026-11-30T12:00:00.000Z"),
        ("99999999w", "1970-01-01T00:00:00.000Z"),
        ("1900-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
    ],
)
def test_a_time_is_an_age_a_date_or_a_stamp(text: str, stamp: str) -> None:
    """Local where it names no zone."""
    assert rfc3339(moment(text, NOW)) == stamp


@pytest.mark.parametrize(
    "text", ["", "3", "h", "3y", "-3h", "3 h", "٣h", "yesterday", "2026-13-01", "1.5h"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    """A guess would list the wrong mail."""
    try:
        moment(text, NOW)
    except ValueError:
        return
    pytest.fail(f"{text} was taken for a time")
