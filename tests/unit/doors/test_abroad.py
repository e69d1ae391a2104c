"""The verbs that ask other devices: all at once, answered once."""

from collections.abc import Callable, Iterable

import pytest

from homi.address import Device
from homi.doors.abroad import Abroad, Alone
from homi.doors.answers import Answer
from homi.envelope import MessageId
from homi.errors import NoSuchDevice, Usage
from homi.far import FarRow, FarRows, Steps
from homi.requests import Far, FarTrace


class Asked(Alone):
    """Two devices that answer when they are told to."""

    def __init__(self) -> None:
        self.waiting: dict[str, Callable[[FarRow], None]] = {}
        self.traced: list[tuple[Device, MessageId]] = []

    def devices(self) -> Iterable[Device]:
        return (Device("mini"), Device("lab"))

    def far(self, device: Device, done: Callable[[FarRow], None]) -> None:
        self.waiting[device] = done

    def steps(
        self, device: Device, message: MessageId, done: Callable[[Steps], None]
    ) -> None:
        self.traced.append((device, message))
        done(Steps(device, asked=True))

    def answer(self, device: str) -> None:
        self.waiting[device](FarRow(device, "up", asked=True))


def test_every_device_is_asked_at_once_and_the_answer_waits_for_the_last() -> None:
    """In the order of their names, whoever was first."""
    asked = Asked()
    abroad = Abroad(lambda: asked)
    answers: list[tuple[int, Answer]] = []
    doer = abroad.doers()[Far]
    doer(Far(i=7), lambda i, answer: answers.append((i, answer)))
    assert set(asked.waiting) == {"mini", "lab"}
    asked.answer("mini")
    assert answers == []
    asked.answer("lab")
    ((i, found),) = answers
    assert i == 7
    assert isinstance(found, FarRows)
    assert [row.device for row in found.rows] == ["lab", "mini"]


def test_one_device_is_asked_alone_and_an_unknown_one_is_refused() -> None:
    """With the nearest; nobody is asked then."""
    asked = Asked()
    doers = Abroad(lambda: asked).doers()
    answers: list[Answer] = []
    doers[Far](Far(i=1, device="MINI"), lambda _i, answer: answers.append(answer))
    asked.answer("mini")
    assert isinstance(answers[0], FarRows)
    with pytest.raises(NoSuchDevice) as refused:
        doers[Far](Far(i=1, device="minni"), lambda _i, _answer: None)
    assert refused.value.hint == "did you mean mini?"
    with pytest.raises(Usage):
        doers[FarTrace](
            FarTrace(i=1, device="@", id=MessageId("x")), lambda _i, _answer: None
        )
    assert list(asked.waiting) == ["mini"]
    assert asked.traced == []


def test_who_went_away_is_not_answered() -> None:
    """Its connection is gone."""
    asked = Asked()
    abroad = Abroad(lambda: asked)
    answers: list[Answer] = []
    request = Far(i=1, device="mini")
    abroad.doers()[Far](request, lambda _i, answer: answers.append(answer))
    abroad.abandon()
    asked.answer("mini")
    assert answers == []


def test_without_links_there_is_nobody_to_ask() -> None:
    """The empty listing is answered at once."""
    answers: list[Answer] = []
    abroad = Abroad(Alone)
    abroad.doers()[Far](Far(i=1), lambda _i, answer: answers.append(answer))
    assert answers == [FarRows([])]
