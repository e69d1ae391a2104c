"""Times and zones as a person writes them in front of a wake.

Owns their forms; every clock is an argument.  homi-wake(1) lists them.
"""

import os
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from homi.address import show
from homi.clock import rfc3339, span
from homi.errors import Usage

LOCALTIME = "/etc/localtime"
TIMES = "+15m, 09:30, 2026-12-24T18:00, or an RFC 3339 time"
# A zone of TZ that never changes, by whole hours: <+03>-3, UTC0.
_FIXED = re.compile(
    r"(?:<[A-Za-z0-9+-]{3,}>|[A-Za-z]{3,})([+-]?(?:0?[0-9]|1[0-2]))(?::00)*", re.ASCII
)
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)


def seconds(text: str) -> int:
    """A span (90s, 15m, 3h, 2d, 1w), or plain seconds; Usage (64) else."""
    try:
        plain = text.isascii() and text.isdecimal() and len(text) < 10
        return int(text) if plain else int(span(text))
    except ValueError:
        raise Usage(
            f"{show(text)} is no span of time", hint="90s, 15m, 3h, 2d, 1w"
        ) from None


def moment(text: str, zone: str, now: float) -> str:
    """A moment to come, as RFC 3339 UTC; Usage (64) where it is none.

    A time of day is the next such; without a zone of its own it is one of zone.
    """
    try:
        if text.startswith("+"):
            return rfc3339(now + span(text[1:]))
        here = datetime.fromtimestamp(now, zone_of(zone))
        if found := _CLOCK.fullmatch(text):
            then = here.replace(
                hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0
            )
            if then.timestamp() <= now:
                then += timedelta(days=1)
            return rfc3339(then.timestamp())
        then = datetime.fromisoformat(text)
        if then.tzinfo is None:
            then = then.replace(tzinfo=here.tzinfo)
        return rfc3339(then.timestamp())
    except (ValueError, OverflowError, OSError):
        raise Usage(f"{show(text)} is no time to come", hint=TIMES) from None


def zone_of(name: str) -> ZoneInfo:
    """A time zone by its name; Usage (64) where there is none of it."""
    try:
        return ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        raise Usage(
            f"no time zone {show(name)}", hint="as in Europe/Berlin, or UTC"
        ) from None


def local_zone(env: Mapping[str, str], link: str = LOCALTIME) -> str:
    """The name of the zone in which times are written here; UTC where it has none.
    Usage (64) where TZ says one that has no name, as by rules of its own."""
    given = env.get("TZ", "").lstrip(":")
    if given:
        if fixed := _FIXED.fullmatch(given):  # POSIX counts westward, and so do these
            hours = int(fixed[1])
            return f"Etc/GMT{hours:+d}" if hours else "UTC"
        name = _named(given) if given.startswith("/") else given
        try:
            zone_of(name)
        except Usage:
            raise Usage(
                f"TZ is {show(given)}, which is the name of no time zone here",
                hint="--tz Europe/Berlin, or TZ=Europe/Berlin in front",
            ) from None
        return name
    try:
        zone_of(name := _named(link))
    except Usage:
        return "UTC"
    return name


def _named(path: str) -> str:
    """The name of the zone whose file a path leads to; empty: it is none."""
    return os.path.realpath(path).partition("/zoneinfo/")[2]
