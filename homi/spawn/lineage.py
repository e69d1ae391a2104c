"""Who started whom: by the processes above one, and by what was ordered.

Pure but for the look at the processes.  homi-spawn(1) has the limits.
"""

from collections.abc import Iterator

from homi.peers import process
from homi.request import CallerClass
from homi.spawn import rule
from homi.spawn.state import Run, Spawned, Spawns


def alive(spawns: Spawns, by: str) -> int:
    """How many programs run that were started by it, or by one it started."""
    return sum(by in one.by and one.run is not None for one in spawns.all())


def crowded(spawns: Spawns, by: list[str]) -> str | None:
    """The agent of that chain that has as many running as it may; None: there is room
    for one more."""
    agents = [one for one in by if one not in {*CallerClass}]
    return next((a for a in agents if alive(spawns, a) >= rule.ALIVE_MAX), None)


def above(spawns: Spawns, pid: int) -> list[str]:
    """The name of what the process pid is a part of, and the chain of who started
    that; empty: nobody."""
    chain = process.ancestors(pid)
    for spawned, run in _running(spawns):
        if run.pid in chain:
            return [spawned.name, *spawned.by]
    return []


def _running(spawns: Spawns) -> Iterator[tuple[Spawned, Run]]:
    """Every program with what it was started for; also those about to end."""
    for spawned in spawns.all():
        for run in (spawned.run, spawned.old):
            if run is not None and run.pid:
                yield spawned, run
    for run in spawns.retired:
        if (one := spawns.get(run.called)) is not None:
            yield one, run
