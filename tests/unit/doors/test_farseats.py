"""What may be asked of the seats of another device."""

import pytest

from homi.doors.farseats import LINES_MAX, OPTION_MAX, TEXT_MAX, check
from homi.errors import BadMessage, Usage
from homi.seated import SeatAsk


@pytest.mark.parametrize("seat", ["ada", "a.b-c_1", "%3", "%3.4711.123456"])
def test_a_seat_is_asked_for_by_what_names_one(seat: str) -> None:
    check(SeatAsk(do="read", seat=seat, lines=LINES_MAX))
    check(SeatAsk(do="send", seat=seat, text="x" * TEXT_MAX))


@pytest.mark.parametrize(
    "seat",
    [
        *("ada@attic", "ada@mini@attic", "mini:ada", "../ada", "/tmp/x.sock", "%"),
        *("=ada", "ada:0.1", "-L", "Ada", "ada\n", "%3;kill-server", "a" * 65, "%٣"),
    ],
)
def test_what_is_no_seat_of_that_device_is_refused(seat: str) -> None:
    """Another device, a path, a target or an option of tmux, a second command."""
    with pytest.raises(Usage, match="is no seat of that device"):
        check(SeatAsk(do="read", seat=seat))


def test_sizes_are_bounded() -> None:
    for ask in (
        SeatAsk(do="read", seat="ada", lines=LINES_MAX + 1),
        SeatAsk(do="read", seat="ada", lines=-1),
        SeatAsk(do="respond", seat="ada", option="x" * (OPTION_MAX + 1)),
        SeatAsk(do="read"),
        SeatAsk(do="ls", seat="ada"),
    ):
        with pytest.raises(Usage):
            check(ask)
    with pytest.raises(BadMessage):
        check(SeatAsk(do="send", seat="ada", text="ä" * TEXT_MAX))
    check(SeatAsk(do="ls"))
