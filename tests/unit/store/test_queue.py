"""An out queue is kept as a mailbox is, with the address of each letter."""

from pathlib import Path

import pytest

from homi.address import Device, Name
from homi.clock import SystemClock
from homi.config import Config
from homi.envelope import MessageId, Msg, Rung, Via, encode, origin
from homi.ids import new
from homi.store import engine, upkeep
from homi.store.base import Kept, Mail
from homi.store.disk import RealDisk
from homi.store.index import Index, Query
from homi.store.loading import load
from homi.store.places import (
    device_of,
    folder_of,
    inbox_of,
    is_place,
    place_of,
    queue_of,
)
from homi.store.prune import plan
from homi.store.store import DiskStore
from tests.unit.store.commit_kit import AT
from tests.unit.store.test_upkeep import Life, run

LAB = queue_of(Device("lab"))
VIA = Via(door="control", uid=7)


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rest comes at once, segments are small, few ids are kept whole."""
    monkeypatch.setattr(engine, "CHECKPOINT_IDLE", 0.01)
    monkeypatch.setattr(upkeep, "FIRST", 0.0)
    monkeypatch.setattr(upkeep, "SEGMENT", 2_000)
    monkeypatch.setattr(upkeep, "KEPT", 0)


def letter(to: str, text: str = "hello", message: str | None = None) -> Mail:
    """A mail for an address on lab."""
    head = Msg(id=MessageId(message or new()), from_="eve", to=to, text=text)
    msg = encode(head)
    tail = b'"at":"%b","to":"%b","via":%b,"hops":["mini"],"msg":%b}\n' % (
        AT.encode(),
        to.encode(),
        encode(VIA),
        msg,
    )
    mail = Mail(LAB, origin(VIA), head, VIA, msg, tail, lambda _mail: None)
    mail.to = to
    return mail


def waiting(root: Path) -> list[tuple[str, Rung]]:
    """What a start finds pending for lab."""
    store = DiskStore.open(root, Config(ring=1), SystemClock())
    found = [(i.to, i.rung) for i in store.mailbox(LAB).pending.values()]
    assert store.queues() == [store.mailbox(LAB)]
    assert store.mailboxes() == []
    store._committer.close()
    store._lock.release()
    return found


def test_a_place_and_its_files_name_each_other() -> None:
    """No mailbox has the name of a queue, and no queue leaves its folder."""
    assert (LAB, device_of(LAB), device_of(Name("lab"))) == ("@lab", "lab", None)
    for place in (LAB, Name("lab")):
        assert place_of(inbox_of(place)) == place
    assert (folder_of(LAB), folder_of(Name("lab"))) == ("out/lab", "mail/lab")
    assert is_place("@lab")
    assert not any(map(is_place, ("@", "@../x", "@@lab", "../x", "@Lab")))


def test_the_address_of_each_letter_outlives_restart_and_index(tmp_path: Path) -> None:
    """From the files alone, and from what an index vouches for."""

    async def scenario(life: Life) -> None:
        for to in ("gds@lab", "owner@lab", "gds@lab"):
            await life.send(letter(to))
        box = life.store.mailbox(LAB)
        first = next(iter(box.pending.values()))
        assert first.to == "gds@lab"
        assert box.read(first).hops == ["mini"]

    run(tmp_path, scenario)
    wanted = [(to, Rung.STORED) for to in ("gds@lab", "owner@lab", "gds@lab")]
    assert waiting(tmp_path) == wanted
    with Index.open(tmp_path) as index:
        index.catch_up()
        assert [e.dest for e in index.search(Query(names=(LAB,)))] == [
            to for to, _ in wanted
        ]
        before = index.before(LAB)
        assert index.stamps() == [(to, AT) for to, _ in wanted]
        assert index.stamps(Name("ada")) == []
    assert before is not None
    vouched = load(str(tmp_path), LAB, RealDisk(), before=before).mailbox
    assert [item.to for item in vouched.pending.values()] == [to for to, _ in wanted]
    assert waiting(tmp_path) == wanted


def test_a_repeat_for_a_queue_is_known_and_another_text_is_not(tmp_path: Path) -> None:
    """A sender that saw an error may send the same again, also after a restart."""
    one = new()

    async def first(life: Life) -> None:
        assert (await life.send(letter("gds@lab", message=one))).kept is Kept.STORED
        assert (await life.send(letter("gds@lab", message=one))).kept is Kept.KNOWN

    async def second(life: Life) -> None:
        assert (await life.send(letter("gds@lab", message=one))).kept is Kept.KNOWN
        other = await life.send(letter("gds@lab", "another", one))
        assert other.kept is Kept.CONFLICT

    run(tmp_path, first)
    run(tmp_path, second)


@pytest.mark.usefixtures("_soon")
def test_a_queue_that_was_drained_is_archived_indexed_and_pruned(
    tmp_path: Path,
) -> None:
    """Its closed journals keep their own names; sequences go on."""
    archive = tmp_path / "out/lab/archive"
    sent: list[Mail] = []

    async def scenario(life: Life) -> None:
        for n in range(3):
            sent.append(await life.send(letter("gds@lab", f"{n}" * 1000)))
        for one in sent:
            await life.end(one, Rung.RELAYED)
        await life.until(lambda: archive.exists() and len(list(archive.iterdir())) == 2)

    async def later(life: Life) -> None:
        again = await life.send(letter("gds@lab", "0" * 1000, sent[0].id))
        assert again.kept is Kept.KNOWN
        fresh = await life.send(letter("gds@lab"))
        assert fresh.seq == 4
        box = life.store.mailbox(LAB)
        assert box.rung_of(sent[1].id) is Rung.RELAYED

    run(tmp_path, scenario)
    assert sorted(path.name for path in archive.iterdir()) == [
        "ledger.0000000000000003.jsonl",
        "queue.0000000000000003.jsonl",
    ]
    run(tmp_path, later)
    with Index.open(tmp_path) as index:
        index.catch_up()
        assert index.counts()[LAB] == (4, 1)
        assert index.findings() == []
        old, _, _, _ = index.search(Query(names=(LAB,)))
        assert b"0" * 1000 in index.line(old)
    (found,) = plan(RealDisk(), str(tmp_path), [LAB], "2999")
    assert [one.segment.last for one in found.old] == [3]


def test_nothing_of_a_stray_folder_is_a_queue(tmp_path: Path) -> None:
    """A start passes over what is not ours."""

    async def scenario(life: Life) -> None:
        await life.send(letter("gds@lab"))

    (tmp_path / "out/Not A Name").mkdir(parents=True)
    tmp_path.chmod(0o700)
    (tmp_path / "out/file").write_bytes(b"")
    run(tmp_path, scenario)
    assert waiting(tmp_path) == [("gds@lab", Rung.STORED)]


def test_a_queue_that_cannot_be_read_keeps_up_no_other(tmp_path: Path) -> None:
    """It is a finding, it is left as it is, and what is for it is not promised."""

    async def scenario(life: Life) -> None:
        await life.send(letter("gds@lab"))

    run(tmp_path, scenario)
    (tmp_path / "out" / "bad" / "queue.jsonl").mkdir(parents=True)
    for folder in ("", "out", "out/bad"):
        (tmp_path / folder).chmod(0o700)

    async def later(life: Life) -> None:
        assert [one.path for one in life.store.findings] == [
            str(tmp_path / "out/bad/queue.jsonl")
        ]
        lost = letter("x@bad")
        lost.place = queue_of(Device("bad"))
        assert (await life.send(letter("gds@lab"))).kept is Kept.STORED
        assert (await life.send(lost)).kept is Kept.FAILED
        assert (await life.send(letter("gds@lab"))).kept is Kept.STORED

    run(tmp_path, later)
    assert waiting(tmp_path) == [("gds@lab", Rung.STORED)] * 3
    assert (tmp_path / "out/bad/queue.jsonl").is_dir()
