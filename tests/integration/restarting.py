"""A daemon that is restarted in place, amid whatever it does."""

from pathlib import Path

from tests.standin.place import Place, until


def start_time(pid: int) -> str:
    """What tells a process from a later one of its number."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def restart(place: Place) -> None:
    """One restart; the process stays the same, and another program runs in it."""
    assert place.daemon is not None
    pid = place.daemon.pid
    before = start_time(pid)
    ups = place.log.read_text().count(" is up: ")
    told = place.json("restart")
    assert (told["pid"], told["running"]) == (pid, True)
    assert start_time(pid) == before
    until(
        lambda: place.log.read_text().count(" is up: ") == ups + 1,
        "another program runs in it",
    )


def stands_still(pid: int) -> bool:
    """Whether a process met the point at which it was to stop."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "T"
