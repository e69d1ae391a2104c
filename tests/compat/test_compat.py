"""What earlier releases wrote is read by this one, and written back as they had it."""

import functools
import operator
import shutil
from pathlib import Path

import msgspec
import pytest

from homi import claims
from homi.address import Device, Name
from homi.clock import SystemClock
from homi.config import Config
from homi.envelope import Rung, decode_envelope, decode_msg, encode
from homi.links import book
from homi.requests import VERBS
from homi.rooms import state as rooms
from homi.store.disk import RealDisk
from homi.store.places import queue_of
from homi.store.state import StateFile
from homi.store.store import DiskStore

HERE = Path(__file__).parent
RELEASES = sorted(path.name for path in HERE.glob("v*"))
KINDS: dict[str, type[msgspec.Struct]] = {
    "names.json": claims.State,
    "rooms.json": rooms.State,
    "links.json": book.Peerings,
}


@pytest.fixture(params=RELEASES)
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the state root that a release left."""
    root = tmp_path / "s"
    shutil.copytree(HERE / request.param / "state", root)
    for folder in (root, *root.rglob("*")):
        folder.chmod(0o700 if folder.is_dir() else 0o600)
    return root


@pytest.mark.parametrize("file", KINDS)
def test_a_state_file_is_read_whole_and_written_as_it_was(
    root: Path, file: str
) -> None:
    """A change of form needs a new version and a step that leads to it."""
    before = (root / file).read_bytes()
    kept = StateFile(str(root / file), RealDisk(), KINDS[file])
    value, findings = kept.load()
    assert value is not None
    assert findings == []
    kept.save(value)
    assert msgspec.json.decode((root / file).read_bytes()) == msgspec.json.decode(
        before
    )


def test_mail_of_an_earlier_release_is_pending_as_it_was(root: Path) -> None:
    """Seen is seen, held is held, and what waits for a device waits on."""
    store = DiskStore.open(root, Config(ring=1), SystemClock())
    assert store.findings == []
    assert not store.unclean
    bob = store.mailbox(Name("bob")).pending
    assert [item.rung for item in bob.values()] == [
        Rung.PARKED,
        *[Rung.STORED] * 3,
    ]
    assert not store.mailbox(Name("ada")).pending
    assert len(store.mailbox(queue_of(Device("mini"))).pending) == 1


def test_each_line_of_an_inbox_is_read_with_nothing_left_over(root: Path) -> None:
    """The sender's own bytes are among it, as they were."""
    texts = []
    for path in sorted(root.rglob("inbox.jsonl")):
        for line in path.read_bytes().splitlines():
            if line:
                texts.append(decode_msg(decode_envelope(line).msg).text)
    assert 'pending \u2028 and odd \\ "text"' in texts
    assert len(texts) == 7


@pytest.mark.parametrize("release", RELEASES)
def test_requests_of_an_earlier_release_are_understood(release: str) -> None:
    """And mean the same: a command of yesterday meets the daemon of today."""
    decode = msgspec.json.Decoder(functools.reduce(operator.or_, VERBS)).decode
    for line in (HERE / release / "requests.jsonl").read_bytes().splitlines():
        request = decode(line)
        assert msgspec.json.decode(encode(request)) == msgspec.json.decode(line)
