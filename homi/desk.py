"""The reply desk: numbers that stand for senders without a claimed name, and for asks.

Owns which address a number stands for, and whose is retired when there are too
many.  homi-legs(7) says what replies need it for.
"""

from collections.abc import Callable, Collection, Mapping

from homi.claims import DeskEntry
from homi.config import DESK_NUMBERS

DeskSubscriber = Callable[[int, str | None], None]
_NOBODY = ("", "")


class Desk:
    """Every desk number.  A new one is on disk before its call returns."""

    def __init__(
        self,
        entries: Mapping[str, DeskEntry],
        mint: Callable[[], int],
        save: Callable[[dict[str, DeskEntry]], None],
    ) -> None:
        """entries by number; mint gives one nobody has; save keeps, durably."""
        self._mint = mint
        self._save = save
        self._subscribers: list[DeskSubscriber] = []
        self.become(entries)

    def number(self, address: str, now: float, ask: str = "") -> int:
        """The desk number that stands for a sender's address, or for the answer to
        one ask of that sender; now is wall seconds.

        Allotted once and saved; beyond 1,024 the least recently used is retired and
        its number never used again.  Of a use alone only the memory is kept until
        the next save: an outdated order costs an old number, never a wrong one.
        """
        number = self._desk_of.get((address, ask))
        if number is None:
            return self._allot(address, ask, now)
        self._used[number] = now
        return number

    def of(self, address: str) -> tuple[int, float] | None:
        """The number of an address and when it was last used; None: it has none."""
        number = self._desk_of.get((address, ""))
        return None if number is None else (number, self._used[number])

    def ask(self, number: int) -> str:
        """The id of the ask whose answer a number takes; empty: it takes any mail."""
        return self._desk.get(number, _NOBODY)[1]

    def exchanged(
        self, taken: Collection[str], given: Mapping[int, DeskEntry]
    ) -> dict[str, DeskEntry]:
        """What the desk would hold without these addresses and with these numbers."""
        left = {
            str(n): DeskEntry(a, self._used[n], ask)
            for n, (a, ask) in self._desk.items()
            if ask or a not in taken
        }
        return left | {str(number): entry for number, entry in given.items()}

    def become(self, entries: Mapping[str, DeskEntry]) -> None:
        """Hold these, which are saved already; nobody is told: their sockets stay."""
        self._desk = {
            int(n): (entry.address, entry.ask) for n, entry in entries.items()
        }
        self._used = {int(n): entry.used for n, entry in entries.items()}
        self._desk_of = {what: n for n, what in self._desk.items()}

    def all(self) -> dict[int, str]:
        """Every number in use with its address."""
        return {number: address for number, (address, _) in self._desk.items()}

    def subscribe(self, callback: DeskSubscriber) -> None:
        """Call back after a number was allotted, or retired (None)."""
        self._subscribers.append(callback)

    def _allot(self, address: str, ask: str, now: float) -> int:
        """A new number, and the retirement that makes room for it."""
        number = self._mint()
        oldest_first = sorted(self._used, key=self._used.__getitem__)
        retired = oldest_first[: max(0, len(oldest_first) + 1 - DESK_NUMBERS)]
        entries = {
            str(n): DeskEntry(a, self._used[n], other)
            for n, (a, other) in self._desk.items()
            if n not in retired
        }
        entries[str(number)] = DeskEntry(address, now, ask)
        self._save(entries)
        for gone in retired:
            del self._used[gone], self._desk_of[self._desk.pop(gone)]
        self._desk[number], self._used[number] = (address, ask), now
        self._desk_of[address, ask] = number
        for gone in retired:
            self._tell(gone, None)
        self._tell(number, address)
        return number

    def _tell(self, number: int, address: str | None) -> None:
        """Tell every subscriber, in order of subscription."""
        for callback in self._subscribers:
            callback(number, address)
