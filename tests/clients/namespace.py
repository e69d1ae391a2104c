"""A private machine for the real client: a network namespace that has only loopback,
and in it a scripted model API.

No account and no key: the API key is a dummy.  The client is installed once by npm
under $HOMI_CLIENTS_CACHE (default ~/.cache/homi-clients) and kept; all else is
temporary.  Unix sockets cross the namespace, so homi runs outside it.
"""

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.standin.place import homi_command, until

VERSION = "2.1.332"  # the client whose contract homi was built to
DUMMY_KEY = "sk-ant-api03-" + "dummy" * 8
PORT = 8787  # inside the namespace, where nothing else is
HERE = Path(__file__).resolve().parent
NEEDS = ("npm", "tmux", "unshare", "nsenter", "ip")
HOLDER = "homi-clients-holder"
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

Json = dict[str, Any]


def missing() -> str:
    """Why the real client cannot run here; empty when it can."""
    if not sys.platform.startswith("linux"):
        return "needs Linux network namespaces"
    if os.geteuid() != 0:
        return "needs root for a network namespace"
    lacking = [tool for tool in NEEDS if not shutil.which(tool, path=PATH)]
    if lacking:
        return f"needs {', '.join(lacking)}"
    probe = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False)
    return "" if probe.returncode == 0 else "cannot make a network namespace"


def cache() -> Path:
    """Where the installed client stays between runs."""
    given = os.environ.get("HOMI_CLIENTS_CACHE")
    base = Path(given) if given else Path.home() / ".cache" / "homi-clients"
    return base / VERSION


def install() -> Path:
    """The client's own binary, installed by npm when it is not there yet."""
    where = cache()
    pattern = "node_modules/@anthropic-ai/claude-code-*/claude"
    if not list(where.glob(pattern)):
        where.mkdir(parents=True, exist_ok=True)
        package = f"@anthropic-ai/claude-code@{VERSION}"
        quiet = ("--no-fund", "--no-audit", "--loglevel=error")
        subprocess.run(
            ["npm", "install", *quiet, "--prefix", str(where), package],
            check=True,
            stdout=sys.stderr,
            timeout=600,
        )
    return sorted(where.glob(pattern))[0]


class Namespace:
    """One private machine; down() ends everything on it."""

    def __init__(self) -> None:
        """Folders and settings written; nothing started."""
        self.state = Path(tempfile.mkdtemp(prefix="hc"))
        self.home, self.work, self.run = (self.state / x for x in ("h", "w", "r"))
        self.config = self.home / ".claude"
        self.registry = self.config / "sessions"
        self.root = self.state / "s"  # homi's
        self.tmux_socket = self.state / "tmux"
        self.bin = self.state / "bin"
        self.holder = 0
        for folder in (self.home, self.work, self.run, self.config, self.bin):
            folder.mkdir(mode=0o700)
        self._settle()

    def _settle(self) -> None:
        """Answer in files what the client would ask at a first start."""
        project = {
            "hasTrustDialogAccepted": True,
            "hasCompletedProjectOnboarding": True,
        }
        (self.home / ".claude.json").write_text(
            json.dumps(
                {
                    "hasCompletedOnboarding": True,
                    "lastOnboardingVersion": VERSION,
                    "numStartups": 5,
                    "theme": "dark",
                    "bypassPermissionsModeAccepted": True,
                    "customApiKeyResponses": {
                        "approved": [DUMMY_KEY[-20:]],
                        "rejected": [],
                    },
                    "projects": {str(self.work): project},
                }
            )
        )
        (self.config / "settings.json").write_text(
            json.dumps({"skipDangerousModePermissionPrompt": True})
        )

    def env(self, **extra: str | None) -> dict[str, str]:
        """The environment of every session, and of homi; None removes a variable."""
        found: dict[str, str | None] = {
            "PATH": f"{self.bin}:{PATH}",
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "XDG_RUNTIME_DIR": str(self.run),
            "HOMI_HOME": str(self.root),
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{PORT}",
            "ANTHROPIC_API_KEY": DUMMY_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }
        return {k: v for k, v in (found | extra).items() if v is not None}

    # ---- the namespace ----

    def up(self) -> None:
        """Start the namespace and the API in it."""
        (self.bin / "claude").symlink_to(install())
        (self.bin / "homi").write_text(
            f'#!/bin/sh\nexec {shlex.join(homi_command())} "$@"\n'
        )
        (self.bin / "homi").chmod(0o755)
        mark = self.state / "holder"
        script = (
            'ip link set lo up; echo $$ > "$1.tmp"; mv "$1.tmp" "$1"; shift; "$@" & '
            f"exec -a {HOLDER} sleep infinity"
        )
        api = [sys.executable, str(HERE / "fake_api.py"), "--port", str(PORT)]
        with (self.state / "api.log").open("ab") as log:
            self._unshared = subprocess.Popen(
                [*["unshare", "-n", "bash", "-c"], script, "x", str(mark), *api],
                env=self.env(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(mark.exists, "the namespace", 20)
        self.holder = int(mark.read_text())
        until(self._pings, "the model API", 20)

    def _pings(self) -> bool:
        with contextlib.suppress(RuntimeError):
            return bool(self.control("/_ctl/ping"))
        return False

    def down(self) -> None:
        """End every process of the namespace: sessions, services, API.  What homi
        started outside of it has ended before."""
        if self.holder:
            self.tmux("kill-server", check=False)
            ours = self._own()
            for number in (signal.SIGTERM, signal.SIGKILL):
                for pid in self._inside(ours):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
                with contextlib.suppress(AssertionError):
                    until(lambda: not self._inside(ours), "the namespace is empty", 3)
            self._unshared.wait(10)
        try:
            until(lambda: not self._left(), "no process is left", 10)
        finally:
            shutil.rmtree(self.state, ignore_errors=True)

    def _left(self) -> list[str]:
        """The living processes that were started with a path of ours."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit():
                    words = (entry / "cmdline").read_text(errors="replace")
                    found += [words] * (f"{self.state}/" in words)
        return found

    def running(self, program: str) -> list[int]:
        """The living processes of our namespace that are that program, or a script of
        that name."""
        found = []
        for pid in self._inside(self._own()):
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
                if program in map(os.path.basename, words[:2]):
                    found.append(pid)
        return found

    def _own(self) -> str:
        """Our namespace, which is not that of whoever runs the tests."""
        ours = os.readlink(f"/proc/{self.holder}/ns/net")
        assert ours != os.readlink("/proc/self/ns/net")
        return ours

    def _inside(self, ours: str) -> list[int]:
        """The living processes of our namespace."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and os.readlink(entry / "ns/net") == ours:
                    found.append(int(entry.name))
        return found

    def enter(self, argv: list[str]) -> list[str]:
        """argv, run inside the namespace."""
        return ["nsenter", "-t", str(self.holder), "-n", "--", *argv]

    def plain_root(self) -> list[str]:
        """An argv prefix that hides the marks of a container: the client sweeps its
        registry only where it believes to be on a person's machine."""
        script = (
            'set -e; r=$1; shift; mkdir -p "$r"; mount -t tmpfs none "$r"; '
            'for d in /*; do t="$r$d"; if [ -L "$d" ]; then cp -P "$d" "$t"; '
            'elif [ -d "$d" ]; then mkdir -p "$t"; mount --rbind "$d" "$t"; fi; done; '
            'w=$PWD; exec chroot "$r" /bin/sh -c \'cd "$0" && exec "$@"\' '
            '"$w" "$@"'
        )
        head = ["unshare", "-m", "--propagation", "private", "bash", "-c", script, "x"]
        return [*head, str(self.state / "root")]

    # ---- the model ----

    def control(self, path: str, body: Json | None = None) -> Any:  # noqa: ANN401
        """Ask the API's control paths, from inside."""
        code = (
            "import sys,urllib.request as u;d=sys.stdin.buffer.read() or None;"
            "o=u.build_opener(u.ProxyHandler({}));"
            f"r=u.Request('http://127.0.0.1:{PORT}'+sys.argv[1],data=d);"
            "sys.stdout.buffer.write(o.open(r,timeout=20).read())"
        )
        done = subprocess.run(
            self.enter([sys.executable, "-I", "-c", code, path]),
            input=json.dumps(body).encode() if body is not None else b"",
            capture_output=True,
            env=self.env(),
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
        return json.loads(done.stdout)

    def tmux(self, *argv: str, check: bool = True) -> str:
        """One tmux command on the private server."""
        done = subprocess.run(
            self.enter(["tmux", "-S", str(self.tmux_socket), *argv]),
            env=self.env(),
            check=check,
            capture_output=True,
            text=True,
        )
        return done.stdout
