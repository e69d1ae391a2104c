"""What a state means, and the pace of redialling."""

from homi.links.frames import End
from homi.links.state import (
    LONGEST,
    REASONS,
    SLOW,
    LinkState,
    of_end,
    pause,
)


def test_a_lost_link_is_dialled_at_once_and_a_failing_one_ever_more_rarely() -> None:
    assert pause(LinkState.UNREACHABLE, 0, 0.99) == 0
    bounds = [pause(LinkState.UNREACHABLE, failures, 1.0) for failures in range(1, 40)]
    assert bounds[:4] == [1, 2, 4, 8]
    assert bounds == sorted(bounds)
    assert bounds[-1] == LONGEST
    assert pause(LinkState.UNREACHABLE, 5, 0.0) == 0  # full jitter


def test_what_needs_a_person_is_not_tried_fast() -> None:
    for state in SLOW:
        assert pause(state, 0, 0.0) >= 0.9 * LONGEST
        assert pause(state, 9, 0.99) <= 1.1 * LONGEST


def test_each_end_of_an_exchange_is_a_state_and_names_the_fix() -> None:
    found = {end: of_end(end, "why", "me@mini") for end in End}
    assert found[End.AUTH].state is LinkState.AUTH
    assert found[End.DEVICE_KEY].state is LinkState.DEVICE_KEY
    assert found[End.VERSION].state is LinkState.VERSION
    assert found[End.VERSION].fix == "update the older of the two homi"
    for end in (End.AUTH, End.DEVICE_KEY):
        assert "homi pair me@mini" in found[end].fix
    assert found[End.SILENT] == (LinkState.UNREACHABLE, "why", "")
    assert of_end(End.STOPPING, "", None).text == "its daemon stopped"
    assert of_end("later", "", None).text == "later"
    dead = of_end("unavailable", "it says: no daemon answers at /s", "me@mini:22")
    assert dead.fix == "ssh -p 22 me@mini homi start"


def test_mail_has_a_reason_in_every_state_but_one() -> None:
    assert set(REASONS) == set(LinkState)
    assert [state for state in LinkState if REASONS[state] is None] == [LinkState.UP]
