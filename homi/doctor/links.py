"""Checks of the links to other devices.

Owns what of their state a person must know.  homi-doctor(1) lists the checks.
"""

from collections.abc import Iterator

from homi.amount import amount
from homi.connection import Connection
from homi.doctor.check import Check, Verdict, fail, remedied, warn, well
from homi.doctor.facts import Facts
from homi.linked import TURNED_AWAY, Checked, LinkRow, Turned
from homi.requests import CheckLink
from homi.visible import visible

UP, PAUSED = "up", "paused"
CHANGED = "host-key"  # or another answers in its place
STUCK = ("auth", "device-key", "version")  # no time mends them
OFFSET = 5.0  # s two clocks may differ: stamps of letters are compared by people
PATIENCE = 75.0  # s of a dial and three probes


def _links(facts: Facts) -> Iterator[Verdict]:
    """Each is up, or rests because a person wants that."""
    for row in _rows(facts):
        said = f": {visible(row.text)}" if row.text else ""
        text = f"the link to {row.device} is {row.state}{said}"
        hint = visible(row.fix) or f"homi link check {row.device}"
        if row.turned is not None and row.turned.reason != row.state:
            yield _turned(row.device, row.turned)
        if row.state == TURNED_AWAY:
            continue
        if row.state == CHANGED:
            yield fail(text, hand=f"where you know why: {hint}")
        elif row.state in STUCK:
            yield remedied(fail(text), hint)
        elif row.state == PAUSED:
            resume = f"homi link resume {row.via or row.device}"
            yield remedied(warn(text), visible(row.fix) or resume)
        elif row.state != UP:
            yield remedied(warn(text), hint)
        else:
            yield well(text)


def _turned(device: str, turned: Turned) -> Verdict:
    """It dials this device, and is not let in."""
    tries = amount(turned.tries, "try", "tries")
    text = (
        f"{device} dials this device{turned.whence} and is turned away: {turned.text}"
    )
    return remedied(warn(f"{text} ({tries}, the last at {turned.at})"), turned.fix)


def _kept(facts: Facts) -> Iterator[Verdict]:
    """Three probes are kept by each device whose link is up, and answered."""
    for row in _rows(facts):
        if row.state != UP:
            continue
        with Connection(facts.root) as client:
            request = CheckLink(i=1, device=row.device)
            found = client.wait(request, Checked, PATIENCE)
        text = f"{row.device} kept {found.kept} of {found.probes} probes"
        if found.kept < found.probes:
            hint = visible(found.fix) or f"homi link check {row.device}"
            yield remedied(warn(text), hint)
        else:
            yield well(f"{text}, in {max(found.ms):.1f} ms at most")


def _clocks(facts: Facts) -> Iterator[Verdict]:
    """The clocks agree."""
    for row in _rows(facts):
        if row.offset_s is not None and abs(row.offset_s) > OFFSET:
            way = "ahead of" if row.offset_s > 0 else "behind"
            yield warn(
                f"the clock of {row.device} is {abs(row.offset_s):.1f} s {way} ours",
                hand="timedatectl set-ntp true, on the one that is wrong",
            )


def _rows(facts: Facts) -> list[LinkRow]:
    """Every link."""
    assert facts.daemon is not None
    return facts.daemon.links.rows


CHECKS = (
    Check(
        "links",
        "other devices can be reached",
        _links,
        "no device is linked",
        daemon=True,
    ),
    Check(
        "link-trip",
        "linked devices keep what they are given, three times",
        _kept,
        "no link is up",
        daemon=True,
        slow=True,
    ),
    Check("clocks", "the clocks of devices agree", _clocks, daemon=True),
)
