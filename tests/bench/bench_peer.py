"""The peer door alone: connections a second and CPU per connection.

python -m tests.bench.bench_peer [SECONDS]

Behind it stands a postmaster that answers at once (what the door itself costs), then
the real one over a store in memory (what gate and postmark add).  tests/bench/run.py
measures the whole daemon.  Times are of this machine, now.
"""

import asyncio
import os
import socket
import sys
import time
from pathlib import Path

import uvloop

from homi import gate
from homi.address import Name
from homi.claims import Claim, State
from homi.envelope import Rung
from homi.postmaster import Result, Submission
from homi.store.disk import RealDisk
from homi.store.state import StateFile
from tests.bench import kit
from tests.unit.doors.peer_kit import House

NAMES = 1000
PROBES = 5000


def peer_request() -> bytes:
    """One native send of 1 KiB: the auth line and the message line."""
    auth = '{"type":"auth","token":"' + "0" * 32 + '"}\n'
    head = (
        auth + '{"msgV":1,"msg_id":"01900000-0000-7000-8000-@@@@@@@@@@@@",'
        '"type":"user","message":{"role":"user",'
        '"content":"<cross-session-message from=\\"uds:/tmp/cc-socks/1.sock\\" '
        'from-name=\\"bench\\" from-mode=\\"prompting\\">\\n'
    )
    tail = (
        '\\n</cross-session-message>"},"priority":"next",'
        '"from":"uds:/tmp/cc-socks/1.sock"}'
    )
    return kit.padded(head, tail)


def row(*cells: str) -> str:
    """One line: what, then figures."""
    return cells[0].ljust(33) + "".join(cell.rjust(16) for cell in cells[1:])


class Nothing:
    """A postmaster that keeps nothing and says so to nobody."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def accept(self, submission: Submission) -> None:
        result = Result(submission.head.id, kept=True, rung=Rung.STORED)
        self._loop.call_soon(submission.done, result)


def write_names(root: Path) -> None:
    """A thousand claims, as an earlier run would have left them."""
    state = State(instance="0" * 16)
    for n in range(NAMES):
        name = Name(f"n{n:04d}")
        state.claims[name] = Claim(name=name, number=10**11 + n, session_id=f"{n}")
    (root / "h").mkdir(mode=0o700, exist_ok=True)
    StateFile(os.fspath(root / "h" / "names.json"), RealDisk(), State).save(state)


async def serve(root: Path, kind: str) -> None:
    """A door of a thousand names until it is ended; a full mailbox is not measured."""
    gate.QUOTA_PENDING, gate.QUOTA_BYTES = 1 << 40, 1 << 60
    loop = asyncio.get_running_loop()
    accept = Nothing(loop).accept if kind == "noop" else None
    house = House(root, accept=accept)
    began = time.perf_counter()
    async with house.open():
        took = time.perf_counter() - began
        (root / "took").write_text(f"{took * 1000:.0f} ms")
        await asyncio.Event().wait()


def probes(path: str) -> None:
    """What every listing of a session does to every name."""
    for _ in range(PROBES):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)


def measure(tools: kit.Tools, root: Path, kind: str, seconds: str) -> None:
    """One kind of postmaster: probes, one sender, 64 senders, 64 over all names."""
    write_names(root)
    request = root / "request"
    request.write_bytes(peer_request())
    argv = [sys.executable, "-m", "tests.bench.bench_peer", "serve", str(root), kind]
    env = os.environ | {"PYTHONPATH": str(kit.ROOT)}
    path = root / "s" / "cc-socks" / f"{10**11}.sock"
    with kit.serving(argv, path, env, root / "log") as pid:
        probes(str(path))  # the door is up when these are answered
        before = kit.cpu(pid)
        began = time.perf_counter()
        probes(str(path))
        took = time.perf_counter() - began
        spent = (kit.cpu(pid) - before) * 1e6 / PROBES
        print(row(f"{kind}, probes", f"{PROBES / took:.0f}/s", f"{spent:.1f} µs"))
        print(f"{kind}: {NAMES} names up in {(root / 'took').read_text()}")
        many = str(path).replace(f"{10**11}", "10000000%%%%")
        for clients, names, where in ((1, 1, path), (64, 1, path), (64, NAMES, many)):
            options = ("-p", "-c", str(clients), "-k", str(names), "-d", seconds)
            sessions = root / "c" / "sessions"
            seen = kit.load(
                tools, pid, str(where), request, *options, sessions=sessions
            )
            label = f"{kind}, {clients} senders, {names} names"
            cost = f"{seen.server_cpu_us:.1f} µs"
            print(row(label, f"{seen.rate:.0f}/s", cost, f"{seen.p99_us:.0f} p99"))


def main() -> None:
    """Measure both, or serve one."""
    if sys.argv[1:2] == ["serve"]:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(Path(sys.argv[2]), sys.argv[3]))
        return
    seconds = sys.argv[1] if len(sys.argv) > 1 else "2"
    folder = kit.scratch()
    try:
        tools = kit.build(folder)
        for kind in ("noop", "memory"):
            (folder / kind).mkdir(mode=0o700)
            measure(tools, folder / kind, kind, seconds)
    except RuntimeError:
        for log in folder.glob("*/log"):
            print(log.read_text()[-2000:])
        raise
    finally:
        kit.remove(folder)


if __name__ == "__main__":
    main()
