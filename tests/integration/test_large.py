"""The reading verbs on 20,000 messages: the same answers, and no more memory for it."""

import itertools
from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet

from tests.standin import journals, verbs
from tests.standin.place import Place
from tests.standin.verbs import BIG, Asked

MESSAGES, FEW, PENDING, NAMES = 20_000, 500, 400, 40
# A verb may read a page more here and there; what holds a mailbox in memory takes tens.
GROWTH_KIB = 8 << 10


# These are asked of the files in another way where no daemon runs; the soak asks all.
DEAD = {"inbox big --limit 20", "queue", "ls", "status", "legs"}


def _asked() -> Iterator[ParameterSet]:
    """Each verb that homi has, as it is asked of the large root and of the small."""
    both = list(zip(verbs.asked(MESSAGES), verbs.asked(FEW), strict=True))
    for how, (line, fewer) in itertools.product(("dead", "running"), both):
        if verbs.known(line.argv):
            every = how == "running" or line.label in DEAD
            marks = () if every else (pytest.mark.soak,)
            label = f"{how}-{line.label}"
            yield pytest.param(how, line, fewer, id=label, marks=marks)


@pytest.fixture(scope="module")
def roots() -> Iterator[tuple[Place, Place]]:
    """A large root and a small one."""
    with Place() as large, Place() as small:
        for place, count in ((large, MESSAGES), (small, FEW)):
            verbs.root(place.state, count, PENDING, NAMES)
            place.homi("search", "review")  # whatever is made once is made now
        yield large, small


@pytest.fixture
def places(
    request: pytest.FixtureRequest, roots: tuple[Place, Place]
) -> tuple[Place, Place]:
    """Both, with a daemon each or without; what is so already stays so."""
    for place in roots:
        runs = place.daemon is not None and place.daemon.poll() is None
        if request.param == "running" and not runs:
            place.start(60)
        if request.param == "dead" and runs:
            assert place.stop() == 0
    return roots


@pytest.mark.parametrize(
    ("places", "line", "fewer"), list(_asked()), indirect=["places"]
)
def test_a_verb_answers_about_a_large_mailbox_in_flat_memory(
    places: tuple[Place, Place], line: Asked, fewer: Asked
) -> None:
    """Twenty times the mail is no reason to take more memory; the control: it answers
    about the small one, too."""
    large, small = places
    one, other = verbs.run(large, line), verbs.run(small, fewer)
    assert one.status in line.statuses, one.err
    assert other.status in fewer.statuses, other.err
    assert one.peak_kib <= other.peak_kib + GROWTH_KIB


@pytest.mark.parametrize("places", ["dead", "running"], indirect=True)
def test_answers_about_a_large_mailbox_are_right(places: tuple[Place, Place]) -> None:
    """By a whole id, by a part of one, and of what still waits."""
    large, _ = places
    place = MESSAGES // 2
    middle = journals.message_id(BIG, place)
    for given in (middle, middle[-12:]):
        text = large.ok("read", "--name", BIG, given)
        assert journals.needle(place) in text
    assert "seen" in large.ok("trace", middle)
    waiting = large.json("queue")
    ids = {row["id"] for row in waiting if row["name"] == BIG}
    assert ids == {journals.message_id(BIG, MESSAGES - n) for n in range(100)}
