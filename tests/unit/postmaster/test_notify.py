"""A person is told of mail by a command: of what, how often, in which words."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from homi import ids
from homi.address import OWNER, Name
from homi.envelope import Kind, MessageId, Msg, Reason, Via
from homi.notify import BODY_MAX, BURST, RATE, TITLE_MAX, Notifier, plain
from homi.store.mailbox import Item
from tests.unit.courier.twins import TurnedClock


class Teller:
    """A notifier whose command writes its arguments to a file."""

    def __init__(self, folder: Path, first: Callable[[Item], str] | None) -> None:
        self.log = folder / "log"
        script = folder / "tell"
        script.write_text(f'#!/bin/sh\nprintf "%s|" "$@" >> {self.log}\n')
        script.chmod(0o755)
        self.notifier = Notifier([str(script), "--"], TurnedClock(), first)

    async def told(self) -> list[str]:
        """What the command was given so far."""
        await asyncio.gather(*self.notifier._tasks)
        parts = self.log.read_text().split("|") if self.log.exists() else []
        return [part for part in parts if part not in ("", "--")]


def item(kind: Kind = Kind.MAIL, text: str = "secret") -> Item:
    head = Msg(id=MessageId(ids.new()), from_="ada", to=OWNER, text=text, kind=kind)
    return Item(1, 0, 1, head, Via(door="control"), "2026-01-01T00:00:00.000Z")


def test_only_the_persons_mail_is_told_and_never_its_text(tmp_path: Path) -> None:
    """Unless that was wished; an ask, and what waits for a person, ask them."""

    async def main() -> None:
        teller = Teller(tmp_path, None)
        teller.notifier.arrived(Name("ada"), item())
        assert await teller.told() == []
        letter, question = item(), item(Kind.ASK)
        parked = item()
        parked.reason = Reason.APPROVAL
        for one in (letter, question, parked):
            teller.notifier.arrived(OWNER, one)
            await teller.told()
        assert await teller.told() == [
            *("mail from ada", f"homi read {letter.id}"),
            *("ada asks you", f"homi read {question.id}"),
            *("ada asks you", f"homi read {parked.id}"),
        ]

    asyncio.run(main())


def test_the_first_line_is_told_where_that_was_wished(tmp_path: Path) -> None:
    """Without anything a notifier acts on."""

    async def main() -> None:
        teller = Teller(tmp_path, lambda _item: '"; rm -rf ~ #$(id)')
        teller.notifier.arrived(OWNER, item())
        assert await teller.told() == ["mail from ada", "rm -rf ~ # (id)"]

    asyncio.run(main())


def test_more_than_a_few_at_once_are_told_as_one(tmp_path: Path) -> None:
    """Then nothing before there is something to say again."""

    async def main() -> None:
        teller = Teller(tmp_path, None)
        clock = teller.notifier._clock
        assert isinstance(clock, TurnedClock)
        for _ in range(BURST + 7):
            teller.notifier.arrived(OWNER, item())
        assert len(await teller.told()) == 2 * BURST
        timer = teller.notifier._timer
        assert timer is not None
        assert timer.when() - asyncio.get_running_loop().time() <= 1 / RATE
        teller.notifier.close()

    asyncio.run(main())


def test_a_command_that_is_not_there_or_fails_costs_nothing(tmp_path: Path) -> None:
    """The mail is where it was; the next is told as usual."""

    async def main() -> None:
        for command in (["no-such-program-of-mine"], ["/bin/false"], []):
            notifier = Notifier(command, TurnedClock(), None)
            notifier.arrived(OWNER, item())
            await asyncio.gather(*notifier._tasks)
            notifier.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain words: 1, 2!", "plain words: 1, 2!"),
        ("--urgency critical", "urgency critical"),
        ("@file", "file"),
        ("a\nb\tc\x1b[1m", "a b c [1m"),
        ('" & do shell script "x', "do shell script x"),
        ("\u202e\u200b", "mail"),
        ("", "mail"),
        ("x" * 500, "x" * TITLE_MAX),
    ],
)
def test_words_are_one_line_of_what_is_harmless(text: str, said: str) -> None:
    assert plain(text, TITLE_MAX) == said
    assert len(plain(text, BODY_MAX)) <= BODY_MAX
