"""The check that mail goes on this machine, in a place of its own.

Owns the verdict; homi.selftest has the steps.  homi-doctor(1).
"""

from collections.abc import Iterator

from homi.doctor.check import Check, Verdict, fail, well
from homi.doctor.facts import Facts
from homi.selftest.place import Place
from homi.selftest.trial import steps


def _trip(_facts: Facts) -> Iterator[Verdict]:
    """Stored, handed over, seen; kept while nobody is there, and drained."""
    total = 0.0
    with Place() as place:
        for one in steps(place):
            total += one.ms
            if not one.ok:
                hand = "homi selftest shows each step"
                yield fail(f"{one.step}: {one.text}", hand=hand)
                return
    yield well(f"stored, offered, seen, kept and drained in {total / 1000:.1f} s")


CHECKS = (
    Check(
        "round-trip",
        "this homi stores, hands over and proves mail on this machine",
        _trip,
        slow=True,
    ),
)
