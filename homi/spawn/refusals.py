"""Why a program is not started for a name now.

Owns the wording and the conditions; asks nobody and changes nothing.  homi-spawn(1).
"""

from homi.address import Name
from homi.errors import CannotCreate
from homi.sessions import Session
from homi.spawn.endings import is_of
from homi.spawn.state import Spawned


def check_free(name: Name, spawned: Spawned | None, owner: Session | None) -> None:
    """CannotCreate (73) where somebody has the name, or is on the way."""
    if spawned is not None and (run := spawned.run) is not None:
        if not run.ready:
            raise CannotCreate(f"{name} is being started", hint="homi spawn")
        raise CannotCreate(
            f"{name} was started already, pid {run.pid}",
            hint=f"homi respawn {name}",
        )
    if owner is not None:
        raise CannotCreate(
            f"{name} has a session already, pid {owner.pid}",
            hint="end it first, or spawn another name",
        )


def check_again(spawned: Spawned, owner: Session | None) -> None:
    """CannotCreate (73) where a start is under way, or the session of the name is not
    what was started for it."""
    name, run = spawned.name, spawned.run
    if spawned.old is not None or (run is not None and not run.ready):
        raise CannotCreate(f"{name} is being started", hint="homi spawn")
    if owner is not None and (run is None or not is_of(owner, run)):
        raise CannotCreate(
            f"the session of {name}, pid {owner.pid}, was not started by homi",
            hint="end it first",
        )
