"""The real Codex on the private machine, one turn at a time."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.clients import namespace
from tests.clients.harness import Claude
from tests.standin.place import until

VERSION = "0.171.0"
PORT = 8788  # inside the namespace
HERE = Path(__file__).resolve().parent
CONFIG = f"""\
# mine
check_for_update_on_startup = false
model = "fake-model"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:{PORT}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false
"""

Json = dict[str, Any]


def install() -> Path:
    """The client's command, installed by npm when it is not there yet."""
    where = namespace.cache().parent / f"codex-{VERSION}"
    command = where / "node_modules" / ".bin" / "codex"
    if not command.exists():
        where.mkdir(parents=True, exist_ok=True)
        quiet = ("--no-fund", "--no-audit", "--loglevel=error")
        subprocess.run(
            [
                *("npm", "install", *quiet, "--prefix"),
                where,
                f"@openai/codex@{VERSION}",
            ],
            check=True,
            stdout=sys.stderr,
            timeout=900,
        )
    return command


class Codex:
    """One CODEX_HOME on the machine of Claude's sessions, and an API for it."""

    def __init__(self, machine: Claude) -> None:
        """The API answers."""
        self._machine = machine
        self._command = install()
        self.home = machine.state / "codex"
        self.home.mkdir(mode=0o700, exist_ok=True)
        self.config = self.home / "config.toml"
        self.config.write_text(CONFIG)
        api = [sys.executable, str(HERE / "fake_responses.py"), "--port", str(PORT)]
        self._api = subprocess.Popen(machine.enter(api), env=self.env())
        until(self._answers, "the model API", 20)

    def env(self) -> dict[str, str]:
        """The environment of its sessions, and of homi."""
        return self._machine.env(CODEX_HOME=str(self.home), FAKE_KEY="dummy")

    def tui(self) -> list[str]:
        """What starts it in a terminal."""
        return [str(self._command)]

    def command(self) -> Path:
        """A folder with what starts it on the machine, for a PATH outside of it."""
        folder = self._machine.state / "inside"
        folder.mkdir(exist_ok=True)
        program = folder / "codex"
        real = shlex.join(self._machine.enter([str(self._command)]))
        program.write_text(f'#!/bin/sh\nFAKE_KEY=dummy exec {real} "$@"\n')
        program.chmod(0o755)
        return folder

    def run(self, *argv: str) -> str:
        """The output of a command of the client's that must succeed."""
        done = subprocess.run(
            self._machine.enter([str(self._command), *argv]),
            env=self.env(),
            cwd=self._machine.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
            text=True,
        )
        assert done.returncode == 0, (argv, done.stdout, done.stderr)
        return done.stdout

    def turn(self, prompt: str) -> list[Json]:
        """The events of one turn in a session of its own, which waits for homi."""
        quick = ["--json", "--skip-git-repo-check", "-C", str(self._machine.work)]
        if "[mcp_servers.homi]" in self.config.read_text():
            quick += ["-c", "mcp_servers.homi.required=true"]
        lines = self.run("exec", *quick, prompt).splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def live(self, name: str, *argv: str) -> None:
        """A thread on a screen of its own, at the line where its person types."""
        machine = self._machine
        trusted = f'\n[projects."{machine.work}"]\ntrust_level = "trusted"\n'
        if trusted not in self.config.read_text():
            self.config.write_text(self.config.read_text() + trusted)
        env = [f"{key}={value}" for key, value in self.env().items()]
        machine.tmux(
            *("new-session", "-d", "-s", name, "-x", "150", "-y", "45"),
            *("-c", str(machine.work)),
            shlex.join(["env", "-i", *env, str(self._command), *argv]),
        )
        until(lambda: "Ask Codex" in machine.screen(name), "a Codex", 40, 0.2)

    def kill(self) -> None:
        """SIGKILL every process of it: on screens, and what serves its threads."""
        for pid in self._machine.running("codex"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not self._machine.running("codex"), "every Codex is dead", 20)

    def log(self) -> list[Json]:
        """The requests that its model was sent."""
        return list(self._get("/_ctl/log"))

    def tools(self, say: Callable[[str], None]) -> None:
        """Have it say something until its model is given homi's tools: a thread begins
        without them, and what names threads never has any."""
        seen = len(self.log())

        def given() -> bool:
            before = len(self.log())
            # Another text each time: one that stands on the screen is not waited for.
            say(f"{before} hello")
            until(lambda: len(self.log()) > before, "a turn", 20, 0.2)
            made = self.log()[seen:]
            return any(tool.endswith("/send") for one in made for tool in one["tools"])

        until(given, "its tools", 60, 2.0)

    def end(self) -> None:
        """The API is gone, and what serves threads; a turn ends by itself."""
        subprocess.run(
            self._machine.enter([str(self._command), "app-server", "daemon", "stop"]),
            env=self.env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        self._api.terminate()
        self._api.wait(10)

    def _answers(self) -> bool:
        """Whether the API is up."""
        try:
            self.log()
        except (subprocess.CalledProcessError, ValueError):
            return False
        return True

    def _get(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """What the API says there, asked from inside."""
        code = (
            "import sys,urllib.request as u;o=u.build_opener(u.ProxyHandler({}));"
            f"sys.stdout.buffer.write(o.open('http://127.0.0.1:{PORT}'+sys.argv[1],"
            "timeout=20).read())"
        )
        asked = [sys.executable, "-I", "-c", code, path]
        found = subprocess.run(
            self._machine.enter(asked),
            env=self.env() | {"PATH": os.environ["PATH"]},
            capture_output=True,
            check=True,
        )
        return json.loads(found.stdout)
