"""Who started whom: by the processes above one, and by what was ordered.

Pure but for the look at the processes.  homi-spawn(1) has the limits.
"""

from homi.peers import process
from homi.spawn.state import Spawns


def alive(spawns: Spawns, by: str) -> int:
    """How many programs run that were started by it, or by one it started."""
    return sum(by in one.by and one.run is not None for one in spawns.all())


def above(spawns: Spawns, pid: int) -> list[str]:
    """The chain of who started whom, down to the process pid; empty: nobody."""
    chain = process.ancestors(pid)
    for spawned in spawns.all():
        if spawned.run is not None and spawned.run.pid in chain:
            return spawned.by
    return []
