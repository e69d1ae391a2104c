"""What is for a person is shown to a person, to a program and to who wrote it."""

from pathlib import Path

import pytest

from homi.address import Name
from homi.errors import NotAllowed
from homi.mail import Self, ShownMail
from homi.requests import CallerClass
from homi.store.index import Query
from tests.unit.mail.kit import Root, letter, message

AGENT = Self(CallerClass.SESSION, Name("ada"))
PERSON = Self(CallerClass.PERSON, Name("owner"))
PROGRAM = Self(CallerClass.SERVICE)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """owner has mail of bob's and of ada's for a person, and plain mail."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    made = Root(tmp_path / "s")
    made.inbox(
        "owner",
        letter(1, "bob", "may I?", to="owner", needs="human"),
        letter(2, "ada", "may I, too?", to="owner", needs="human"),
        letter(3, "bob", "all is well", to="owner"),
    )
    return made.path


@pytest.mark.parametrize(
    ("me", "shown"),
    [(AGENT, [2, 3]), (PERSON, [1, 2, 3]), (PROGRAM, [1, 2, 3])],
)
def test_an_agent_is_shown_nothing_that_is_for_a_person(
    root: Path, me: Self, shown: list[int]
) -> None:
    """Neither that it is there nor what it says."""
    owner = (Name("owner"),)
    with ShownMail(root, print, me=me) as mail:
        found = list(mail.entries(Query(names=owner)))
        assert [one.id for one in found] == [message(number) for number in shown]
        (entry,) = mail.find(message(1), owner)
        if me is AGENT:
            assert mail.brief(entry) is None
            with pytest.raises(NotAllowed, match="is for a person"):
                mail.letter(entry)
        else:
            assert mail.brief(entry) == mail.letter(entry).msg.text == "may I?"
