"""What one wake looks for, and what of it is new.

Owns which of the things that are found is told: nothing that was there at the
beginning, nothing twice, no file that is still written.  homi-wake(1).
"""

from collections.abc import Mapping

from homi import ids
from homi.wakes.files import Found
from homi.wakes.progress import Firing, Progress
from homi.wakes.seen import Marks

TOLD_MAX = 50  # things one envelope lists; of more it tells how many


class Watch:
    """One wake that waits for files or pull requests."""

    def __init__(self, marks: Marks, *, settling: bool) -> None:
        """settling: what is found must be the same in two looks before it is told."""
        self.marks = marks
        self.writing: set[str] = set()  # paths that a notice told of, not yet closed
        self._settling = settling
        self._before: dict[str, str] = {}  # what the last look found that is new
        self.unsettled = False  # another look is due soon

    @property
    def begun(self) -> bool:
        """Whether it is known what was there at the beginning."""
        return self.marks.known is not None

    def look(
        self, found: Mapping[str, Found], hidden: tuple[str, ...] = ()
    ) -> dict[str, Found]:
        """What is to be told of what a look found; the first only begins.  74 where
        what it began with cannot be kept.  hidden: what it could not look at."""
        known = self.marks.known
        if known is None:
            self.marks.begin({key: each.mark for key, each in found.items()})
            return {}
        self.marks.keep(found, hidden)
        new = {key: x for key, x in found.items() if known.get(key) != x.mark}
        before, self._before = self._before, {key: x.mark for key, x in new.items()}
        self.writing &= set(new)
        if not self._settling:
            return new
        told = {
            key: x
            for key, x in new.items()
            if before.get(key) == x.mark and key not in self.writing
        }
        self.unsettled = len(told) < len(new)
        # One that nobody closes is told all the same, a look later.
        self.writing -= {key for key in new if before.get(key) == new[key].mark}
        return told


def firing(at: Progress, told: Mapping[str, Found]) -> Firing:
    """One envelope for all that is new."""
    marks = {key: told[key].mark for key in sorted(told)}
    facts = [fact for key in list(marks)[:TOLD_MAX] for fact in told[key].facts]
    if len(marks) > TOLD_MAX:
        facts.append(("more", str(len(marks) - TOLD_MAX)))
    parts = [part for pair in marks.items() for part in pair]
    slot = f"{at.fired}:{ids.derived(*parts)}"
    return Firing(slot=slot, at=0.0, facts=facts, marks=marks)
