"""The pace stays below the receiving client's own guard."""

from homi.config import PACE_BURST, PACE_RATE
from homi.courier.pace import EQUAL_GAP, Pace

KEY = ("/sock/bob", (7, "1"))


def spent(pace: Pace, count: int, now: float = 0.0) -> None:
    for i in range(count):
        pace.spend(KEY, i, now)


def test_a_burst_goes_at_once_and_then_one_by_one() -> None:
    """Twenty, then 0.4 a second: the client drops the 32nd of a quick burst."""
    pace = Pace()
    for i in range(PACE_BURST):
        assert pace.wait(KEY, i, 0.0) == 0.0
        pace.spend(KEY, i, 0.0)
    wait = pace.wait(KEY, "next", 0.0)
    assert abs(wait - 1 / PACE_RATE) < 0.01
    assert pace.wait(KEY, "next", wait) == 0.0


def test_an_hour_of_rest_gives_one_burst_and_no_more() -> None:
    """A bucket never holds more than a burst."""
    pace = Pace()
    spent(pace, PACE_BURST)
    spent(pace, PACE_BURST, 3600.0)
    assert pace.wait(KEY, "next", 3600.0) > 0.0


def test_each_sender_and_each_session_has_a_bucket_of_its_own() -> None:
    """One sender's flood costs no other sender a second."""
    pace = Pace()
    spent(pace, PACE_BURST)
    assert pace.wait(KEY, "x", 0.0) > 0.0
    assert pace.wait(("/sock/eve", KEY[1]), "x", 0.0) == 0.0
    assert pace.wait((KEY[0], (8, "1")), "x", 0.0) == 0.0


def test_equal_contents_in_a_row_keep_their_distance() -> None:
    """The client drops a body equal to the one before for 30 s; A, B, A passes."""
    pace = Pace()
    pace.spend(KEY, "a", 0.0)
    assert pace.wait(KEY, "a", 1.0) == EQUAL_GAP - 1.0 > 29.0
    assert pace.wait(KEY, "a", EQUAL_GAP) == 0.0
    pace.spend(KEY, "b", 1.0)
    assert pace.wait(KEY, "a", 1.0) == 0.0


def test_the_clients_word_empties_the_bucket() -> None:
    """Dropped as too fast: whatever we counted, start from nothing."""
    pace = Pace()
    pace.spend(KEY, "a", 0.0)
    assert pace.wait(KEY, "b", 0.0) == 0.0
    pace.empty(KEY, 0.0)
    assert pace.wait(KEY, "b", 0.0) > 2.0


def test_a_dead_process_leaves_no_bucket() -> None:
    """Its pid may come again with another start time; nothing is kept for it."""
    pace = Pace()
    spent(pace, PACE_BURST)
    assert pace.wait(KEY, "x", 0.0) > 0.0
    pace.forget(KEY[1])
    assert pace.wait(KEY, "x", 0.0) == 0.0
