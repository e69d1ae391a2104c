"""Which mailbox an address means, and which message an id means, by the files."""

import json
import sqlite3
from pathlib import Path

import pytest

from homi.address import Name
from homi.cli.mail import Mail
from homi.connection import Connection
from homi.errors import BadConfig, HomiError, NoInput, NoSuchName, StorageFailed, Usage
from homi.store import database
from homi.store.index import Query

FIRST = "0199f3a2-61b4-7c7e-9d0e-aaaa00000001"
SECOND = "0199f3a2-61b4-7c7e-9d0e-aaaa00000002"
OTHER = "0199f3a2-71b4-7c7e-9d0e-bbbb00000003"


def write(root: Path, name: str, *ids: str) -> None:
    """A mailbox with a message of each id."""
    folder = root / "mail" / name
    folder.mkdir(parents=True)
    lines = [
        {
            "v": 1,
            "seq": seq,
            "at": "2026-11-30T01:02:03.000Z",
            "to": name,
            "via": {"door": "control"},
            "msg": {"id": one, "from": "bob", "to": name, "text": f"text {seq}"},
        }
        for seq, one in enumerate(ids, 1)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "inbox.jsonl").write_text(text)


@pytest.fixture
def mail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mail:
    """ada is claimed and has two, carl was released and has one, eve has none."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    root = tmp_path / "s"
    root.mkdir(mode=0o700)
    write(root, "ada", FIRST, SECOND)
    write(root, "carl", OTHER)
    claims = {name: {"name": name} for name in ("ada", "eve")}
    (root / "names.json").write_text(json.dumps({"v": 1, "claims": claims}))
    return Mail(root)


@pytest.mark.parametrize("text", ["ada", "ADA", "ada@self", "Ada@SELF"])
def test_every_form_of_an_address_means_the_same_mailbox(mail: Mail, text: str) -> None:
    """One resolver for all verbs."""
    assert mail.place(text) == "ada"
    assert mail.recipient(text) == "ada"


def test_mail_of_a_released_name_is_read_and_not_written_to(mail: Mail) -> None:
    """Its mailbox stays; nobody is behind it any more."""
    assert mail.place("carl") == "carl"
    with pytest.raises(NoSuchName):
        mail.recipient("carl")


def test_an_unknown_name_is_refused_with_the_nearest(mail: Mail) -> None:
    """A mistyped name is no empty mailbox."""
    with pytest.raises(NoSuchName) as caught:
        mail.place("adda")
    assert caught.value.hint == "did you mean ada?"


def test_built_in_names_need_no_claim(mail: Mail) -> None:
    """A person's mailbox is there before anything else is."""
    assert mail.place("owner") == "owner"
    assert {"owner", "postmaster"} <= set(mail.claimed())


@pytest.mark.parametrize("text", [OTHER, OTHER.upper(), "0199f3a2-7", "bbbb", "bbbb0"])
def test_an_id_is_found_by_itself_or_a_start_of_it_or_of_its_last_part(
    mail: Mail, text: str
) -> None:
    """Whatever is shown somewhere can be typed."""
    (letter,) = mail.need(text, None)
    assert (letter.name, letter.id) == ("carl", OTHER)


def test_a_start_of_several_is_refused_with_their_list(mail: Mail) -> None:
    """64: none of them is guessed; the control: one digit more."""
    with pytest.raises(Usage) as caught:
        mail.find("aaaa", ["ada"])
    assert FIRST in caught.value.hint
    assert SECOND in caught.value.hint
    assert mail.letter(mail.find("aaaa00000002", ["ada"])[0]).msg.text == "text 2"


def test_a_whole_id_is_not_the_start_of_another(mail: Mail) -> None:
    """A message is always named by its whole id."""
    write(mail.root, "dora", FIRST[:8])
    assert [one.name for one in mail.find(FIRST[:8], mail.mailboxes())] == ["dora"]


def test_ones_own_mailbox_comes_first(mail: Mail) -> None:
    """What is ambiguous over all is not so at home."""
    assert mail.need("0199f3a2-7", mail.place("carl"))[0].name == "carl"
    assert mail.need("bbbb", mail.place("ada"))[0].name == "carl"


@pytest.mark.parametrize(
    ("text", "kind"), [("cccc", NoInput), ("", Usage), ("xyz", Usage), ("../x", Usage)]
)
def test_what_names_no_message_is_an_error(
    mail: Mail, text: str, kind: type[HomiError]
) -> None:
    """Never an empty result, never a path."""
    with pytest.raises(kind):
        mail.need(text, None)


def test_a_damaged_names_file_is_told_and_not_taken_for_empty(mail: Mail) -> None:
    """Nobody claimed, and cannot be known, are two things."""
    names = mail.root / "names.json"
    names.write_text(names.read_text()[:10])
    with pytest.raises(StorageFailed):
        mail.claimed()


def test_no_state_root_is_an_empty_one(tmp_path: Path) -> None:
    """Reading makes nothing."""
    mail = Mail(tmp_path / "s")
    assert mail.mailboxes() == []
    assert mail.claimed() == ["owner", "postmaster"]
    assert not mail.root.exists()


def test_a_root_of_others_is_refused(mail: Mail) -> None:
    """What others may write is not believed."""
    mail.root.chmod(0o755)
    with pytest.raises(BadConfig):
        Mail(mail.root)


def test_strange_folders_are_no_mailboxes(mail: Mail) -> None:
    """Only what is a name is one."""
    (mail.root / "mail" / "Not A Name").mkdir()
    (mail.root / "mail" / ".hidden").mkdir()
    assert mail.mailboxes() == ["ada", "carl"]


def test_a_line_whose_segment_is_closed_meanwhile_is_found_where_it_went(
    mail: Mail,
) -> None:
    """A reader that listed before and reads behind it sees no error."""
    (entry,) = mail.find(FIRST)
    folder = mail.root / "mail" / "ada"
    (folder / "archive").mkdir()
    before = mail.line(entry)
    (folder / "inbox.jsonl").rename(folder / f"archive/inbox.{2:016}.jsonl")
    (folder / f"archive/ledger.{2:016}.jsonl").touch()
    assert mail.line(entry) == before
    (folder / f"archive/inbox.{2:016}.jsonl").unlink()
    with pytest.raises(StorageFailed):
        mail.line(entry)


def test_an_index_that_another_process_locks_is_not_waited_for(
    mail: Mail, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The files are read instead, all of them, and that is said once."""
    monkeypatch.setattr(database, "_BUSY", 1)
    mail.index([Name("ada")])
    assert capsys.readouterr().err == ""
    lock = sqlite3.connect(mail.root / "index.sqlite3", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    write(mail.root, "eve", "0199f3a2-81b4-7c7e-9d0e-cccc00000004")
    try:
        found = list(mail.entries(Query(text="text")))
        assert sorted(entry.name for entry in found) == ["ada", "ada", "carl", "eve"]
        assert len(mail.find(FIRST)) == 1
    finally:
        lock.close()
    assert capsys.readouterr().err.count("locked") == 1


def test_a_root_that_others_can_reach_is_told_instead_of_a_missing_daemon(
    tmp_path: Path,
) -> None:
    """No daemon would start over it."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s").chmod(0o755)
    with pytest.raises(BadConfig) as caught:
        Connection(tmp_path / "s")
    assert "0755" in caught.value.text
    assert caught.value.hint.startswith("chmod 700")
    (tmp_path / "s").chmod(0o700)
    with pytest.raises(HomiError) as caught_:
        Connection(tmp_path / "s")
    assert "homi start" in caught_.value.hint
