"""Two connections of a pair: both ends keep the same one."""

import itertools

from homi.links.crosswise import Standing, keep_newer
from homi.links.keys import blob
from tests.unit.links.kit import KEYS

A, B = sorted((KEYS["laptop"], KEYS["mini"]), key=lambda key: blob(key) or b"")


def seen(dialler: str, here: str) -> Standing:
    """The connection that dialler opened, as here sees it."""
    there = B if here == A else A
    return Standing(dialled=dialler == here, ours=here, theirs=there)


def test_of_two_from_one_dialler_the_newer_stays() -> None:
    for dialler, here in itertools.product((A, B), (A, B)):
        assert keep_newer(seen(dialler, here), seen(dialler, here))


def test_of_two_dialled_crosswise_that_of_the_smaller_key_stays_in_any_order() -> None:
    """The ends may have met them in different orders."""
    for here in (A, B):
        assert keep_newer(seen(B, here), seen(A, here))
        assert not keep_newer(seen(A, here), seen(B, here))
