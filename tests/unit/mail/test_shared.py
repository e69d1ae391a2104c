"""What another device may learn: of what it sent here, all; of all else, nothing."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from homi.address import Name
from homi.envelope import MessageId, Rung
from homi.far import FarRung, FarRungs, Steps
from homi.looking import Looking
from homi.mail import Mail
from homi.mail.shared import missing, rungs, steps
from tests.unit.mail.kit import Root, letter, message, stamp

KEY, OTHER = "SHA256:mini", "SHA256:lab"
LINK = {"door": "link", "device": "mini", "key": KEY, "verified": True}


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """Three letters: one of mini's that was seen, one of lab's, one of this device."""
    root = Root(tmp_path / "s")
    root.claim("ada")
    lab = {**LINK, "device": "lab", "key": OTHER}
    root.inbox(
        "ada",
        letter(1, "bob", "from mini") | {"via": LINK},
        letter(2, "bob", "from lab") | {"via": lab},
        letter(3, "bob", "from here"),
    )
    session = {"pid": 9, "start": "1"}
    root.ledger("ada", 1, 1, "offered", leg="claude", session=session)
    root.ledger("ada", 1, 1, "seen", by="transcript", proof="transcript")
    return root


def mail(root: Root) -> Mail:
    """What is read."""
    return Mail(root.path, lambda note: pytest.fail(note))


def test_how_far_they_are_is_told_of_its_own_messages_alone(root: Root) -> None:
    """By the key of the link, whatever the ids."""
    asked = [MessageId(message(number)) for number in (1, 2, 3, 4, 1)]
    found = rungs(mail(root), KEY, [*asked, MessageId("no id"), MessageId("")])
    assert found == FarRungs([FarRung(message(1), Rung.SEEN, stamp(602))])
    assert rungs(mail(root), OTHER, asked).rungs[0].id == message(2)
    assert rungs(mail(root), "", asked).rungs == []


def test_only_the_places_given_are_read(root: Root) -> None:
    """Another one may have any number of lines that were never looked at."""
    root.claim("bob")
    root.inbox("bob", letter(4, "ada", "from mini") | {"via": LINK})
    asked = [MessageId(message(number)) for number in (1, 4)]
    with mail(root) as found:
        told = rungs(found, KEY, asked, [Name("ada")]).rungs
        assert [one.id for one in told] == [message(1)]
        assert steps(found, KEY, asked[1], [Name("ada")]).steps == []
        counts = found.index([]).counts()
        assert [str(name) for name, (known, _) in counts.items() if known] == ["ada"]
        assert len(rungs(found, KEY, asked).rungs) == 2


def test_a_life_is_told_to_its_sender_alone(root: Root) -> None:
    """A start of an id is none."""
    found = steps(mail(root), KEY, MessageId(message(1)))
    assert [(one.name, one.rung, one.leg, one.pid) for one in found.steps] == [
        ("ada", "stored", "link", 0),
        ("ada", "offered", "claude", 9),
        ("ada", "seen", "", 0),
    ]
    for foreign in (message(2), message(3), message(1)[:20], "../x", ""):
        assert steps(mail(root), KEY, MessageId(foreign)).steps == []


def test_looking_answers_on_the_loop_and_bounds_who_waits(root: Root) -> None:
    """A flood of questions is told to come back; those taken are answered."""

    async def main() -> None:
        looking = Looking(root.path)
        answers: list[object] = []
        done = asyncio.Event()

        def reply(answer: object) -> None:
            answers.append(answer)
            if len(answers) == 40:
                done.set()

        for _ in range(20):
            looking.steps(KEY, [MessageId(message(1))], None, reply)
            looking.rungs(KEY, [MessageId(message(1))], None, reply)
        async with asyncio.timeout(60):
            await done.wait()
        looking.stop()
        good = [one for one in answers if isinstance(one, msgspec.Struct)]
        refused = [one for one in answers if not isinstance(one, msgspec.Struct)]
        assert len(refused) >= 20
        assert {type(one) for one in good} == {Steps, FarRungs}

    asyncio.run(main())


def test_what_is_here_by_any_way_is_not_missing(root: Root) -> None:
    """A message that came over another device must not come again by this one."""
    asked = [MessageId(message(number)) for number in (1, 2, 3, 4)]
    assert missing(mail(root), asked).missing == [message(4)]
