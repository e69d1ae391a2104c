"""Seats of other devices, by their address.  homi-seat(1).

Owns how one is written; the daemon asks the device over its link.
"""

from homi import paths
from homi.address import SELF, parse_name
from homi.cli import output
from homi.connection import Connection
from homi.orders.seats import FarSeat
from homi.seated import SeatSaid
from homi.visible import visible

WORK = 40.0  # s the device may take to type, over a link


def split(given: str) -> tuple[str, str]:
    """The seat, and the device it is on: empty for this one."""
    seat, at, device = given.partition("@")
    return seat, device if at and device != SELF else ""


def device(given: str) -> str:
    """The device that is meant by mini, or by @mini: empty for this one; 64."""
    name = parse_name(given.removeprefix("@"))
    return "" if str(name) == SELF else str(name)


def ask(home: str, request: FarSeat) -> SeatSaid:
    """What the device says."""
    with Connection(paths.state_root(home)) as daemon:
        return daemon.wait(request, SeatSaid, WORK)


def show(seat: str, rows: list[str], *, as_json: bool) -> None:
    """Print the rows of a screen."""
    if as_json:
        output.json_line({"seat": seat, "lines": rows})
    elif rows:
        # It masked them; who takes out what a terminal would obey is this device.
        output.line("\n".join(visible(row) for row in rows))
