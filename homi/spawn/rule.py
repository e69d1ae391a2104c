"""Whether a name may be started by itself now: pure, over what was counted.

Owns the bounds against an agent that is started again and again for nothing.
homi-spawn(1) states them.
"""

from collections.abc import Iterable

import msgspec

from homi.spawn.state import Spawned

HOUR = 3600.0  # s
NAME_STARTS = 4  # of one name in an hour
DEVICE_STARTS = 12  # of all names
BACKOFF_FIRST, BACKOFF_MAX = 60.0, 3600.0  # s between two starts after a failure
FAILURES_MAX = 3  # in a row: then a person has a look
STEADY = 60.0  # s: who lived so long, once ready, did not fail
DEPTH_MAX = 3  # agents that were started by agents, one by the other
ALIVE_MAX = 8  # programs that one agent and those it started have at a time


class Go(msgspec.Struct, frozen=True):
    """It may be started."""


class Wait(msgspec.Struct, frozen=True):
    """Not before that."""

    until: float  # wall seconds


class Failing(msgspec.Struct, frozen=True):
    """Not before a person ordered it."""


Verdict = Go | Wait | Failing


def judge(spawned: Spawned, all_starts: Iterable[float], now: float) -> Verdict:
    """Whether spawned may be started by itself at now (wall seconds)."""
    if spawned.failures >= FAILURES_MAX:
        return Failing()
    until = max(
        _over(spawned.starts, NAME_STARTS, now),
        _over(all_starts, DEVICE_STARTS, now),
        _backoff(spawned, now),
    )
    return Wait(until) if until > now else Go()


def recent(starts: Iterable[float], now: float) -> list[float]:
    """Those that count; one that a clock set back put into the future does not."""
    return sorted(at for at in starts if now - HOUR < at <= now)


def _over(starts: Iterable[float], most: int, now: float) -> float:
    """When there is room for one more among the last hour's; 0: there is."""
    counted = recent(starts, now)
    return counted[-most] + HOUR if len(counted) >= most else 0.0


def _backoff(spawned: Spawned, now: float) -> float:
    """When the pause after the last failure ends; 0: there was none."""
    counted = recent(spawned.starts, now)
    if not spawned.failures or not counted:
        return 0.0
    doubled = BACKOFF_FIRST * 2.0 ** min(spawned.failures - 1, 10)
    return counted[-1] + min(doubled, BACKOFF_MAX)
