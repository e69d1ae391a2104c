"""Who started whom."""

import os
from pathlib import Path

from homi.address import Name
from homi.spawn.lineage import above, alive
from homi.spawn.state import Run, Spawned, Spawns, State
from homi.store.disk import RealDisk
from homi.store.state import StateFile


def test_who_started_a_process_is_told_by_the_processes_above_it(
    tmp_path: Path,
) -> None:
    """And how many run that one of them started, also by another."""
    spawns = Spawns(StateFile(str(tmp_path / "spawns.json"), RealDisk(), State))
    assert above(spawns, os.getpid()) == []
    chain = {"bob": ["ada", "person"], "cyd": ["bob", "ada", "person"], "dan": ["ada"]}
    pids = {"bob": 1 << 22, "cyd": os.getppid()}
    for name, by in chain.items():
        run = Run(at=1.0, pid=pids[name]) if name in pids else None
        spawns.put(Spawned(name=Name(name), client="codex", cwd="/", by=by, run=run))
    assert above(spawns, os.getpid()) == ["bob", "ada", "person"]
    assert (alive(spawns, "ada"), alive(spawns, "bob")) == (2, 1)
    assert alive(spawns, "cyd") == 0
