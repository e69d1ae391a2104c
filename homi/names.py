"""Claims, generations and the reply desk: which names are ours."""

from collections.abc import Callable

import msgspec

from homi.address import BUILT_IN, Name
from homi.envelope import SessionRef


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A durable address of this device."""

    name: Name
    number: int  # of its socket and record; stays for ever, over release and claim
    generation: int = 1  # grows with each new claim of the name
    at: str = ""  # RFC 3339: when it was claimed
    session_id: str = ""  # UUID its planted record carries; belongs to no session
    cwd: str | None = None  # real path: only a session in it or below may own
    bound: SessionRef | None = None  # taken by a person for that session

    @property
    def built_in(self) -> bool:
        """owner or postmaster: a mailbox and a socket, never a record or an owner."""
        return self.name in BUILT_IN


Subscriber = Callable[[Name, Claim | None], None]
DeskSubscriber = Callable[[int, str | None], None]


class Names:
    """What names.json holds.  Each change is on disk before its call returns."""

    instance: str  # hex id of this state root; the record domain is homi:<instance>

    @property
    def domain(self) -> str:
        """The pidDomain of our records."""
        raise NotImplementedError

    def get(self, name: str) -> Claim | None:
        """The claim or built-in of that name."""
        raise NotImplementedError

    def require(self, name: str) -> Claim:
        """The claim or built-in of that name; NoSuchName (67) with the nearest."""
        raise NotImplementedError

    def all(self) -> list[Claim]:
        """Every claim by name, the built-ins (see Claim.built_in) among them."""
        raise NotImplementedError

    def nearest(self, text: str) -> str | None:
        """The claimed name closest to text, None when nothing is close."""
        raise NotImplementedError

    def claim(self, name: str, cwd: str | None, now: float) -> tuple[Claim, bool]:
        """Make name ours; False: it was already.  now is wall seconds.
        Usage (64) for a bad or reserved name, NoInput (66) when cwd is no folder."""
        raise NotImplementedError

    def release(self, name: str) -> Claim:
        """End a claim; NoSuchName (67), Usage (64) for a built-in."""
        raise NotImplementedError

    def bind(self, name: str, ref: SessionRef | None) -> Claim:
        """Keep which session a person gave the name to."""
        raise NotImplementedError

    def by_number(self, number: int) -> Claim | None:
        """The claim or built-in that has this number."""
        raise NotImplementedError

    def desk(self, address: str, now: float) -> int:
        """The desk number that stands for a sender's address; allotted once, the
        least recently used is retired beyond 1,024."""
        raise NotImplementedError

    def desk_address(self, number: int) -> str | None:
        """The address behind a desk number; None: it was retired or never was."""
        raise NotImplementedError

    def desk_numbers(self) -> dict[int, str]:
        """Every desk number in use with its address."""
        raise NotImplementedError

    def subscribe(self, callback: Subscriber) -> None:
        """Call back after each claim, change or release (None), in order."""
        raise NotImplementedError

    def subscribe_desk(self, callback: DeskSubscriber) -> None:
        """Call back after a desk number was allotted, or retired (None)."""
        raise NotImplementedError
