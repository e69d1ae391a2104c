"""What is told of a wake without asking a daemon."""

import time

import pytest

from homi import ids
from homi.clock import parse_rfc3339, rfc3339
from homi.errors import Usage
from homi.wakes.preview import fires
from homi.wakes.progress import Progress
from homi.wakes.state import Trigger, Wake


def made(kind: str, value: str, ago: float = 0.0, **fields: object) -> Wake:
    """A wake that was made so many seconds ago."""
    trigger = Trigger(kind=kind, value=value, zone="UTC" if kind == "cron" else "")  # type: ignore[arg-type]
    given = {"to": "ada", "from_": "ci", "text": "go", "by": "person"} | fields
    at = rfc3339(time.time() - ago)
    return Wake(id=ids.new(), trigger=trigger, at=at, **given)  # type: ignore[arg-type]


def at_of(wake: Wake, count: int, at: Progress | None = None) -> list[float]:
    """When it is said to fire, from now on."""
    found = fires(wake.trigger, "UTC", count, wake, at)
    return [parse_rfc3339(one.at) - time.time() for one in found]


@pytest.mark.parametrize(("kind", "value"), [("every", "3600"), ("cron", "0 * * * *")])
def test_only_what_is_to_come_is_shown_of_an_old_wake(kind: str, value: str) -> None:
    """Its missed hours are over, whatever its file says of them."""
    wake = made(kind, value, ago=5 * 86_400.0 + 600)
    first, second = at_of(wake, 2)
    assert 0 < first <= 3601
    assert second - first == pytest.approx(3600, abs=5)
    if kind == "every":
        assert first == pytest.approx(3000, abs=60)  # its phase stays


def test_of_a_wake_with_a_last_time_no_more_are_shown() -> None:
    """--max counts what was fired; a control has no such bound."""
    wake = made("every", "3600", most=3)
    assert len(at_of(made("every", "3600"), 5)) == 5
    assert len(at_of(wake, 5)) == 3
    assert len(at_of(wake, 5, Progress(wake=wake.id, fired=2))) == 1
    assert at_of(wake, 5, Progress(wake=wake.id, ended=1.0)) == []


def test_when_an_event_comes_is_not_known() -> None:
    """It is said, instead of an empty list."""
    with pytest.raises(Usage, match="when is not known"):
        at_of(made("file", "/tmp/*"), 1)
