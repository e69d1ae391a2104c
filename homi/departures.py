"""Names on their way from device to device, as names.json keeps them.

Owns the steps that a move has on disk, each of them one save, and the fence: what has
a lower generation than was known of a name is refused.  homi-move(1).
"""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from homi.address import Device, Name, parse_address
from homi.claims import (
    Alias,
    Arrival,
    Came,
    Claim,
    Forced,
    Moving,
    Released,
    State,
    Waited,
    last_generation,
    remembered,
    ways,
)
from homi.clock import rfc3339
from homi.errors import BadMessage, CannotCreate, NoSuchName, NotAllowed, NotReached
from homi.routing import ALIASES_MAX

Become = Callable[[State, Name], None]

AHEAD = 1 << 20  # generations that a device may be ahead of what is known here


class Departures:
    """The moves of one device.  Each change is on disk before its call returns."""

    def __init__(
        self, state: Callable[[], State], mint: Callable[[], int], become: Become
    ) -> None:
        """mint gives a number nobody has; become keeps a state, durably, and tells of
        the name that it is about."""
        self._state = state
        self._mint = mint
        self._become = become

    # ---- the device it leaves ----

    def under_way(self) -> list[Claim]:
        """The claims that are moving, by name."""
        claims = self._state().claims
        return [claims[name] for name in sorted(claims) if claims[name].moving]

    def forced(self) -> dict[str, Forced]:
        """The moves that were ended without the other device."""
        return dict(self._state().forced)

    def moved(self, name: Name) -> Alias | None:
        """The alias of a claim that moved away, to which name leads."""
        aliases = self._state().aliases
        for _ in range(ALIASES_MAX + 1):
            alias = aliases.get(name)
            if alias is None or alias.moved:
                return alias
            name = parse_address(alias.to).name
        return None

    def follows(self, place: Name, to: str, device: str) -> bool:
        """Whether mail for that address, in that place, may come after the name from
        that device."""
        claim = self._state().claims.get(place)
        if claim is not None:
            return claim.came is not None and claim.came.device == device
        return self.moved(parse_address(to).name) is not None

    def begin(self, name: Name, wanted: Moving, now: float) -> Moving:
        """Hand over nothing from now on; the move as it is kept, in a generation above
        all that are known of the name.  75 for one that moves elsewhere already."""
        claim = self._claim(name)
        if claim.moving is not None:
            return self.same(name, wanted.device, wanted.to)
        above = last_generation(self._state(), name) + 1
        generation = max(above, wanted.generation)
        moving = replace(wanted, generation=generation, at=rfc3339(now))
        self._keep(replace(claim, moving=moving))
        return moving

    def same(self, name: Name, device: Device, to: Name, fork: bool = False) -> Moving:
        """The move under way, if it goes there; 75 for one that goes elsewhere."""
        _, moving = self._moving(name)
        if fork or (moving.device, moving.to) != (device, to):
            to_there = f"{moving.to}@{moving.device}"
            raise NotReached(
                f"{name} is on its way to {to_there} since {moving.at}",
                hint=f"homi move {name} --abort ends that",
                reason="moving",
            )
        return moving

    def packed(self, name: Name, manifest: str) -> None:
        """What goes along is kept here as that, and is to be removed again."""
        claim, moving = self._moving(name)
        if moving.manifest != manifest:
            self._keep(replace(claim, moving=replace(moving, manifest=manifest)))

    def arrived(self, name: Name) -> None:
        """It is claimed there: from now on there is no way back but another move."""
        claim, moving = self._moving(name)
        if not moving.there:
            self._keep(replace(claim, moving=replace(moving, there=True)))

    def cancel(self, name: Name, *, forced: bool = False) -> Claim:
        """It stays, under a generation above the one it would have had there.  forced:
        the other device does not know, and is to be told.  75 where it is there."""
        claim, moving = self._moving(name)
        if moving.there and not forced:
            raise NotReached(
                f"{name} is on {moving.device} already",
                hint=f"homi move {moving.to}@{moving.device} brings it back",
                reason="moving",
            )
        state = self._state()
        generation = moving.generation + 1
        fences = remembered(state.fences, name, generation, state.claims)
        told = dict(state.forced)
        if forced:
            gone = moving.manifest
            told[name] = Forced(moving.device, moving.to, generation, gone)
        stays = replace(claim, moving=None, generation=generation)
        self._keep(stays, fences=fences, forced=told)
        return stays

    def told(self, name: Name, one: Forced) -> None:
        """The other device knows of that move, which was ended without it."""
        forced = dict(self._state().forced)
        if forced.get(name) == one:
            del forced[name]
            self._become(replace(self._state(), forced=forced), name)

    def leave(self, name: Name) -> Alias:
        """Let the name lead to where it went; its number stands for it as before."""
        claim, moving = self._moving(name)
        state = self._state()
        alias = Alias(
            name=name,
            to=f"{moving.to}@{moving.device}",
            number=claim.number,
            at=claim.at,
            session_id=claim.session_id,
            moved=moving.generation,
        )
        claims = dict(state.claims)
        del claims[name]
        fences = remembered(state.fences, name, moving.generation, claims)
        aliases = {**state.aliases, name: alias}
        self._become(
            replace(state, claims=claims, aliases=aliases, fences=fences), name
        )
        return alias

    # ---- the device it comes to ----

    def least(self, name: Name) -> int:
        """The generation that a claim of the name must have to be taken here."""
        return last_generation(self._state(), name) + 1

    def arrive(
        self,
        name: Name,
        came: Came,
        generation: int,
        now: float,
        fields: Mapping[str, Any],
    ) -> Claim:
        """Claim name as it was elsewhere; that it is claimed already by this very move
        is no error.  77 for a generation that is too low, 73 where it is another's."""
        state = self._state()
        here = state.claims.get(name)
        if here is not None and here.generation == generation and _same(here, came):
            return here
        if generation <= last_generation(state, name):
            raise NotAllowed(
                f"{name} of generation {generation} is refused here: it was"
                f" {last_generation(state, name)} already",
                hint=f"homi move {name}@{came.device} --abort there",
                reason="moving",
            )
        if here is not None:
            raise CannotCreate(f"{name} is claimed on this device")
        self._check_ahead(name, generation)
        alias, released = state.aliases.get(name), state.released.get(name)
        before: Alias | Released | None = alias or released
        came = replace(came, older=ways(alias, came))
        claim = Claim(
            name=name,
            number=self._mint() if before is None else before.number,
            generation=generation,
            at=rfc3339(now),
            session_id=str(uuid.uuid4()) if alias is None else alias.session_id,
            came=came,
            **fields,
        )
        left = {key: each for key, each in state.aliases.items() if key != name}
        old = {key: each for key, each in state.released.items() if key != name}
        arrival = Arrival(came.device, came.name, generation)
        self._keep(
            claim,
            aliases=left,
            released=old,
            fences=remembered(state.fences, name, generation, state.claims),
            arrivals=remembered(state.arrivals, name, arrival, state.claims),
        )
        return claim

    def came(self, name: Name, device: Device, of: Name, generation: int) -> bool:
        """Whether the name is, or was, here by that move."""
        arrival = self._state().arrivals.get(name)
        known = arrival is not None and (arrival.device, arrival.name) == (device, of)
        return known and arrival is not None and arrival.generation >= generation

    def older(self, name: Name) -> list[str]:
        """The addresses by which older mail of the name is still coming."""
        claim = self._state().claims.get(name)
        return [] if claim is None or claim.came is None else claim.came.older

    def waited(self, name: Name) -> Waited:
        """How long that was waited for."""
        claim = self._state().claims.get(name)
        came = None if claim is None else claim.came
        return Waited() if came is None or came.waited is None else came.waited

    def waits(self, name: Name, waited: Waited) -> None:
        """So long was waited for older mail of the name, which still comes."""
        if self.older(name):
            self._change(name, waited=waited)

    def follows_here(self, name: Name, generation: int) -> bool:
        """Whether mail so marked follows the name to here, now."""
        claim = self._state().claims.get(name)
        return claim is not None and claim.generation == generation

    def in_order(self, name: Name) -> None:
        """What is older is here, and what waited for that stands behind it."""
        if self.older(name):
            self._change(name, older=[], waited=None)

    def settled(self, name: Name, session: str = "") -> None:
        """All that came with it is in place, that conversation too."""
        claim = self._claim(name)
        if claim.came is not None and claim.came.manifest:
            self._change(name, manifest="", session=session)

    def started(self, name: Name) -> None:
        """The agent that was to be started was, or cannot be."""
        claim = self._claim(name)
        if claim.came is not None and claim.came.spawn:
            self._change(name, spawn=False)

    def fence(self, name: Name, generation: int) -> None:
        """Refuse the name below or at that generation from now on; 65 for one that
        cannot be."""
        state = self._state()
        self._check_ahead(name, generation)
        if state.fences.get(name, 0) < generation:
            fences = remembered(state.fences, name, generation, state.claims)
            self._become(replace(state, fences=fences), name)

    def give_back(
        self, name: Name, to: Name, device: Device, generation: int, now: float
    ) -> bool:
        """Let a claim here yield to a higher generation there: what came goes on to
        it.  Whether there was one to yield."""
        state = self._state()
        claim = state.claims.get(name)
        if claim is None or not _same(claim, Came(device=device, name=to)):
            return False
        if claim.generation >= generation:
            return False
        on, forced = claim.moving, dict(state.forced)
        if on is not None and (on.device, on.to) == (device, to):
            return False
        if on is not None:  # it may be claimed there by now: that one yields to us
            higher = max(generation, on.generation + 1)
            forced[name] = Forced(on.device, on.to, higher)
        moving = Moving(
            device=device, to=to, generation=generation, at=rfc3339(now), there=True
        )
        self._keep(replace(claim, moving=moving), forced=forced)
        return True

    def pass_on(self, name: Name, to: Name, device: Device, generation: int) -> bool:
        """Let one that came from there, and went on from here, lead back to there; the
        device it went to is to be told.  Whether there was one."""
        state = self._state()
        alias, came = state.aliases.get(name), state.arrivals.get(name)
        if alias is None or not alias.moved or came is None:
            return False
        if (came.device, came.name) != (device, to) or came.generation >= generation:
            return False
        on = parse_address(alias.to)
        if on.device is None or on.device == device:
            return False
        higher = max(generation, alias.moved + 1)
        back = replace(alias, to=f"{to}@{device}", moved=higher)
        after = replace(
            state,
            aliases={**state.aliases, name: back},
            forced={**state.forced, name: Forced(Device(on.device), on.name, higher)},
            fences=remembered(state.fences, name, higher, state.claims),
        )
        self._become(after, name)
        return True

    def _check_ahead(self, name: Name, generation: int) -> None:
        """65 for a generation that no device comes to: it would be the last one."""
        if generation > last_generation(self._state(), name) + AHEAD:
            raise BadMessage(f"{name} never came to generation {generation}")

    def _claim(self, name: Name) -> Claim:
        claim = self._state().claims.get(name)
        if claim is None:
            raise NoSuchName(f"no name {name} on this device")
        return claim

    def _moving(self, name: Name) -> tuple[Claim, Moving]:
        """The claim and its move; 67 where it does not move."""
        claim = self._claim(name)
        if claim.moving is None:
            raise NoSuchName(f"{name} is not on its way to another device")
        return claim, claim.moving

    def _change(self, name: Name, **fields: object) -> None:
        """Save other facts of how the name came."""
        claim = self._claim(name)
        if claim.came is not None:
            self._keep(replace(claim, came=replace(claim.came, **fields)))

    def _keep(self, claim: Claim, **more: object) -> None:
        """Save the claim, and what changes with it."""
        state = self._state()
        claims = {**state.claims, claim.name: claim}
        self._become(replace(state, claims=claims, **more), claim.name)


def _same(claim: Claim, came: Came) -> bool:
    """Whether the claim came from there."""
    known = claim.came
    return known is not None and (known.device, known.name) == (came.device, came.name)
