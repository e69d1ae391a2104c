"""What is told of one name that homi starts.

Owns the words of its state.  homi-spawn(1) explains each.
"""

from homi.clock import rfc3339
from homi.peers import process
from homi.spawn import rule
from homi.spawn.state import Spawned
from homi.spawned import SpawnRow


def row(spawned: Spawned, now: float) -> SpawnRow:
    """The name as it is at now (wall seconds)."""
    run = spawned.run
    return SpawnRow(
        name=spawned.name,
        state=_state(spawned),
        client=spawned.client,
        cwd=spawned.cwd,
        argv=spawned.argv,
        on_mail=spawned.on_mail,
        pid=0 if run is None else run.pid,
        seat="" if run is None else run.seat,
        at=spawned.at,
        started="" if run is None else rfc3339(run.at),
        by=spawned.by,
        tree=spawned.tree,
        starts=len(rule.recent(spawned.starts, now)),
        failures=spawned.failures,
        said=spawned.said,
    )


def _state(spawned: Spawned) -> str:
    """One word for it; also where no daemon looked since."""
    run = spawned.run
    if run is not None and run.pid and not process.alive(run.pid, run.start):
        run = None
    if run is not None:
        return "ready" if run.ready else "starting"
    if spawned.failures >= rule.FAILURES_MAX:
        return "failing"
    return "waiting" if spawned.on_mail else "ended"
