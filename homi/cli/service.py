"""`start`, `stop`, `restart` and `run`: the daemon's life.  homid(8)."""

import os
import select
import site
import subprocess
import sys
import time
from pathlib import Path

import click

from homi import __version__, config, logfile, paths
from homi.cli import options, output
from homi.cli.fast import load
from homi.connection import Connection
from homi.dial import ANSWER_TIMEOUT, Absent, Lost
from homi.errors import HomiError, NotReached, Unavailable, VersionMismatch
from homi.inheritance import UNATTENDED
from homi.peers import process
from homi.reports import Done, Restarting, Welcome
from homi.requests import Restart, Stop
from homi.store.lock import LOCK, is_held
from homi.store.whole import read_plain

START_LIMIT = 10.0  # s: even a full ring and many mailboxes are read by then
CHECK_LIMIT = 30.0  # s: the daemon gives the new homi twenty to say it could start
STOP_LIMIT = 15.0  # s: the drain, the last checkpoint and some slack
LOOK = 0.02  # s between looks at what tells nobody when it is ready
LOG_TAIL = 12  # lines of the log that are shown when a start failed


@click.command()
@click.option("--check", is_flag=True, help="Only say whether it could start.")
@click.pass_obj
def run(home: str, /, *, check: bool) -> int:
    """Be the daemon, in the foreground, until SIGTERM or Ctrl-C.

    \b
      ExecStart=/usr/local/bin/homi run
      $ homi --home /tmp/try run
      $ homi run --check
      homi 0.1.0 in /usr/local/lib/homi could start
    """
    settings = config.load(paths.config_file())
    root = paths.state_root(home)
    if not check:
        return load("homi.daemon", "run", root, settings)
    if (status := load("homi.daemon", "check", root)) != os.EX_OK:
        return status
    output.line(f"homi {__version__} in {Path(__file__).parents[2]} could start")
    return os.EX_OK


@click.command()
@options.as_json
@click.pass_obj
def start(home: str, /, *, as_json: bool) -> None:
    """Start the daemon in the background; ready when this returns.

    \b
      $ homi start
      started (pid 4021)
    """
    root = paths.state_root(home)
    paths.control_socket(root)  # refused before anything is written
    paths.make_private(root)
    if (pid := _answering(root)) is not None:
        _say_up(pid, fresh=False, as_json=as_json)
        return
    log = _log_file(root)
    seen = log.stat().st_size
    child = _spawn(root, log)
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline:
        ended = child.poll()
        if (pid := _answering(root)) is not None:
            if pid != child.pid:
                # Left alone, ours could come up behind a stop of the other one.
                child.terminate()
                child.wait()
            _say_up(pid, fresh=pid == child.pid, as_json=as_json)
            return
        if ended is not None and not (ended == os.EX_CANTCREAT and _held(root)):
            lines = _tail(log, seen)
            _show([line for line in lines if not line.startswith("homi: ")])
            raise _StartFailed(ended, lines, log)
        time.sleep(LOOK)
    _show(_tail(log, seen))
    raise NotReached(
        f"the daemon (pid {child.pid}) does not answer after {START_LIMIT:.0f} s",
        hint="it may still be reading its mailboxes; homi log shows it",
    )


@click.command()
@options.as_json
@click.pass_obj
def stop(home: str, /, *, as_json: bool) -> None:
    """End the daemon in order, and wait until its process is gone.

    \b
      $ homi stop
      stopped (pid 4021)
    """
    try:
        with _daemon(paths.state_root(home)) as client:
            pid = client.welcome.pid
            handle = _handle(pid)
            client.call(Stop(i=1), Done)
    except Absent:
        _say_down(0, as_json=as_json)
        return
    if not _gone(pid, handle):
        raise NotReached(
            f"the daemon (pid {pid}) is still there after {STOP_LIMIT:.0f} s",
            hint="it finishes what is in flight; nothing stored is lost",
        )
    _say_down(pid, as_json=as_json)


@click.command()
@options.as_json
@click.pass_context
def restart(ctx: click.Context, /, *, as_json: bool) -> None:
    """Let the homi installed now take over; no send fails.

    \b
      $ pip install --upgrade homi-postmaster && homi restart
      restarted (pid 4021): homi 0.1.0, then homi 0.2.0
    """
    root = paths.state_root(ctx.obj)
    try:
        with _daemon(root) as client:
            before = client.welcome
            handle = _handle(before.pid)
            under_way = client.wait(Restart(i=1), Restarting, CHECK_LIMIT)
    except Absent:
        ctx.invoke(start, as_json=as_json)
        return
    after = _taken_over(root, before.pid, handle, kept=under_way.kept)
    if as_json:
        told = {"running": True, "fresh": True, "pid": after.pid}
        output.json_line(told | {"before": before.software, "software": after.software})
    else:
        versions = f"{before.software}, then {after.software}"
        output.line(f"restarted (pid {after.pid}): {versions}")
    if after.software != f"homi {__version__}":
        output.note(
            f"this is homi {__version__}, the daemon was started by another one:"
            " homi stop, then homi start, to have it run this"
        )


def _taken_over(root: Path, pid: int, handle: int | None, *, kept: bool) -> Welcome:
    """What the new homi says, once it answers.  kept: the one before goes on, in
    another process, where that ends."""
    deadline, ended = time.monotonic() + START_LIMIT, False
    while (left := deadline - time.monotonic()) > 0:
        if (welcome := _welcome(root, left)) is not None:
            if welcome.pid == pid:
                return welcome
            raise Unavailable(
                f"the new homi died at its start; {welcome.software} goes on"
                f" (pid {welcome.pid})",
                hint="homi log says why; put the program right and try again",
            )
        if not ended and handle is not None:
            ended = bool(select.select([handle], [], [], 0)[0])
            # The one before, which has the lock all the time, needs as long again.
            deadline += START_LIMIT if ended else 0.0
        if ended and not (kept and is_held(str(root))):
            raise Unavailable(
                f"the daemon (pid {pid}) ended while it was restarted",
                hint="homi log says why, homi start starts it; nothing stored is lost",
            )
        time.sleep(LOOK)
    hint = "it may still be reading its mailboxes; homi log shows it"
    if kept and not ended:
        hint += f"; where it hangs, kill -9 {pid} lets the homi before go on"
    raise NotReached(
        f"the daemon (pid {pid}) does not answer after {START_LIMIT:.0f} s", hint=hint
    )


def _say_up(pid: int, *, fresh: bool, as_json: bool) -> None:
    """A daemon runs; fresh: since this command."""
    if as_json:
        output.json_line({"running": True, "fresh": fresh, "pid": pid})
    else:
        output.line(f"{'started' if fresh else 'already running'} (pid {pid})")


def _say_down(pid: int, *, as_json: bool) -> None:
    """No daemon runs any more; pid: the one that this command ended, 0 for none."""
    if as_json:
        output.json_line({"running": False, "fresh": pid != 0, "pid": pid})
    else:
        output.line(f"stopped (pid {pid})" if pid else "not running")


class _StartFailed(HomiError):
    """The daemon ended at its start, with a status that says why."""

    def __init__(self, status: int, lines: list[str], log: Path) -> None:
        """Its status becomes ours, and so does what it said for a person."""
        said = [line[6:] for line in lines if line.startswith("homi: ")]
        hints = [line[6:] for line in said if line.startswith("hint: ")]
        reasons = [f": {line}" for line in said if not line.startswith("hint: ")]
        super().__init__(
            f"the daemon ended with status {status}{''.join(reasons[-1:])}",
            hint=hints[-1] if hints else f"see {log}",
        )
        self.exit_status = status if status > 0 else os.EX_SOFTWARE


def _answering(root: Path) -> int | None:
    """The pid of the daemon that says hello; None where none does."""
    welcome = _welcome(root)
    return None if welcome is None else welcome.pid


def _welcome(root: Path, patience: float = ANSWER_TIMEOUT) -> Welcome | None:
    """What the daemon says to hello; None where none does in that time."""
    try:
        with Connection(root, patience) as client:
            return client.welcome
    except (Absent, Lost):
        return None


def _daemon(root: Path) -> Connection:
    """The daemon; of one that speaks another protocol (76) it is said how it ends."""
    try:
        return Connection(root)
    except VersionMismatch as error:
        pid = _holder(root)
        hint = f"kill {pid} ends it in order; then homi start" if pid else error.hint
        raise VersionMismatch(error.text, hint=hint) from None


def _held(root: Path) -> bool:
    """Whether another daemon has the root: one that starts beside us answers soon."""
    return _holder(root) is not None


def _holder(root: Path) -> int | None:
    """The process that took the lock of the root; None where there is none."""
    try:
        pid = int(read_plain(root / LOCK))
    except (OSError, ValueError):
        return None
    return pid if process.start_time(pid) is not None else None


def _log_file(root: Path) -> Path:
    """The daemon's log, made private."""
    log = logfile.place(root)
    paths.make_private(log.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(log, flags, 0o600))
    return log


def _spawn(root: Path, log: Path) -> "subprocess.Popen[bytes]":
    """`homi run` in a session of its own, its words going to the log."""
    command = [sys.executable, "-P", "-m", "homi", "--home", str(root), "run"]
    with open(log, "ab") as out:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd="/",
            env=_environment(),
            start_new_session=True,
        )


def _environment() -> dict[str, str]:
    """Ours; a homi that runs from its source tree is found there again."""
    tree = str(Path(__file__).parents[2])
    environment = {**os.environ, UNATTENDED: "1"}
    if tree not in site.getsitepackages():
        before = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = f"{tree}{os.pathsep}{before}" if before else tree
    return environment


def _tail(log: Path, since: int) -> list[str]:
    """The last lines of what the log says of this start."""
    with open(log, "rb") as file:
        file.seek(since)
        lines = file.read().decode(errors="backslashreplace").splitlines()
    return lines[-LOG_TAIL:]


def _show(lines: list[str]) -> None:
    """Show lines of the log beside an error."""
    for text in lines:
        output.note(f"log: {text.removeprefix('homi: ')}")


def _handle(pid: int) -> int | None:
    """A pidfd of the daemon, None where there is none to have."""
    try:
        return process.open_pidfd(pid)
    except OSError:
        return None


def _gone(pid: int, handle: int | None) -> bool:
    """Whether the process ended within the limit."""
    if handle is not None:
        return bool(select.select([handle], [], [], STOP_LIMIT)[0])
    deadline = time.monotonic() + STOP_LIMIT
    while process.start_time(pid) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK)
    return True
