"""How a link is: the words for it, and when it is tried again.

Owns the closed list of states, what each end of an exchange means for it and the
pace of redialling.  Pure: draws and times are arguments.  homi-link(1) lists them.
"""

from enum import StrEnum
from typing import NamedTuple

from homi.envelope import Reason
from homi.links.host import typed

NO_DAEMON = "no daemon answers"  # in the words of the homi over there
FIRST = 1.0  # s: the bound of the first pause behind a try that failed
LONGEST = 300.0  # s: the bound of all later ones, and the pace of what needs a person
STEADY = 1.0  # s a link must have been up for its loss to be redialled at once


class LinkState(StrEnum):
    """How the link to a device is."""

    UP = "up"
    CONNECTING = "connecting"
    AUTH = "auth"  # the device or its sshd does not take this device's key
    HOST_KEY = "host-key"  # ssh does not know the host, or knows it otherwise
    DEVICE_KEY = "device-key"  # who answers is not the device that was paired
    UNREACHABLE = "unreachable"
    VERSION = "version"  # the two homi have no protocol in common
    PAUSED = "paused"  # by a person, here


# A person has to do something: trying fast would only fill logs over there.
SLOW = frozenset({LinkState.AUTH, LinkState.HOST_KEY, LinkState.DEVICE_KEY})

# Why mail for a device in that state is not further.
REASONS = {
    LinkState.UP: None,
    LinkState.CONNECTING: Reason.LINK_DOWN,
    LinkState.AUTH: Reason.AUTH,
    LinkState.HOST_KEY: Reason.HOST_KEY,
    LinkState.DEVICE_KEY: Reason.DEVICE_KEY,
    LinkState.UNREACHABLE: Reason.LINK_DOWN,
    LinkState.VERSION: Reason.LINK_DOWN,
    LinkState.PAUSED: Reason.LINK_DOWN,
}

# By the reason an exchange ended with; any other says that the device is not there.
_BY_END = {
    "auth": LinkState.AUTH,
    "device-key": LinkState.DEVICE_KEY,
    "version": LinkState.VERSION,
}

# What is said where the other end said nothing.
_WORDS = {
    "closed": "the connection ended",
    "stopping": "its daemon stopped",
    "superseded": "another connection took its place",
    "paused": "paused there by a person",
    "silent": "nothing was heard from the other end",
}


class Verdict(NamedTuple):
    """What is known of a link that is not up."""

    state: LinkState
    text: str  # the words of who said it
    fix: str = ""  # what a person types to mend it

    @property
    def slow(self) -> bool:
        """Whether a person has to do something before a try can help."""
        return self.state in SLOW


class Refusal(Exception):
    """A dial that did not end in an exchange, and why."""

    def __init__(self, verdict: Verdict) -> None:
        """verdict is all there is to say."""
        super().__init__(verdict.text)
        self.verdict = verdict


def of_end(reason: str, text: str, host: str | None) -> Verdict:
    """What the end of an exchange, by its reason, says of the link."""
    state = _BY_END.get(reason, LinkState.UNREACHABLE)
    pair = f"homi pair {host or 'USER@HOST'}"
    fixes = {
        LinkState.AUTH: pair,
        LinkState.DEVICE_KEY: f"{pair}, if the device was set up anew",
        LinkState.VERSION: "update the older of the two homi",
    }
    words = text or _WORDS.get(reason, reason)
    start = f"ssh {typed(host)} homi start" if host and NO_DAEMON in text else ""
    return Verdict(state, words, fixes.get(state, start))


def pause(state: LinkState, failures: int, draw: float) -> float:
    """Seconds to the next try behind so many failures in a row; draw in [0, 1).

    None behind the loss of a link that was up; then full jitter under a bound that
    doubles, so that devices that lost one hub together do not come back together.
    """
    if state in SLOW:
        return LONGEST * (0.9 + 0.2 * draw)
    if failures <= 0:
        return 0.0
    return draw * min(LONGEST, FIRST * 2.0 ** min(failures - 1, 30))
