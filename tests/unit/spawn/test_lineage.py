"""Who started whom."""

import os
from pathlib import Path

from msgspec.structs import replace

from homi.address import Name
from homi.spawn.lineage import above, alive, crowded
from homi.spawn.rule import ALIVE_MAX
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
    assert above(spawns, os.getpid()) == ["cyd", "bob", "ada", "person"]
    assert (alive(spawns, "ada"), alive(spawns, "bob")) == (2, 1)
    assert alive(spawns, "cyd") == 0


def test_who_is_replaced_is_still_the_one_that_started_it(tmp_path: Path) -> None:
    """Also while its last turn ends."""
    spawns = Spawns(StateFile(str(tmp_path / "spawns.json"), RealDisk(), State))
    ada = Spawned(name=Name("ada"), client="codex", cwd="/", by=["person"])
    own, new = Run(at=1.0, pid=os.getpid(), called="ada"), Run(at=2.0, pid=1 << 22)
    spawns.put(replace(ada, run=new, old=own))
    assert above(spawns, os.getpid()) == ["ada", "person"]
    spawns.note(replace(ada, run=new), retire=own)
    assert above(spawns, os.getpid()) == ["ada", "person"]


def test_what_an_agent_s_agents_start_counts_as_its_own(tmp_path: Path) -> None:
    """Each of them within its bound, and all of them no more than one may have; a
    person may have any number."""
    spawns = Spawns(StateFile(str(tmp_path / "spawns.json"), RealDisk(), State))
    by = ["bob", "ada", "person"]
    for number in range(ALIVE_MAX):
        assert crowded(spawns, by) is None
        one = by if number % 2 else by[1:]
        run = Run(at=1.0)
        spawns.put(
            Spawned(name=Name(f"x{number}"), client="x", cwd="/", by=one, run=run)
        )
    assert crowded(spawns, by) == "ada"
    assert crowded(spawns, ["person"]) is None
