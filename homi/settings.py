"""What a person chose for one name: legs, pace, quiet, digest.  Pure.

Owns the keys, their defaults and what each may be; names.json keeps the text as it
was given.  homi-claim(1) lists the keys, homi-legs(7) what they do.
"""

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from homi.address import show
from homi.config import DIGEST_FROM, PACE_BURST, PACE_RATE, QUOTA_PENDING
from homi.errors import Usage
from homi.quiet import Quiet, parse_window

RATE_MIN = 0.001  # turns a second: one in a quarter of an hour
OFF = "off"
LEGS = (
    "claude",
    "hook",
    "codex",
    "command",
    "seat",
)  # the legs of this homi, the safest first


class Pace(NamedTuple):
    """How fast the letters of one sender may go to one session."""

    rate: float = PACE_RATE  # a second, in the long run
    burst: int = PACE_BURST  # at once


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the courier asks of one name."""

    legs: tuple[str, ...] = ()  # the only ones to use, in order; empty: every one
    pace: Pace = Pace()
    quiet: Quiet | None = None
    awake: bool = False  # quiet=off was chosen: the policy's hours are not for it
    digest: int | None = DIGEST_FROM  # a backlog over it goes as a digest; None: never

    def quiet_until(self, now: float) -> float | None:
        """Wall seconds until which nothing may be offered; None: it may now."""
        return None if self.quiet is None else self.quiet.until(now)


DEFAULTS = Settings()


class Shown(NamedTuple):
    """One setting as a person sees it."""

    key: str
    value: str
    own: bool  # chosen for this name; else the default


def read(raw: Mapping[str, object]) -> tuple[Settings, list[str]]:
    """The settings that names.json keeps of a name, and what of them is unusable:
    there the default counts.  Keys of a later version are passed over."""
    known: dict[str, object] = {}
    faults = []
    for key in _PARSERS:
        if key in raw:
            try:
                known[key] = _PARSERS[key](str(raw[key]))
            except Usage as error:
                faults.append(error.text)
    known["awake"] = raw.get("quiet") == OFF
    return msgspec.structs.replace(DEFAULTS, **known), faults


def change(
    raw: Mapping[str, object], pairs: Iterable[str], legs: Collection[str]
) -> dict[str, object]:
    """raw with each key=value of pairs; an empty value is the default again.

    Usage (64) for the first that cannot be, and then none is changed.  legs: those
    this homi has.
    """
    changed = dict(raw)
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise Usage(f"{show(pair)} is no key=value", hint=f"keys: {_KEYS}")
        if key not in _PARSERS:
            near = difflib.get_close_matches(key, _PARSERS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"keys: {_KEYS}"
            raise Usage(f"no setting {show(key)}", hint=hint)
        if not value:
            changed.pop(key, None)
            continue
        made = _PARSERS[key](value)
        if key == "legs" and isinstance(made, tuple):
            _check_known(made, legs)
        changed[key] = value
    return changed


def show_all(
    raw: Mapping[str, object], legs: Iterable[str], quiet: str, *, run: bool = False
) -> list[Shown]:
    """Every setting with its value, and whether the name has one of its own; quiet is
    the policy's, for all names without; run: its letters go to a command."""
    defaults = {
        "legs": ",".join(legs),
        "pace": f"{PACE_RATE:g}/{PACE_BURST}",
        "quiet": quiet or OFF,
        "digest": OFF if run else str(DIGEST_FROM),
    }
    return [
        Shown(key, str(raw[key]), own=True)
        if key in raw and not read({key: raw[key]})[1]
        else Shown(key, default, own=False)
        for key, default in defaults.items()
    ]


def _legs(text: str) -> tuple[str, ...]:
    """Names of legs with commas between, each once."""
    legs = tuple(leg.strip() for leg in text.split(","))
    if not all(legs) or len(set(legs)) < len(legs):
        raise Usage(
            f"legs: {show(text)} is no list of legs",
            hint="their names with commas between, each once, the first first",
        )
    return legs


def _check_known(legs: Iterable[str], known: Collection[str]) -> None:
    """64 for a leg this homi does not have."""
    for leg in legs:
        if leg not in known:
            raise Usage(f"legs: no leg {show(leg)}", hint=f"one of {', '.join(known)}")


def _pace(text: str) -> Pace:
    """RATE or RATE/BURST, neither above what the client itself takes."""
    first, slash, second = text.partition("/")
    try:
        rate, burst = float(first), int(second) if slash else 1
    except ValueError:
        raise Usage(
            f"pace: {show(text)} is no pace",
            hint="turns a second, 0.1, or with a burst of turns at once, 0.1/5",
        ) from None
    if not RATE_MIN <= rate <= PACE_RATE:
        raise Usage(
            f"pace: {first} turns a second are not from {RATE_MIN} to {PACE_RATE}",
            hint=f"over {PACE_RATE} the receiving client drops letters",
        )
    if not 1 <= burst <= PACE_BURST:
        raise Usage(
            f"pace: a burst of {burst} is not from 1 to {PACE_BURST}",
            hint=f"over {PACE_BURST} the receiving client drops letters",
        )
    return Pace(rate, burst)


def _quiet(text: str) -> Quiet | None:
    """A window of each day, or off."""
    return None if text == OFF else parse_window(text)


def _digest(text: str) -> int | None:
    """The backlog over which a digest goes, or off."""
    if text == OFF:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= len(_DIGEST_MAX)):
        raise Usage(
            f"digest: {show(text)} is no number of letters",
            hint=f"1 to {_DIGEST_MAX}, or {OFF}",
        )
    if not 1 <= int(text) <= QUOTA_PENDING:
        raise Usage(f"digest: {text} is not from 1 to {_DIGEST_MAX}", hint=f"or {OFF}")
    return int(text)


_DIGEST_MAX = str(QUOTA_PENDING)  # no mailbox holds more
_PARSERS: dict[str, Callable[[str], object]] = {
    "legs": _legs,
    "pace": _pace,
    "quiet": _quiet,
    "digest": _digest,
}
_KEYS = ", ".join(_PARSERS)
