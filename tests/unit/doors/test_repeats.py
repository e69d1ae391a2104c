"""The mark of a likely second try after an unclean end."""

import os
from pathlib import Path

from homi.doors.repeats import Repeats
from tests.unit.doors.ends import connect, run, told
from tests.unit.doors.peer_kit import House, message


def test_first_letter_like_the_last_before_the_end_is_marked(root: Path) -> None:
    """It was stored while its sender saw an error; marked, never dropped."""

    async def main() -> None:
        house = House(root)
        house.session(os.getpid(), "alpha")
        async with house.open():
            path = house.claim("bob")
            for text in ("old", "cut off"):
                assert await told(connect(path), [message(text)]) == "success"
        house.door._repeats = Repeats(house.store.mailboxes())
        async with house.open():
            for text in ("old", "cut off", "cut off", "new"):
                assert await told(connect(path), [message(text)]) == "success"
        marks = [envelope.via.repeat for envelope in house.mail("bob")]
        assert marks == [False, False, False, True, False, False]

    run(main)


def test_other_sender_or_name_is_no_repeat(root: Path) -> None:
    """The same words from someone else, or to someone else, are theirs."""

    async def main() -> None:
        house = House(root)
        house.session(os.getpid(), "alpha")
        async with house.open():
            path = house.claim("bob")
            assert await told(connect(path), [message("same")]) == "success"
            (envelope,) = house.mail("bob")
        repeats = Repeats(house.store.mailboxes())
        session = envelope.via.session
        assert not repeats.is_repeat(session, "ada", "same")
        assert not repeats.is_repeat("another", "bob", "same")
        assert not repeats.is_repeat(None, "bob", "same")
        assert not Repeats([]).is_repeat(session, "bob", "same")
        assert repeats.is_repeat(session, "bob", "same")

    run(main)
