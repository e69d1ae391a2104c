"""The index in the power cuts of the store: whatever it vouches for, nothing is lost.

It is written beside the histories of powercut.World, in a real file: as far as the
journals are synced, as a daemon does, or as far as they reach, as a command does.  A
power cut may take it back to any state it ever had.
"""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from homi.address import Name
from homi.store.index import Index
from homi.store.loading import load
from homi.store.mailbox import Mailbox
from homi.store.recovery import Keep
from homi.store.start import Started, start
from tests.crash.books import ROOT, Violation
from tests.crash.fakedisk import FakeDisk
from tests.crash.powercut import World

HISTORIES = 15
SOAK = 3000
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
FILE = "index.sqlite3"


class Beside:
    """The fake disk for who knows its root by the path of a real folder."""

    def __init__(self, disk: FakeDisk, folder: str) -> None:
        self._disk = disk
        self._folder = folder

    def __getattr__(self, call: str) -> Any:  # noqa: ANN401 - any of its calls
        real = getattr(self._disk, call)

        def made(where: str | int, *rest: Any) -> Any:  # noqa: ANN401
            if isinstance(where, str):
                where = where.replace(self._folder, ROOT)
            return real(where, *rest)

        return made


class Indexed(World):
    """A history of a store with an index."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.folder = folder
        self._copies: list[bytes] = []
        super().__init__(seed)

    def _index(self) -> Index:
        disk = Beside(self.disk, str(self.folder))
        return Index.open(self.folder, disk)

    def _start(self, keep: Keep) -> Started:
        """A start that believes the index, as far as it can."""
        with self._index() as index:
            started = start(self.disk, ROOT, self._size, keep, lambda: 0.0, index=index)
            for name, box in started.mailboxes.items():
                self._compare(index, name, box)
        return started

    def _compare(self, index: Index, name: Name, box: Mailbox) -> None:
        """The start saw what the files hold."""
        whole = load(ROOT, name, self.disk).mailbox
        for what in ("last_seq", "last_n", "pending_bytes"):
            if getattr(whole, what) != getattr(box, what):
                raise Violation(f"{name}: {what} differs from what the files tell")
        if _seen(whole) != _seen(box):
            raise Violation(f"{name}: the index hid or changed pending mail")
        self.met["tail"] += index.before(name) is not None

    def _act(self) -> None:
        """Sometimes somebody indexes between two events."""
        if self.rng.random() < 0.2:
            self._advance()
        super()._act()

    def _advance(self) -> None:
        """A daemon to where the journals are synced, a command to their ends."""
        with self._index() as index:
            names = index.names()
            if names and self.rng.random() < 0.5:
                name = self.rng.choice(names)
                ends = self.committer.checkpoint.ends
                inbox, ledger = (
                    ends.get(f"mail/{name}/{kind}.jsonl", 0)
                    for kind in ("inbox", "ledger")
                )
                index.step(name, (inbox, ledger))
                self.met["synced step"] += 1
            else:
                index.catch_up()
                self.met["caught up"] += 1
        self._copies.append((self.folder / FILE).read_bytes())

    def _cut_power(self) -> None:
        """The index may be as it was at any time before, or gone."""
        super()._cut_power()
        if self._copies and self.rng.random() < 0.6:
            for path in self.folder.iterdir():
                path.unlink()
            self.met["index behind"] += 1
            if self.rng.random() < 0.9:
                (self.folder / FILE).write_bytes(self.rng.choice(self._copies))


def _seen(box: Mailbox) -> list[dict[str, Any]]:
    """All that is known of what is pending."""
    return [
        {slot: getattr(item, slot) for slot in item.__slots__}
        for item in box.pending.values()
    ]


def survive(histories: int) -> None:
    """Run so many; fail with the seed of the first that breaks a promise."""
    chosen = os.environ.get("HOMI_POWERCUT_SEED")
    first = int(chosen) if chosen else int.from_bytes(os.urandom(4), "big")
    met: dict[str, int] = {}
    for seed in range(first, first + histories):
        with TemporaryDirectory(dir=MEMORY) as name:
            world = Indexed(seed, Path(name))
            try:
                world.run()
            except Violation as violation:
                pytest.fail(f"HOMI_POWERCUT_SEED={seed}: {violation}")
            for what, count in world.met.items():
                met[what] = met.get(what, 0) + count
    for what in ("tail", "synced step", "caught up", "index behind", "power cut"):
        assert met.get(what), f"no history met: {what}"


def test_mail_survives_whatever_state_the_index_is_in() -> None:
    """Behind the journals, ahead of what a cut left of them, or about others."""
    survive(HISTORIES)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_mail_survives_many_states_of_the_index() -> None:
    """The same, long enough for what is rare."""
    survive(SOAK)


def test_a_start_that_lost_a_letter_is_noticed(tmp_path: Path) -> None:
    """The control: what the index hides is found by the comparison."""
    world = Indexed(1, tmp_path)
    world.crashes = world.failures = 0
    world._boot()
    world.queue = [(world.books.new("ada", "id-1", 1, 9), 0)]
    world._settle()
    started = world._start(lambda *_: "")
    box = started.mailboxes[Name("ada")]
    box.pending.clear()
    with world._index() as index, pytest.raises(Violation, match="hid"):
        world._compare(index, Name("ada"), box)
    shutil.rmtree(tmp_path)
