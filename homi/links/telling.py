"""Our own names, as the linked devices are told of them.

Owns what is told and when: all of it when two devices meet, then what changed, joined.
Aliases and built-in names are nobody's business elsewhere.  homi-protocol(7).
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from homi.address import Name
from homi.far import FarName
from homi.links.frames import NameRow, Names
from homi.links.known import NAMES_MAX
from homi.names import Names as Claims
from homi.owners import Owners
from homi.store.base import Store


class Ear(Protocol):
    """Who can be told: an exchange that is up."""

    def tell(self, frame: Names) -> None:
        """Send a frame nobody answers."""
        ...


class Telling:
    """What the other ends know of our claims."""

    def __init__(
        self,
        claims: Claims,
        owners: Owners,
        ears: Callable[[], Iterable[Ear]],
        later: Callable[[], None],
    ) -> None:
        """ears: who is up now; later asks for flush() in a while."""
        self._claims = claims
        self._owners = owners
        self._ears = ears
        self._later = later
        self._changed: set[Name] = set()
        claims.subscribe(lambda name, _claim: self._note(name))
        owners.subscribe(lambda name, _old, _new: self._note(name))

    def rows(self) -> list[NameRow]:
        """Every claim of this device that is told of: of too many the first by name."""
        names = [claim.name for claim in self._claims.all() if not claim.built_in]
        return [row for name in names[:NAMES_MAX] if (row := self._row(name))]

    def shown(self, store: Store) -> list[FarName]:
        """The same as one who asks is shown them: with how they are now."""
        found = []
        for row in self.rows():
            name = Name(row.name)
            owner = self._owners.owner(name)
            status = "" if owner is None else owner.status
            pending = len(store.mailbox(name).pending)
            shown = FarName(name, row.generation, row.live, pending, status)
            found.append(shown)
        return found

    def met(self, ear: Ear) -> None:
        """Tell one that is up now of everything."""
        ear.tell(Names(all=True, names=self.rows()))

    def flush(self) -> None:
        """Tell all of what changed since."""
        changed, self._changed = sorted(self._changed), set()
        rows = {name: self._row(name) for name in changed[:NAMES_MAX]}
        frame = Names(
            names=[row for row in rows.values() if row is not None],
            gone=[name for name, row in rows.items() if row is None],
        )
        if changed:
            for ear in self._ears():
                ear.tell(frame)

    def _row(self, name: Name) -> NameRow | None:
        """A claim as it stands now; None where there is none to tell of."""
        claim = self._claims.get(name)
        if claim is None or claim.built_in:
            return None
        live = self._owners.owner(name) is not None
        return NameRow(name, claim.generation, live)

    def _note(self, name: Name) -> None:
        """A claim came, changed or ended, or another session has it."""
        if not self._changed:
            self._later()
        self._changed.add(name)
