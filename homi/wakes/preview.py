"""When a wake will fire, told beforehand; no daemon is asked.

Owns how far ahead is looked, and what is said of a clock that changes.  homi-wake(1).
"""

import importlib
import os
from datetime import datetime

import msgspec

from homi import ids
from homi.clock import SystemClock, rfc3339
from homi.errors import HomiError, StorageFailed, Usage
from homi.store.disk import RealDisk
from homi.store.tally import Tally
from homi.wakes.progress import FILE, Progress, read
from homi.wakes.rows import row
from homi.wakes.schedule import Now, schedule
from homi.wakes.state import TIMED, State, Trigger, Wake
from homi.wakes.words import zone_of
from homi.woken import WakeRow

UTC = "UTC"


class Fire(msgspec.Struct, frozen=True):
    """One firing to come."""

    at: str  # RFC 3339
    here: str  # on the clock of the zone
    note: str = ""  # what its clock does there


def fires(
    trigger: Trigger,
    zone: str,
    count: int,
    wake: Wake | None = None,
    at: Progress | None = None,
) -> list[Fire]:
    """The next count firings of a trigger, or of a wake from at on, where it is; 64
    for one that fires by an event.  zone: whose clock is shown."""
    if trigger.kind not in TIMED:
        raise Usage(f"on-{trigger.kind} fires by an event: when is not known")
    now = Now.of(SystemClock())
    wake = wake or _unmade(trigger, now)
    plan, at = schedule(wake), at or Progress(wake=wake.id)
    if wake.most or at.ended:
        count = 0 if at.ended else min(count, wake.most - at.fired)
    plan.settle(at, now)
    # What is over is missed: it is no firing to come.
    if over := plan.passed(at, now).slots:
        plan.past(at, over[-1], now)
    found: list[float] = []
    while len(found) < count and (when := plan.next(at, now)) is not None:
        found.append(when)
        now = Now(when, now.boot + when - now.wall)
        passed = plan.passed(at, now).slots
        if not passed:
            break
        plan.past(at, passed[-1], now)
    return [_shown(when, trigger, zone) for when in found]


def wakes(root: str) -> list[Wake]:
    """The wakes of a state root, as the file has them; 74 where it cannot be read."""
    path = os.path.join(root, "wakes.json")
    try:
        with open(path, "rb") as file:
            return list(msgspec.json.decode(file.read(), type=State).wakes.values())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageFailed(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise StorageFailed(f"cannot read {path}: it holds no wakes") from None


def standing(root: str, wake: Wake) -> Progress:
    """How far that wake is, as the file has it."""
    known = read(Tally(os.path.join(root, FILE), RealDisk()))
    return known.get(wake.id, Progress(wake=wake.id))


def rows(root: str, found: list[Wake]) -> list[WakeRow]:
    """Those wakes as they are listed; whether one is unread only a daemon knows."""
    known = read(Tally(os.path.join(root, FILE), RealDisk()))
    now = Now.of(SystemClock())
    listed = []
    for wake in found:
        at = known.get(wake.id, Progress(wake=wake.id))
        listed.append(row(wake, at, _next(wake, at, now), unread=False))
    return listed


def _next(wake: Wake, at: Progress, now: Now) -> float | None:
    """The next slot of a schedule that goes on."""
    if wake.trigger.kind not in TIMED or wake.paused or at.ended:
        return None
    try:
        plan = schedule(wake)
        plan.settle(at, now)
        return plan.next(at, now)
    except (HomiError, ValueError, OverflowError):
        return None


def _unmade(trigger: Trigger, now: Now) -> Wake:
    """A wake with that trigger, if it were made now."""
    at = rfc3339(now.wall)
    return Wake(
        id=ids.new(), to="-", from_="-", text="-", trigger=trigger, at=at, by="-"
    )


def _shown(when: float, trigger: Trigger, zone: str) -> Fire:
    """One of them."""
    note = ""
    if trigger.kind == "cron":
        module = importlib.import_module("homi.wakes.cron")
        note = str(module.cron(trigger.value, trigger.zone).told(when))
    here = datetime.fromtimestamp(when, zone_of(zone))
    return Fire(rfc3339(when), here.strftime("%a %Y-%m-%d %H:%M:%S %Z"), note)
