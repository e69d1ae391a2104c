"""make bench: durable accepts per second, beside a C server that does just that.

  run.py [--runs N] [--seconds S] [--profile] [--only PART]

Every figure is the median of interleaved runs (five, if not told otherwise), on fresh
files each time.  Ratios below their goal are marked, never failed: a shared machine
is no judge.  Other bench_*.py beside this file print their own lines afterwards.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench import kit
from tests.bench.kit import Load, Tools

NAMES = 1000


class Case(NamedTuple):
    """One line of the table."""

    label: str
    door: str  # control | peer
    options: tuple[str, ...]
    goal: float  # of the C server's rate; 0: none set


CASES = (
    Case("control, 1 client", "control", ("-c", "1", "-k", "1"), 0.80),
    Case("control, 64 clients, one name", "control", ("-c", "64", "-k", "1"), 0.50),
    Case(
        "control, 64 clients, 1,000 names", "control", ("-c", "64", "-k", "1000"), 0.40
    ),
    Case("control, 1 client, window 64", "control", ("-c", "1", "-w", "64"), 0.30),
    Case("peer, 1 sender", "peer", ("-p", "-c", "1", "-k", "1"), 0),
    Case("peer, 64 senders, one name", "peer", ("-p", "-c", "64", "-k", "1"), 0),
)
UUID = "01900000-0000-7000-8000-@@@@@@@@@@@@"


def hello() -> bytes:
    """The first line of a control connection."""
    return b'{"verb":"hello","v":1,"software":"bench"}\n'


def control_request() -> bytes:
    """One send of 1 KiB."""
    head = f'{{"verb":"send","msg":{{"id":"{UUID}","from":"bench","to":"n%%%%","text":"'
    return kit.padded(head, '"}}')


def peer_request() -> bytes:
    """One native send of 1 KiB: the auth line and the message line."""
    auth = '{"type":"auth","token":"' + "0" * 32 + '"}\n'
    head = (
        auth + f'{{"msgV":1,"msg_id":"{UUID}","type":"user","message":{{"role":"user",'
        '"content":"<cross-session-message from=\\"uds:/tmp/cc-socks/1.sock\\" '
        'from-name=\\"bench\\" from-mode=\\"prompting\\">\\n'
    )
    tail = (
        '\\n</cross-session-message>"},"priority":"next",'
        '"from":"uds:/tmp/cc-socks/1.sock"}'
    )
    return kit.padded(head, tail)


class Bench:
    """The scratch folder of one run of this program."""

    def __init__(self, tools: Tools, folder: Path, seconds: float) -> None:
        """Requests written; nothing started."""
        self.tools = tools
        self.folder = folder
        self.seconds = seconds
        self.log = folder / "homi.log"
        self.requests = {"control": folder / "control.req", "peer": folder / "peer.req"}
        self.requests["control"].write_bytes(control_request())
        self.requests["peer"].write_bytes(peer_request())
        self.hello = folder / "hello.req"
        self.hello.write_bytes(hello())
        self.template = folder / "template"

    def env(self, home: Path, **more: str) -> dict[str, str]:
        """The private surroundings of one daemon."""
        for part in ("s", "r", "c"):
            (home / part).mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("CLAUDE")}
        return kept | {
            "HOME": str(home),
            "HOMI_HOME": str(home / "s"),
            "XDG_RUNTIME_DIR": str(home / "r"),
            "XDG_CONFIG_HOME": str(home / "x"),
            "CLAUDE_CONFIG_DIR": str(home / "c"),
            "PYTHONPATH": str(kit.ROOT),
            **more,
        }

    def prepare(self) -> None:
        """Claim all names once; every run starts from a copy of that state."""
        env = self.env(self.template)
        path = self.template / "s" / "homi.sock"
        with kit.serving(self.argv(), path, env, self.log), _control(path) as wire:
            for name in ["bench", *(f"n{i:04d}" for i in range(NAMES))]:
                wire.write(f'{{"verb":"claim","name":"{name}"}}\n')
                wire.flush()
                answer = json.loads(wire.readline())
                if "ok" not in answer:
                    raise RuntimeError(f"claim {name}: {answer}")

    def argv(self) -> list[str]:
        """The daemon's command line."""
        return [sys.executable, str(kit.HERE / "server.py")]

    def homi(self, cases: list[Case], profile: Path | None = None) -> list[Load]:
        """All cases against one fresh daemon."""
        home = self.folder / "live"
        kit.remove(home)
        shutil.copytree(self.template, home, ignore=shutil.ignore_patterns("*.sock"))
        more = {"HOMI_BENCH_PROFILE": str(profile)} if profile else {}
        env = self.env(home, **more)
        path = home / "s" / "homi.sock"
        with kit.serving(self.argv(), path, env, self.log) as pid:
            peers = _peer_socket(home / "c" / "sessions", "n0000")
            self._warm(pid, path)
            return [
                self._load(
                    pid,
                    str(path if case.door == "control" else peers),
                    case,
                    sessions=home / "c" / "sessions",
                )
                for case in cases
            ]

    def reference(self, case: Case) -> Load:
        """One case against the C server, on a fresh file."""
        path, data = self.folder / "ref.sock", self.folder / "ref.data"
        data.unlink(missing_ok=True)
        way = "ack" if case.door == "control" else "close"
        argv = [str(self.tools.gcref), str(path), str(data), way]
        with kit.serving(argv, path) as pid:
            return self._load(pid, str(path), case)

    def _warm(self, pid: int, path: Path) -> None:
        """Every mailbox exists before anything is measured."""
        options = ("-c", "64", "-k", str(NAMES), "-n", str(2 * NAMES), "-d", "30")
        request = self.requests["control"]
        kit.load(self.tools, pid, str(path), request, "-H", str(self.hello), *options)

    def _load(
        self, pid: int, path: str, case: Case, *, sessions: Path | None = None
    ) -> Load:
        """One case; sessions is homi's registry, None for the C server."""
        ours = sessions is not None
        greet = ("-H", str(self.hello)) if ours and case.door == "control" else ()
        return kit.load(
            self.tools,
            pid,
            path,
            self.requests[case.door],
            *("-d", str(self.seconds), *greet, *case.options),
            sessions=sessions if case.door == "peer" else None,
        )


def _control(path: Path):  # noqa: ANN202 - a text file over the socket
    """A control connection that has said hello."""
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(path))
    wire = sock.makefile("rw", encoding="utf-8")
    sock.close()
    wire.write(hello().decode())
    wire.flush()
    wire.readline()
    return wire


def _peer_socket(sessions: Path, name: str) -> Path:
    """The socket of a claimed name, read off its record as a session does it."""
    for file in sessions.glob("*.json"):
        record = json.loads(file.read_text())
        if record["name"] == name:
            return Path(record["messagingSocketPath"])
    raise RuntimeError(f"{name} is not planted in {sessions}")


def measure(bench: Bench, cases: list[Case], runs: int) -> None:
    """Interleave, then print medians, ratios and goals."""
    ours: list[list[Load]] = [[] for _ in cases]
    theirs: list[list[Load]] = [[] for _ in cases]
    for number in range(runs):
        print(f"run {number + 1} of {runs}", file=sys.stderr)
        for i, case in enumerate(cases):
            theirs[i].append(bench.reference(case))
        for i, seen in enumerate(bench.homi(cases)):
            ours[i].append(seen)
    head = ("door and load", "homi /s", "C /s", "ratio", "goal", "p99 us / C", "x")
    print(kit.row(*head, "cpu us (loop) / C"))
    for case, one, two in zip(cases, ours, theirs, strict=True):
        a, b = kit.median(one), kit.median(two)
        ratio = a.rate / b.rate
        goal = f"{case.goal:.2f}" if case.goal else "-"
        mark = " below its goal" if ratio < case.goal else ""
        cells = (
            case.label,
            f"{a.rate:,.0f}",
            f"{b.rate:,.0f}",
            f"{ratio:.2f}",
            goal,
            f"{a.p99_us:.0f}/{b.p99_us:.0f}",
            f"{a.p99_us / b.p99_us:.1f}",
            f"{a.server_cpu_us:.0f} ({a.loop_cpu_us:.0f}) / {b.server_cpu_us:.1f}",
        )
        print(kit.row(*cells) + mark)


def others() -> None:
    """The measurements of single parts, each a script of its own."""
    for script in sorted(kit.HERE.glob("bench_*.py")):
        print(f"\n{script.name}", flush=True)
        env = os.environ | {"PYTHONPATH": str(kit.ROOT)}
        subprocess.run([sys.executable, str(script)], check=False, env=env, timeout=900)


def main() -> int:
    """Measure, print, leave nothing behind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--profile", action="store_true", help="say where time goes")
    parser.add_argument("--only", default="", help="cases whose label holds this")
    given = parser.parse_args()
    folder = kit.scratch()
    cases = [case for case in CASES if given.only in case.label]
    try:
        bench = Bench(kit.build(folder), folder, given.seconds)
        bench.prepare()
        if given.profile:
            target = folder / "profile.txt"
            bench.homi(cases, target)
            print(target.read_text())
        else:
            measure(bench, cases, given.runs)
    except RuntimeError:
        if (folder / "homi.log").exists():
            print((folder / "homi.log").read_text()[-3000:], file=sys.stderr)
        raise
    finally:
        kit.remove(folder)
    if not given.only and not given.profile:
        others()
    return 0


if __name__ == "__main__":
    sys.exit(main())
