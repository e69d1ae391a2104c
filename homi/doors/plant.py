"""Our records in the agent clients' registries: who is shown there, and kept so.

Owns which claims are planted and what to do when someone takes a record away.
When a claim may be shown is the door's to say.  homi-legs(7) has the format.
"""

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence, Set
from typing import NamedTuple

from homi.claims import Listed
from homi.errors import HomiError
from homi.peers.registry import Planter

log = logging.getLogger("homi.peer")

TRIES = 5  # plantings of one name in a FIGHT before homi gives way
FIGHT = 60.0  # s


class Shown(NamedTuple):
    """A record as it was planted."""

    claim: Listed
    socket: str
    started: float  # wall seconds


class Records:
    """Planted records, by number."""

    def __init__(
        self, planters: Sequence[Planter], monotonic: Callable[[], float]
    ) -> None:
        """Each record stands in the registry of every planter."""
        self._planters = planters
        self._now = monotonic
        self._shown: dict[int, Shown] = {}
        self._again: dict[int, deque[float]] = {}
        self._failing: dict[tuple[str, int], str] = {}  # why; told already
        self.fights: dict[str, str] = {}  # name → who keeps it from being listed

    def sweep(self, keep: Set[int] = frozenset()) -> dict[int, str]:
        """Take away what an earlier run left, except of the numbers to keep; number →
        socket path of it."""
        swept: dict[int, str] = {}
        for planter in self._planters:
            try:
                swept |= planter.sweep_own(keep)
            except (OSError, HomiError) as error:
                log.warning("leftovers in %s stay: %s", planter.folder, error)
        return swept

    def show(self, claim: Listed, socket: str, started: float) -> None:
        """Plant the claim's record; its socket listens already."""
        if claim.number in self._shown:
            return
        self._shown[claim.number] = shown = Shown(claim, socket, started)
        for planter in self._planters:
            self._plant(planter, shown)

    def shown(self, number: int) -> str:
        """The name a number is listed under; empty: it is not."""
        shown = self._shown.get(number)
        return "" if shown is None else shown.claim.name

    @property
    def unlisted(self) -> dict[str, str]:
        """Why a name that should be listed is not, or may not be, by name.  Where no
        client has ever run, nobody misses it."""
        found = dict(self.fights)
        for (folder, number), why in self._failing.items():
            if number in self._shown and os.path.isdir(os.path.dirname(folder)):
                found[self._shown[number].claim.name] = f"sessions do not see it: {why}"
        return found

    def hide(self, number: int) -> None:
        """Take the record away, now: two equal names make every send by name fail."""
        shown = self._shown.pop(number, None)
        self._again.pop(number, None)
        if shown is None:
            return
        self.fights.pop(shown.claim.name, None)
        for planter in self._planters:
            try:
                planter.withdraw(number, shown.socket)
            except OSError as error:
                log.error(
                    "%s stays listed in %s: %s", shown.claim.name, planter.folder, error
                )

    def hide_all(self) -> None:
        """Take every record away."""
        for number in list(self._shown):
            self.hide(number)

    def numbers(self) -> Iterable[int]:
        """The numbers that should be listed."""
        return self._shown.keys()

    def check(self, number: int) -> None:
        """Plant the record again where it is missing, a few times a minute."""
        shown = self._shown.get(number)
        if shown is None:
            return
        tries = self._again.setdefault(number, deque())
        now = self._now()
        while tries and now - tries[0] >= FIGHT:
            tries.popleft()
        missing = [each for each in self._planters if not each.present(number)]
        if not missing:
            if not tries:
                self.fights.pop(shown.claim.name, None)
        elif self._may_again(shown.claim.name, len(tries)):
            tries.append(now)
            for planter in missing:
                self._plant(planter, shown)

    def _may_again(self, name: str, tries: int) -> bool:
        """Whether another planting is in order; a fight is told once, then slow."""
        if tries < (1 if name in self.fights else TRIES):
            return True
        if name not in self.fights:
            text = f"its record did not stay, planted {TRIES} times again in a minute"
            self.fights[name] = text
            log.warning("%s may not be listed: %s", name, text)
        return False

    def _plant(self, planter: Planter, shown: Shown) -> None:
        """One record in one registry; a failure is told and tried again later."""
        claim = shown.claim
        key = (planter.folder, claim.number)
        try:
            planter.plant(
                claim.number,
                claim.name,
                shown.socket,
                claim.cwd or "/",
                claim.session_id,
                shown.started,
            )
        except (OSError, HomiError) as error:
            if key not in self._failing:
                where = planter.folder
                log.warning("%s is not listed in %s: %s", claim.name, where, error)
            self._failing[key] = _why(error)
            return
        self._failing.pop(key, None)


def _why(error: OSError | HomiError) -> str:
    """Why a record could not be planted, and what mends it, as a remark."""
    if isinstance(error, HomiError):
        return error.text + (f" ({error.hint})" if error.hint else "")
    return f"{error.filename}: {error.strerror}"
