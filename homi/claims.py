"""What names.json holds: claims, what is left of released ones, desk numbers.

Owns the fields of the file and what of them cannot be; changes nothing.
homi-mailbox(5) lists them.
"""

import msgspec

from homi import address as grammar
from homi.address import BUILT_IN, Name
from homi.envelope import SessionRef

# Above every pid a system can have, and a canonical decimal of 12 digits: a record
# of that number is never taken for a process's, a socket's path stays short.
NUMBER_LOW = 10**11
NUMBER_HIGH = 9 * 10**11


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A durable address of this device."""

    name: Name
    number: int  # of its socket and record; stays for ever, over release and claim
    generation: int = 1  # grows with each new claim of the name
    at: str = ""  # RFC 3339: when it was claimed
    session_id: str = ""  # UUID its planted record carries; belongs to no session
    cwd: str | None = None  # real path: only a session in it or below may own
    bound: SessionRef | None = None  # taken by a person for that session
    settings: dict[str, object] = {}  # as homi.settings reads them

    @property
    def built_in(self) -> bool:
        """owner or postmaster: a mailbox and a socket, never a record or an owner."""
        return self.name in BUILT_IN


class Released(msgspec.Struct, frozen=True):
    """What outlives a claim: a new one gets the same number and a higher generation."""

    number: int
    generation: int


class Desk(msgspec.Struct, frozen=True):
    """A number that stands for a sender without a claimed name."""

    address: str
    used: float = 0.0  # wall seconds, as of the last save


class State(msgspec.Struct, kw_only=True):
    """The whole of names.json."""

    instance: str
    claims: dict[str, Claim] = {}
    released: dict[str, Released] = {}
    desk: dict[str, Desk] = {}  # by number; JSON has no other keys than text

    def __post_init__(self) -> None:
        """ValueError for numbers and names that cannot be: of two names on one
        socket, one would get the other's mail."""
        for key, claim in self.claims.items():
            if key != claim.name or not grammar.is_name(key):
                raise ValueError("a claim is not under its name")
        numbers = [claim.number for claim in self.claims.values()]
        numbers += [entry.number for entry in self.released.values()]
        numbers += [int(number) for number in self.desk]
        if len(set(numbers)) < len(numbers):
            raise ValueError("a number stands for two")
        if not all(NUMBER_LOW <= number < NUMBER_HIGH for number in numbers):
            raise ValueError("a number is out of range")
