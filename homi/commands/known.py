"""What is known of bindings beside their names: learned sessions, who went on when.

Owns commands.json; the binding itself is in names.json.  homi-command(1).
"""

import os

import msgspec
from msgspec.structs import replace

from homi.store.disk import RealDisk
from homi.store.state import StateFile

FILE = "commands.json"


class Binding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One binding."""

    session: str = ""  # learned from a run
    learned: int = 0  # the number of that run
    resumed: int = 0  # runs up to that number count as no failures


class State(msgspec.Struct, kw_only=True):
    """The whole of commands.json."""

    bindings: dict[str, Binding] = {}  # by the id of the body


class Known:
    """What commands.json holds; each change is on disk before its call returns."""

    def __init__(self, root: str) -> None:
        """findings: what was unreadable."""
        self._file = StateFile(os.path.join(root, FILE), RealDisk(), State)
        found, self.findings = self._file.load()
        self._state = found or State()

    def of(self, body: str) -> Binding:
        """What is known of that binding."""
        return self._state.bindings.get(body, Binding())

    def learn(self, body: str, session: str, n: int) -> None:
        """A run told which session it went on with; an earlier one says nothing."""
        old = self.of(body)
        if n > old.learned and session and session != old.session:
            self._put(body, replace(old, session=session, learned=n))

    def resume(self, body: str, n: int) -> None:
        """Count no failure of the runs up to that number."""
        if n > self.of(body).resumed:
            self._put(body, replace(self.of(body), resumed=n))

    def _put(self, body: str, binding: Binding) -> None:
        self._save(State(bindings={**self._state.bindings, body: binding}))

    def _save(self, state: State) -> None:
        self._file.save(state)
        self._state = state
