"""The C programs, servers in a scratch folder, and what a load saw of them."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORD = 1024  # bytes of one request line, line feed included


class Load(NamedTuple):
    """What the load generator saw, and what the server spent on it."""

    rate: float  # messages/s
    p50_us: float
    p99_us: float
    client_cpu_us: float  # per message
    server_cpu_us: float
    loop_cpu_us: float  # of it, the main thread's: the event loop
    msgs: float


class Tools(NamedTuple):
    """The compiled programs."""

    gcref: Path
    loadgen: Path


def scratch() -> Path:
    """A folder on the disk that is measured: $HOMI_BENCH_DIR, else /tmp."""
    return Path(tempfile.mkdtemp(prefix="hb", dir=os.environ.get("HOMI_BENCH_DIR")))


def build(folder: Path) -> Tools:
    """Compile the C programs with $CC (cc) into folder."""
    made = []
    for name in ("gcref", "loadgen"):
        target = folder / name
        source = HERE / "c" / f"{name}.c"
        compiler = os.environ.get("CC", "cc")
        subprocess.run(
            [compiler, "-O2", "-Wall", "-o", str(target), str(source)], check=True
        )
        made.append(target)
    return Tools(*made)


def padded(head: str, tail: str, size: int = RECORD) -> bytes:
    """head + words + tail + line feed, size bytes in all."""
    words = "please run the tests in module alpha and report what failed; " * 40
    room = size - len(head) - len(tail) - 1
    return (head + words[:room] + tail + "\n").encode()


def threads(pid: int) -> dict[int, float]:
    """CPU seconds of each thread of pid, to the nanosecond; pid is the main one."""
    spent = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            nanoseconds = int((task / "schedstat").read_text().split()[0])
            spent[int(task.name)] = nanoseconds / 1e9
    return spent


def cpu(pid: int) -> float:
    """CPU seconds of all threads of pid."""
    return sum(threads(pid).values())


def wait_socket(
    path: Path, process: subprocess.Popen[bytes], limit: float = 30
) -> None:
    """Return when something listens at path; RuntimeError when the server ended."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        with socket.socket(socket.AF_UNIX) as sock:
            if sock.connect_ex(str(path)) == 0:
                return
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
        time.sleep(0.01)
    raise RuntimeError(f"nothing listens at {path}")


@contextlib.contextmanager
def serving(
    argv: list[str],
    path: Path,
    env: dict[str, str] | None = None,
    log: Path | None = None,
) -> Iterator[int]:
    """A server that answers at path; ended with SIGTERM, its pid inside."""
    with (log or Path(os.devnull)).open("ab") as out:
        process = subprocess.Popen(
            argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    try:
        wait_socket(path, process)
        yield process.pid
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Tell it to end, and make it so if it does not."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def load(
    tools: Tools,
    pid: int,
    path: str,
    request: Path,
    *options: str,
    sessions: Path | None = None,
) -> Load:
    """Put the server under the generator's load; what both saw.  With sessions the
    generator has a record there, as a native sender does."""
    before = threads(pid)
    argv = ("-u", path, "-r", str(request), *options)
    seen = generate(tools, *argv, sessions=sessions)
    after, micro = threads(pid), 1e6 / max(1, seen["msgs"])
    return Load(
        seen["rate"],
        seen["p50_us"],
        seen["p99_us"],
        seen["client_cpu_us"],
        (sum(after.values()) - sum(before.values())) * micro,
        (after[pid] - before[pid]) * micro,
        seen["msgs"],
    )


def generate(
    tools: Tools, *options: str, sessions: Path | None = None
) -> dict[str, float]:
    """Run the load generator; RuntimeError where one message failed."""
    argv = [str(tools.loadgen), *options]
    if sessions is not None:
        argv = [sys.executable, str(HERE / "as_session.py"), str(sessions), *argv]
    done = subprocess.run(
        argv,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode or not done.stdout:
        raise RuntimeError(f"loadgen: {done.returncode} {done.stderr}")
    seen: dict[str, float] = json.loads(done.stdout)
    if seen["failed"]:
        raise RuntimeError(f"loadgen: {seen} {done.stderr}")
    return seen


def rate(seen: Load) -> str:
    """Messages a second, to read."""
    return f"{seen.rate:,.0f}/s"


def remove(folder: Path) -> None:
    """Take the scratch folder away."""
    shutil.rmtree(folder, ignore_errors=True)
