"""The mail of one name as a program reads it."""

import doctest
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import homi
from homi import Mailbox, mailbox
from homi.errors import NoInput, NoSuchName, Usage
from tests.unit.mail.kit import Root, letter, message


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Root:
    """gds-agent has three: one seen, one held, one just stored; bob has one."""
    monkeypatch.setenv("HOMI_HOME", str(tmp_path / "s"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    root = Root(tmp_path / "s")
    root.claim("gds-agent", "bob")
    root.inbox(
        "gds-agent",
        letter(1, "ci", "all is well\nand more of it"),
        letter(2, "ci", "the nightly build is red"),
        letter(3, "ada", "shall I look?", reply_to=message(2)),
    )
    root.inbox("bob", letter(4, "ada", "the nightly build, too"))
    root.ledger("gds-agent", 1, 1, "offered")
    root.ledger("gds-agent", 1, 1, "seen")
    root.ledger("gds-agent", 2, 2, "held", reason="no-owner")
    return root


@pytest.fixture
def box(root: Root) -> Iterator[Mailbox]:
    with Mailbox("gds-agent") as opened:
        yield opened


@pytest.mark.usefixtures("root")
def test_the_examples_do_what_they_say() -> None:
    """Each of them is run as it stands."""
    found = [one for one in doctest.DocTestFinder().find(mailbox) if one.examples]
    assert len(found) >= 6
    runner = doctest.DocTestRunner()
    for one in found:
        runner.run(one)
    assert runner.failures == 0


def test_the_package_has_it_only_when_it_is_asked_for() -> None:
    """What is not there is no attribute; the control: what is."""
    assert homi.Mailbox is Mailbox
    with pytest.raises(AttributeError):
        homi.Mailman  # noqa: B018 - the look is what is tested


def test_the_state_root_can_be_named(root: Root, tmp_path: Path) -> None:
    """As a text or a path; another one has other names."""
    with Mailbox("bob", root.path) as one, Mailbox("bob", str(root.path)) as other:
        assert one.pending() == other.pending() != []
    with pytest.raises(NoSuchName):
        Mailbox("bob", tmp_path / "elsewhere")


def test_only_its_own_mail_is_there(box: Mailbox) -> None:
    """Another's id is unknown here; the control: one's own by a few digits."""
    assert box.get("aaaa00000002").id == message(2)
    with pytest.raises(NoInput):
        box.get(message(4))
    with pytest.raises(Usage, match="start of 3 ids"):
        box.get("aaaa")
    assert [one.name for one in box.search("nightly")] == ["gds-agent"]


def test_times_are_ages_dates_stamps_or_datetimes(box: Mailbox) -> None:
    """The same instant in each form."""
    instant = datetime(2025, 11, 30, 10, 2, tzinfo=UTC)
    for since in (instant, "2025-11-30T10:02:00Z", "2025-11-30T12:02+02:00"):
        assert [one.seq for one in box.messages(since=since)] == [2, 3]
        assert [one.seq for one in box.messages(before=since)] == [1]
    assert list(box.messages(since="1s")) == []
    with pytest.raises(Usage):
        list(box.messages(since="soon"))


def test_a_rung_that_is_none_is_told(box: Mailbox) -> None:
    """As every word a program may get wrong; a right one finds what stands there."""
    assert list(box.messages(rungs=["seen"]))
    with pytest.raises(Usage, match="no rung 'read'"):
        list(box.messages(rungs=["read"]))


def test_a_limit_keeps_the_first_or_the_newest(box: Mailbox) -> None:
    assert [one.seq for one in box.messages(limit=2)] == [1, 2]
    assert [one.seq for one in box.messages(limit=2, newest=True)] == [3, 2]
    assert [one.seq for one in box.messages(limit=1, after=1)] == [2]


def test_more_than_a_page_comes_in_order_and_once(root: Root) -> None:
    """Pages are no edges."""
    root.inbox("bob", *(letter(n, "ada", "again") for n in range(10, 2_511)))
    with Mailbox("bob") as box:
        assert [one.seq for one in box.messages()] == list(range(1, 2_503))


def test_text_is_what_was_sent_and_of_a_copy_its_own(root: Root) -> None:
    """One id may stand twice, from two origins."""
    twin = letter(3, "eve", "not the same")
    root.inbox("gds-agent", twin)
    with Mailbox("gds-agent") as box:
        texts = [box.text(one) for one in box.messages(after=2)]
    assert texts == ["shall I look?", "not the same"]


def test_reading_changes_nothing(root: Root, box: Mailbox) -> None:
    """But for the index, which is derived."""
    before = {p: p.read_bytes() for p in root.path.rglob("*.json*")}
    list(box.messages())
    box.text("aaaa00000003")
    box.search("red")
    box.thread(message(1))
    assert {p: p.read_bytes() for p in root.path.rglob("*.json*")} == before


def test_what_is_damaged_is_noted_and_hides_nothing(root: Root) -> None:
    """The control: without damage there is no note."""
    with Mailbox("bob") as box:
        assert (len(box.pending()), box.notes) == (1, [])
    path = root.path / "mail" / "bob" / "inbox.jsonl"
    path.write_bytes(b'{"v":1,"bro\n' + path.read_bytes())
    with Mailbox("bob") as box:
        assert len(box.pending()) == 1
        (note,) = box.notes
    assert "offset 0" in note


def test_an_open_mailbox_finds_what_came_when_asked_again(
    root: Root, box: Mailbox
) -> None:
    """A loop that looks every minute must not look at the past."""
    assert len(box.pending()) == 2
    root.inbox("gds-agent", letter(9, "ci", "green"))
    assert len(box.pending()) == 3


def test_a_step_of_a_hand_over_is_shown_as_the_rung_it_belongs_to(root: Root) -> None:
    """No upgrade: an intent is still stored, what was taken is still offered."""
    root.ledger("gds-agent", 2, 2, "taken")
    root.ledger("gds-agent", 3, 3, "intent")
    with Mailbox("gds-agent") as box:
        assert [m.rung for m in box.pending()] == ["offered", "stored"]
        assert [m.seq for m in box.messages(rungs=["offered"])] == [2]
        assert [m.seq for m in box.messages(rungs=["stored"])] == [3]
