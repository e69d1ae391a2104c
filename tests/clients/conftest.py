"""Real sessions on a private machine, with homi beside them.  `make test-clients`."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from homi.seats.server import Server
from tests.clients.harness import Claude
from tests.clients.namespace import missing
from tests.standin.place import Place, homi_command, until

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip by name what this machine cannot run."""
    mine = [item for item in items if HERE in item.path.parents]
    if mine and (why := missing()):
        for item in mine:
            item.add_marker(pytest.mark.skip(reason=why))


class Post(Place):
    """homi for the sessions of one harness: its files and commands, not its folders."""

    def __init__(self, claude: Claude, device: str = "here") -> None:
        """Nothing started; the folders belong to the harness."""
        self.claude = claude
        self.device = device
        self.root = claude.state
        self.home = claude.home
        self.bin = claude.bin
        self.state = claude.root
        self.registry = claude.registry
        self.work = claude.work
        self.run = claude.run
        self.log = claude.state / "homi.log"
        self.sessions = []
        self.started = []
        self.daemon = None
        settings = self.home / ".config" / "homi"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "homi.toml").write_text(f'device = "{device}"\n')

    def env(self, **more: str) -> dict[str, str]:
        """The sessions' own environment."""
        return self.claude.env(**more)

    def end(self) -> None:
        """Stop the daemon, whatever state it is in, and end the seats it opened."""
        if self.daemon is not None and self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
            try:
                self.daemon.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()
        server = Server.of(self.state)
        for seat in server.seats():
            server.kill(seat)

    def ledger(self, name: str, message: str) -> list[dict[str, Any]]:
        """The ledger lines of one message."""
        return [line for line in self.lines(name, "ledger") if line["id"] == message]

    def has(self, name: str, message: str, **fields: str) -> None:
        """Wait until a ledger line of the message has these fields."""
        until(
            lambda: any(
                all(line.get(key) == value for key, value in fields.items())
                for line in self.ledger(name, message)
            ),
            f"{message} in {name}: {fields}, has {self.ledger(name, message)}",
            30,
        )


@pytest.fixture(scope="module")
def machine() -> Iterator[Claude]:
    """One namespace with its model API for all tests of a module."""
    claude = Claude()
    try:
        claude.up()
        yield claude
    finally:
        claude.down()


@pytest.fixture
def claude(machine: Claude) -> Iterator[Claude]:
    """The machine without sessions, before and after."""
    yield machine
    machine.end_all()
    machine.tmux("kill-server", check=False)


@pytest.fixture
def post(claude: Claude, request: pytest.FixtureRequest) -> Iterator[Post]:
    """homi running, svc claimed for mail from the command line."""
    made = Post(claude)
    made.start()
    made.ok("claim", "svc")
    try:
        yield made
    finally:
        made.end()
        _forget(made)


def _forget(post: Post) -> None:
    """The next test starts without mail and without names."""
    subprocess.run(["rm", "-rf", str(post.state)], check=True)
    left = [file for file in post.registry.glob("*.json") if _ours(file)]
    assert not left, f"records left by a stopped daemon: {left}"


def _ours(file: Path) -> bool:
    return len(file.stem) > 7


__all__ = ["Post", "homi_command"]
