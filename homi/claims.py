"""What names.json holds: claims, aliases, mirrors, what is left of released claims,
desk numbers.

Owns the fields of the file and what of them cannot be; changes nothing.
homi-mailbox(5) lists them.
"""

import os
import secrets
from collections.abc import Container, Iterable, Mapping
from itertools import islice
from typing import TypeVar

import msgspec

from homi import address as grammar
from homi.address import BUILT_IN, Device, Name
from homi.envelope import SessionRef
from homi.errors import CannotCreate, NoInput, Usage

# Above every pid a system can have, and a canonical decimal of 12 digits: a record
# of that number is never taken for a process's, a socket's path stays short.
NUMBER_LOW = 10**11
NUMBER_HIGH = 9 * 10**11


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a name was bound to that has no record in the registries of the clients."""

    client: str  # codex | command | seat: the leg that reaches it
    id: str  # what names it for ever: a thread, a pane; of a command a word
    home: str = ""  # where it lives: a config folder, a tmux socket
    cwd: str = ""
    options: dict[str, object] = {}  # as its leg reads them

    @property
    def ref(self) -> SessionRef:
        """Its identity in a ledger."""
        return SessionRef(0, f"{self.client}:{self.id}", self.id)


class Moving(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a name is on its way to: it stores what comes, and hands over nothing."""

    device: Device
    to: Name  # what it is called there
    generation: int  # of the claim there, above every one there was
    at: str = ""  # RFC 3339: since when
    there: bool = False  # claimed there: what came here meanwhile goes on to it
    cwd: str = ""  # its folder there
    session: str = ""  # whose conversation goes along; empty: of the last one known
    spawn: bool = False  # an agent is to be started for it there
    manifest: str = ""  # SHA-256 of what goes along, while it is kept here


class Waited(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How long a name waited for its older mail, while a daemon ran."""

    s: float = 0.0  # in all
    still: float = 0.0  # s since any of it moved
    seen: str = ""  # what was seen then


class Came(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a claim came from."""

    device: Device
    name: Name  # what it was called there; empty: it is a copy
    manifest: str = ""  # SHA-256 of what came with it; empty: all of it is in place
    spawn: bool = False  # an agent is still to be started for it
    session: str = ""  # with that conversation, once it is in place
    # Addresses by which older mail of it is still coming: what is newer waits for
    # that.  None: for nothing.
    older: list[str] = []
    waited: Waited | None = None  # for that; None: no daemon waited long


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A durable address of this device."""

    name: Name
    number: int  # of its socket and record; stays for ever, over release and claim
    generation: int = 1  # grows with each new claim of the name
    at: str = ""  # RFC 3339: when it was claimed
    session_id: str = ""  # UUID its planted record carries; belongs to no session
    cwd: str | None = None  # real path: only a session in it or below may own
    bound: SessionRef | None = None  # taken by a person for that session
    body: Body | None = None  # while it lives it has the name, before any session
    settings: dict[str, object] = {}  # as homi.settings reads them
    front: bool = False  # its record stays listed; the session goes by another name
    room: bool = False  # what comes goes to its members; it belongs to no session
    moving: Moving | None = None  # on its way to another device
    came: Came | None = None  # from another device

    @property
    def refs(self) -> list[SessionRef]:
        """What it is bound to."""
        body = [] if self.body is None else [self.body.ref]
        return body if self.bound is None else [*body, self.bound]

    @property
    def run(self) -> bool:
        """Whether each of its letters is one run of a command."""
        return self.body is not None and self.body.client == "command"

    @property
    def built_in(self) -> bool:
        """owner or postmaster: a mailbox and a socket, never a record or an owner."""
        return self.name in BUILT_IN

    @property
    def ownerless(self) -> bool:
        """Whether no session can have it, now or ever."""
        return self.built_in or self.room or self.moving is not None


class Alias(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A name without a mailbox: what comes for it is for another address."""

    name: Name
    to: str  # the address as it was given
    number: int  # of its socket and record
    generation: int = 1
    at: str = ""  # RFC 3339: when it was made
    session_id: str = ""  # UUID its planted record carries; belongs to no session
    moved: int = 0  # it was a claim that moved there: the generation it has there

    @property
    def built_in(self) -> bool:
        """Nobody's name is built in as an alias."""
        return False

    @property
    def cwd(self) -> str | None:
        """No folder: it belongs to no session."""
        return None


class Mirror(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A name of another device that is listed here: what comes is for it there."""

    name: Name  # there
    device: Device
    number: int  # of its socket and record
    generation: int = 1  # of the claim there
    at: str = ""  # RFC 3339: since when it is known here
    session_id: str = ""  # UUID its planted record carries; belongs to no session
    used: float = 0.0  # wall seconds of its first use as a sender's; 0: never

    @property
    def to(self) -> str:
        """The full address."""
        return f"{self.name}@{self.device}"

    @property
    def built_in(self) -> bool:
        """What is built in is never mirrored."""
        return False

    @property
    def cwd(self) -> str | None:
        """No folder: it belongs to no session here."""
        return None


Listed = Claim | Alias | Mirror  # what has a number, a socket and a record


class Released(msgspec.Struct, frozen=True):
    """What outlives a claim: a new one gets the same number and a higher generation."""

    number: int
    generation: int


class Forced(msgspec.Struct, frozen=True):
    """A move that was ended without asking the other device, which is to be told."""

    device: Device
    to: Name  # what the name may be called there
    generation: int  # the name has here now: a lower one yields
    manifest: str = ""  # SHA-256 of what went along, and is of no use there


class Arrival(msgspec.Struct, frozen=True):
    """The last move by which a name came here, kept when it is gone again."""

    device: Device
    name: Name  # what it was called there; empty: it is a copy
    generation: int


class DeskEntry(msgspec.Struct, frozen=True):
    """A number that stands for a sender without a claimed name."""

    address: str
    used: float = 0.0  # wall seconds, as of the last save
    ask: str = ""  # the id of the one message that it takes the answer to


class State(msgspec.Struct, kw_only=True):
    """The whole of names.json."""

    instance: str
    claims: dict[str, Claim] = {}
    aliases: dict[str, Alias] = {}
    mirrors: dict[str, Mirror] = {}  # by full address
    released: dict[str, Released] = {}
    desk: dict[str, DeskEntry] = {}  # by number; JSON has no other keys than text
    fences: dict[str, int] = {}  # the highest generation a name is known to have had
    forced: dict[str, Forced] = {}
    arrivals: dict[str, Arrival] = {}

    def __post_init__(self) -> None:
        """ValueError for numbers and names that cannot be: of two names on one
        socket, one would get the other's mail."""
        listed: list[tuple[str, Listed]] = [*self.claims.items()]
        listed += self.aliases.items()
        for key, each in listed:
            if key != each.name or not grammar.is_name(key):
                raise ValueError("a claim or an alias is not under its name")
        for key, mirror in self.mirrors.items():
            whole = grammar.is_name(mirror.name) and grammar.is_name(mirror.device)
            if key != mirror.to or not whole:
                raise ValueError("a mirror is not under its address")
        numbers = self.numbers()
        if len(set(numbers)) < len(numbers):
            raise ValueError("a number stands for two")
        if not all(NUMBER_LOW <= number < NUMBER_HIGH for number in numbers):
            raise ValueError("a number is out of range")

    def numbers(self) -> list[int]:
        """Every number that stands for something."""
        parts = (self.claims, self.aliases, self.mirrors, self.released)
        given = [each.number for part in parts for each in part.values()]
        return given + [int(number) for number in self.desk]


KNOWN_MAX = 4_096  # names without a claim here of which a move is remembered

Known = TypeVar("Known")


def remembered(
    known: Mapping[str, Known], name: Name, entry: Known, claims: Container[str]
) -> dict[str, Known]:
    """What is known of names, with this one as the newest: of too many the oldest is
    forgotten whose name has no claim here."""
    kept = {key: each for key, each in known.items() if key != name}
    kept[name] = entry
    over = len(kept) - KNOWN_MAX
    if over > 0:
        old = (key for key in kept if key not in claims and key != name)
        for key in list(islice(old, over)):
            del kept[key]
    return kept


def free_number(state: State) -> int:
    """A number nobody has.  One that was retired comes again by a chance of one in
    10**11 only, so no list of those is kept."""
    taken = set(state.numbers())
    while True:
        number = NUMBER_LOW + secrets.randbelow(NUMBER_HIGH - NUMBER_LOW)
        if number not in taken:
            return number


def last_generation(state: State, name: Name) -> int:
    """The highest generation the name is known to have had; 0: none."""
    claim, released = state.claims.get(name), state.released.get(name)
    found = [each.generation for each in (claim, released) if each is not None]
    return max([state.fences.get(name, 0), *found])


def ways(alias: Alias | None, came: Came) -> list[str]:
    """Where mail for the name went from here until it came: over its alias, and to
    where it comes from.  A copy begins anew."""
    if not came.name:
        return []
    led = [] if alias is None else [alias.to]
    return list(dict.fromkeys([*led, f"{came.name}@{came.device}"]))


def real_folder(cwd: str) -> str:
    """The real path of a folder a claim is bound to; 64 or 66 where it is none."""
    if not os.path.isabs(cwd) or "\0" in cwd:
        raise Usage(f"folder {grammar.show(cwd)} is not an absolute path")
    real = os.path.realpath(cwd)
    if not os.path.isdir(real):
        raise NoInput(f"no folder {grammar.show(cwd)}")
    return real


def check_body(claims: Iterable[Claim], name: Name, body: Body) -> None:
    """CannotCreate (73) where another name than that has the body."""
    for each in claims:
        if each.body and each.body.ref == body.ref and each.name != name:
            raise CannotCreate(
                f"{each.name} has that {body.client} already",
                hint=f"homi release {each.name}, or bind another",
            )
