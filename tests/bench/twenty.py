"""Twenty links of one daemon, three of them in trouble: what the others notice.

laptop is a real daemon.  The twenty share one process, far.py, each with a key and a
connection of its own to laptop's socket, as `homi link serve` gives them one; twenty
daemons and sshd would measure the machine.  Its rate is that of the seventeen while
the three have no mail, then while one of them stops reading, one refuses everything
and one takes its time.  Each has a daemon of its own, and each goes first in turn: what
the same daemon does later it does with fuller files.  The seventeen get the same mail
both times, from an empty ring and a whole index: that of the three waits in the queues
besides, and to index it is not their doing.
"""

import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from homi.links.identity import Identity
from tests.bench import kit
from tests.bench.pair import key_of, rest
from tests.bench.report import Figure, Goal, progress
from tests.bench.setup import HELLO, PATIENCE, SENDER, Machine, Setup, request
from tests.bench.turns import Wire
from tests.standin import journals

GROUP = "links, twenty of one daemon"
FAR = Path(__file__).with_name("far.py")
GOOD = 17
MORE = 3  # times a usual drain: half a second of it would measure the machine
CALM = ["good"] * GOOD + ["idle"] * 3
TROUBLED = ["good"] * GOOD + ["dead", "refusing", "slow"]
LATE = 150.0  # s


class Got(NamedTuple):
    """What the good ones got."""

    rate: float  # messages a second, from the first to the last
    cpu: float  # us of laptop's daemon for each of all meanwhile: steadier than rate
    other: float  # messages of the three meanwhile, which take their share


def measure(setup: Setup) -> list[Figure]:
    """The line."""
    rounds = []
    for number in range(setup.runs):
        progress(f"twenty links, round {number + 1} of {setup.runs}")
        rounds.append(_round(setup, number))
    calm, troubled = (_middle(list(side)) for side in zip(*rounds, strict=True))
    return [
        Figure(
            GROUP,
            "seventeen beside a dead, a refusing and a slow one",
            statistics.median(other.rate / one.rate for one, other in rounds),
            Goal(0.9),
            f"{troubled.rate:,.0f}/s : {calm.rate:,.0f}/s without those, whose own are"
            f" {troubled.other:,.0f} messages more; us of the daemon a message:"
            f" {troubled.cpu:.1f} : {calm.cpu:.1f}",
        )
    ]


def _middle(side: list[Got]) -> Got:
    """The medians."""
    return Got(*(statistics.median(column) for column in zip(*side, strict=True)))


def _round(setup: Setup, number: int) -> tuple[Got, Got]:
    """What the seventeen got, calm and troubled; which was first changes."""
    if number % 2:
        troubled = _alone(setup, TROUBLED, len(TROUBLED))
        return _alone(setup, CALM, GOOD), troubled
    calm = _alone(setup, CALM, GOOD)
    return calm, _alone(setup, TROUBLED, len(TROUBLED))


def _alone(setup: Setup, kinds: list[str], filled: int) -> Got:
    """What the seventeen got of a daemon that did nothing before."""
    keys = setup.folder / "far"
    with Machine('device = "laptop"\n', device="laptop") as place:
        journals.write_names(place.state, [SENDER])
        place.start(PATIENCE)
        try:
            _acquaint(place, keys)
            return _rate(setup, place, keys, kinds, filled)
        finally:
            shutil.rmtree(keys)


def _acquaint(place: Machine, keys: Path) -> None:
    """Pair the daemon with twenty devices, whose keys are made."""
    keys.mkdir()
    (keys / "laptop.pub").write_text(key_of(place))
    with Wire(place.socket) as wire:
        for number in range(len(CALM)):
            device = f"d{number:04d}"
            (keys / device).mkdir(mode=0o700)
            key = Identity.load(keys / device).public
            wire.ask(verb="link-add", device=device, key=key)


def _rate(
    setup: Setup, place: Machine, keys: Path, kinds: list[str], filled: int
) -> Got:
    """Fill the queues of the first devices, then let all come."""
    asked, hello = setup.folder / "twenty.req", setup.folder / "twenty.hello"
    asked.write_bytes(request("ada@d%%%%"))
    hello.write_bytes(HELLO)
    each = max(1, MORE * setup.sizes.drained // GOOD)
    load = ("-c", "1", "-w", "256", "-k", str(filled), "-n", str(each * filled))
    fill = ("-H", str(hello), "-d", "120", *load)
    kit.load(setup.tools, place.pid, str(place.socket), asked, *fill)
    rest(place)
    argv = [sys.executable, str(FAR), str(place.socket), str(keys)]
    argv += [",".join(kinds), str(each * GOOD), str(place.pid)]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=LATE, check=False
    )
    if done.returncode:
        raise RuntimeError(f"far.py: {done.stderr[-400:]}")
    seconds, spent, came = map(float, done.stdout.split())
    return Got(each * GOOD / seconds, spent * 1e6 / came, came - each * GOOD)
