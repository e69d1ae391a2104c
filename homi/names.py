"""Claims, generations and the reply desk: which names are ours.

Owns names.json and the numbers of sockets and records.  Knows nothing of which
session has a name.  homi-mailbox(5) lists the fields, homi-address(7) the grammar.
"""

import secrets
import uuid
from collections.abc import Callable, Collection, Iterable

import msgspec

from homi import address as grammar
from homi import fronts, settings
from homi.address import OWNER, POSTMASTER, Address, Name
from homi.aliases import Aliases
from homi.claims import (
    Alias,
    Body,
    Claim,
    DeskEntry,
    Mirror,
    Released,
    State,
    check_body,
    free_number,
    last_generation,
    real_folder,
)
from homi.clock import rfc3339
from homi.departures import Departures
from homi.desk import Desk, DeskSubscriber
from homi.envelope import SessionRef
from homi.errors import CannotCreate, NoSuchName, Usage
from homi.mirrors import Mirrors
from homi.settings import Settings
from homi.store.state import StateFile

Subscriber = Callable[[Name, Claim | None], None]


class Names:
    """What names.json holds.  Each change is on disk before its call returns."""

    def __init__(self, file: StateFile[State]) -> None:
        """Load the file, and save what a first start mints: the instance and the
        numbers of the built-ins.  findings: what was unreadable."""
        found, self.findings = file.load()
        self._file = file
        self._subscribers: list[Subscriber] = []
        self._state = found or State(instance=secrets.token_hex(8))
        self._desk = Desk(
            self._state.desk, self._number, lambda desk: self._save(desk=desk)
        )
        self.aliases = Aliases(
            self._state.aliases, self._number, lambda every: self._save(aliases=every)
        )
        self.mirrors = Mirrors(
            self._state.mirrors, self._number, self._desk.of, self._keep_mirrors
        )
        self.departures = Departures(lambda: self._state, self._number, self._become)
        missing = [n for n in (OWNER, POSTMASTER) if n not in self._state.claims]
        if missing or found is None:
            claims = dict(self._state.claims)
            for name in missing:
                claims[name] = self._mint(name, 0, None)
            self._save(claims=claims)

    @property
    def instance(self) -> str:
        """The hex id of this state root, minted once."""
        return self._state.instance

    @property
    def domain(self) -> str:
        """The pidDomain of our records; two state roots never have the same."""
        return f"homi:{self.instance}"

    def get(self, name: str) -> Claim | None:
        """The claim or built-in of that name, case folded."""
        claim = self._state.claims.get(name)
        if claim is None and name.isascii():
            claim = self._state.claims.get(name.lower())
        return claim

    def is_room(self, name: Name) -> bool:
        """Whether the name is a room's."""
        return (claim := self._state.claims.get(name)) is not None and claim.room

    def was(self, name: str) -> bool:
        """Whether the name was claimed and released."""
        return name in self._state.released

    def require(self, name: str) -> Claim:
        """The claim or built-in of that name; NoSuchName (67) with the nearest."""
        claim = self.get(name)
        if claim is None:
            near = self.nearest(name)
            hint = f"did you mean {near}?" if near else "homi ls shows the names here"
            none = f"no name {grammar.spelled(name)} on this device"
            raise NoSuchName(none, hint=hint)
        return claim

    def all(self) -> list[Claim]:
        """Every claim by name, the built-ins (see Claim.built_in) among them."""
        return [self._state.claims[name] for name in sorted(self._state.claims)]

    def nearest(self, text: str) -> str | None:
        """The claimed name closest to text, None when nothing is close."""
        return grammar.nearest(text, self._state.claims)

    def claim(self, name: str, cwd: str | None, now: float) -> tuple[Claim, bool]:
        """Make name ours; False: it was already, and a cwd given now counts from now.

        now is wall seconds.  Usage (64) for a bad or reserved name, NoInput (66) when
        cwd is no folder, CannotCreate (73) for what is called so behind a fronted name.
        An alias of that name stays; the claim stands before it.
        """
        wanted = self._no_room(grammar.parse_claimable(name))
        folder = None if cwd is None else real_folder(cwd)
        claim = self.get(wanted)
        if claim is None:
            self._not_behind(wanted)
            claim = self._mint(wanted, now, folder)
            self._put(claim)
            return claim, True
        if folder is not None and folder != claim.cwd:
            claim = msgspec.structs.replace(claim, cwd=folder)
            self._put(claim)
        return claim, False

    def open_room(self, name: str, now: float) -> Claim:
        """Make name a room; 64 for a bad name, 73 for one that is claimed."""
        wanted = grammar.parse_claimable(name)
        if self.get(wanted) is not None:
            what, hint = "claimed", f"homi ls {wanted} shows it"
            if self.is_room(wanted):
                what, hint = "a room", f"homi room ls {wanted} shows who is in it"
            raise CannotCreate(f"{wanted} is {what} already", hint=hint)
        self._not_behind(wanted)
        self._put(msgspec.structs.replace(self._mint(wanted, now, None), room=True))
        return self.require(wanted)

    def release(self, name: str, *, room: bool = False) -> Claim:
        """End a claim, and return it as it was; its mailbox is not touched.

        NoSuchName (67), Usage (64) for a built-in, CannotCreate (73) for a room where
        none is meant.
        """
        claim = self.require(name)
        if not room:
            self._no_room(claim.name)
        if claim.built_in:
            raise Usage(f"{claim.name} cannot be released")
        claims = dict(self._state.claims)
        del claims[claim.name]
        released = dict(self._state.released)
        released[claim.name] = Released(claim.number, claim.generation)
        self._save(claims=claims, released=released)
        self._tell(claim.name, None)
        return claim

    def check_front(self, name: Name) -> None:
        """Usage (64) or CannotCreate (73) where the name cannot be in front."""
        fronts.check_front(self._state.claims, self.aliases.get, name)

    def front(self, name: str, *, on: bool) -> Claim:
        """Keep whether the name stays listed while a session has it (check_front);
        Usage (64) for a built-in."""
        claim = self._ownable(name)
        if on:
            self.check_front(claim.name)
        if on != claim.front:
            claim = msgspec.structs.replace(claim, front=on)
            self._put(claim)
        return claim

    def fronted(self, name: Name) -> bool:
        """Whether the name is claimed and its sessions go by another."""
        return (claim := self._state.claims.get(name)) is not None and claim.front

    def front_of(self, name: Name) -> Name | None:
        """The fronted name whose sessions are called so; None: there is none."""
        return fronts.front_of(self._state.claims, name)

    def add_alias(self, name: str, to: Address, now: float) -> tuple[Alias, str]:
        """Let name lead to that address; with it where it led before, if anywhere.

        now is wall seconds.  Usage (64) for a bad name or a circle, CannotCreate (73)
        where name is claimed.
        """
        wanted = grammar.parse_claimable(name)
        if self.get(wanted) is not None:
            raise CannotCreate(
                f"{wanted} is claimed, so it cannot be an alias",
                hint=f"homi release {wanted} first",
            )
        self._not_behind(wanted)
        return self.aliases.add(wanted, to, now)

    def bind(self, name: str, ref: SessionRef | None) -> Claim:
        """Keep which session a person gave the name to; Usage (64) for a built-in."""
        return self._put(msgspec.structs.replace(self._ownable(name), bound=ref))

    def embody(self, name: str, body: Body | None) -> Claim:
        """Keep what the name is bound to, or that it is no more; Usage (64) for a
        built-in, CannotCreate (73) where another name has that body."""
        claim = self._ownable(name)
        if body is not None:
            self.check_body(claim.name, body)
        return self._put(msgspec.structs.replace(claim, body=body))

    def check_body(self, name: Name, body: Body) -> None:
        """CannotCreate (73) where another name has that body."""
        check_body(self._state.claims.values(), name, body)

    def embodied(self, ref: SessionRef) -> Claim | None:
        """The claim that is bound to that body."""
        return next((c for c in self.all() if c.body and c.body.ref == ref), None)

    def settings(self, name: str) -> Settings:
        """What was chosen for the name; the defaults for one without a claim."""
        claim = self.get(name)
        if claim is None or not claim.settings:
            return settings.DEFAULTS
        return settings.read(claim.settings)[0]

    def choose(self, name: str, pairs: Iterable[str], legs: Collection[str]) -> Claim:
        """Let each key=value of pairs count from now on, all of them or none.

        legs: those this homi has.  NoSuchName (67); Usage (64) for a built-in, and
        for a pair that cannot be.
        """
        claim = self._ownable(name, "is never offered to a session")
        changed = settings.change(claim.settings, pairs, legs)
        return self._put(msgspec.structs.replace(claim, settings=changed))

    def desk(self, address: str, now: float, ask: str = "") -> int:
        """The number that stands for a sender's address: its mirror's, else one at
        the desk (Desk.number); for the answer to an ask always one at the desk."""
        mirrored = None if ask else self.mirrors.number(address, now)
        return self._desk.number(address, now, ask) if mirrored is None else mirrored

    def ask_of(self, number: int) -> str:
        """The id of the ask whose answer a desk number takes; else empty."""
        return self._desk.ask(number)

    def desk_numbers(self) -> dict[int, str]:
        """Every desk number in use with its address."""
        return self._desk.all()

    def subscribe(self, callback: Subscriber) -> None:
        """Call back after each claim, change or release (None), in order."""
        self._subscribers.append(callback)

    def subscribe_desk(self, callback: DeskSubscriber) -> None:
        """Call back after a desk number was allotted, or retired (None)."""
        self._desk.subscribe(callback)

    def _mint(self, name: Name, now: float, cwd: str | None) -> Claim:
        """A claim that was not there; number and generation go on from a released."""
        before = self._state.released.get(name)
        return Claim(
            name=name,
            number=self._number() if before is None else before.number,
            generation=last_generation(self._state, name) + 1,
            at=rfc3339(now) if now else "",
            session_id=str(uuid.uuid4()),
            cwd=cwd,
        )

    def _number(self) -> int:
        return free_number(self._state)

    def _ownable(self, name: str, why: str = "belongs to no session") -> Claim:
        """The claim of that name; 64 for one that no session ever has."""
        claim = self.require(name)
        if claim.ownerless:
            raise Usage(f"{claim.name} {why}")
        return claim

    def _no_room(self, name: Name) -> Name:
        """The same; 73 for a room's."""
        if self.is_room(name):
            raise CannotCreate(f"{name} is a room", hint=f"homi room rm {name} ends it")
        return name

    def _not_behind(self, name: Name) -> None:
        fronts.check_not_behind(self._state.claims, name)

    def _put(self, claim: Claim) -> Claim:
        """Save one claim, tell it and return it; a released one of that name ends."""
        claims = {**self._state.claims, claim.name: claim}
        released = dict(self._state.released)
        released.pop(claim.name, None)
        self._save(claims=claims, released=released)
        self._tell(claim.name, claim)
        return claim

    def _save(self, **changes: object) -> None:
        """Let the file, then the memory, hold the change; StorageFailed (74) leaves
        both as they were."""
        state = msgspec.structs.replace(self._state, **changes)
        self._file.save(state)
        self._state = state

    def _become(self, state: State, name: Name) -> None:
        """Save what became of a name that moves, and tell it: an alias in the place of
        a claim first, so that what both are bound to is never without either."""
        self._file.save(state)
        before, claim = self._state.claims.get(name), state.claims.get(name)
        self._state = state
        if claim is not None and claim != before:
            self._tell(name, claim)
        self.aliases.become(state.aliases, name)
        if claim is None and before is not None:
            self._tell(name, None)

    def _keep_mirrors(self, mirrors: dict[str, Mirror], ended: list[Mirror]) -> None:
        """Save mirrors; an address has one number, whether there or at the desk."""
        back = {
            each.number: DeskEntry(each.to, each.used) for each in ended if each.used
        }
        desk = self._desk.exchanged(mirrors.keys(), back)
        self._save(mirrors=mirrors, desk=desk)
        self._desk.become(desk)

    def _tell(self, name: Name, claim: Claim | None) -> None:
        """Tell every subscriber, in order of subscription."""
        for callback in self._subscribers:
            callback(name, claim)
