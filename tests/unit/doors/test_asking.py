"""The verbs ask and about: who may, what answers them, and what is left behind."""

import json
from collections.abc import Callable
from typing import Any

from homi import ids
from homi.address import Name
from homi.envelope import Kind, LedgerLine, MessageId, Rung
from homi.reports import Answered
from tests.unit.doors.test_control import (
    PERSON,
    SERVICE,
    SESSION,
    House,
    Line,
    Scenario,
    msg,
    run,
    send,
)

__all__ = ["run"]  # the fixture

Run = Callable[[Scenario], None]
Json = dict[str, Any]


def ask(body: Json, i: int = 1, timeout: float | None = 5.0) -> Json:
    return {"verb": "ask", "i": i, "msg": body, "timeout": timeout}


def question(to: str = "ada", sender: str = "svc", **more: object) -> Json:
    return dict(msg(to, sender, kind="ask", **more))


def reply(about: str, sender: str = "ada", **more: object) -> Json:
    return dict(msg("svc", sender, kind="reply", reply_to=about, **more))


async def town(house: House) -> Line:
    """Who waits is told of replies, as in a daemon; a service asks."""
    house.office.postmaster.on_reply(house.office.asks.replied)
    person = await house.connect(PERSON)
    for name in ("ada", "bob", "svc", "zed"):
        await person.ask({"verb": "claim", "name": name})
    return await house.connect(SERVICE)


async def asked(house: House, line: Line, body: Json) -> None:
    """Send the question, and wait until it is stored."""
    line.writer.write(json.dumps(ask(body)).encode() + b"\n")
    await line.ask({"verb": "whoami", "i": 9})
    assert house.office.asks.waits.count() == 1


def test_the_answer_comes_back_with_what_was_proven_of_it(run: Run) -> None:
    """To the connection that asked; the mail of others before it is none."""

    async def scenario(house: House) -> None:
        line = await town(house)
        body = question()
        await asked(house, line, body)
        other = await house.connect(SERVICE)
        await other.ask(send(reply(body["id"], "bob")))
        answer = reply(body["id"], text="yes")
        await other.ask(send(answer))
        found = (await line.answer())["ok"]
        assert (found["id"], found["answer"]) == (body["id"], answer["id"])
        assert (found["name"], found["from"], found["text"]) == ("svc", "ada", "yes")
        assert "verified" not in found  # no session wrote it
        assert "default" not in found

    run(scenario)


def test_what_asks_nothing_is_refused_and_so_is_the_name_of_another(run: Run) -> None:
    """Nothing of it is stored, and nobody waits.  The control is stored."""

    async def scenario(house: House) -> None:
        service = await town(house)
        (answer,) = await service.ask(ask(question() | {"kind": "mail"}))
        assert answer["error"]["code"] == "bad-message"
        session = await house.connect(SESSION)
        (answer,) = await session.ask(ask(question(sender="bob")))
        assert answer["error"]["code"] == "not-allowed"
        assert house.office.asks.waits.count() == 0
        assert not house.store.mailbox(Name("ada")).pending
        await asked(house, session, question(sender="zed"))
        assert len(house.store.mailbox(Name("ada")).pending) == 1

    run(scenario)


def test_time_that_runs_out_leaves_the_question_and_a_repeat_stores_none(
    run: Run,
) -> None:
    """Then its answer is mail: nobody holds it any more."""

    async def scenario(house: House) -> None:
        line = await town(house)
        body = question()
        for _ in range(2):
            (answer,) = await line.ask(ask(body, timeout=0.0))
            assert answer["error"]["code"] == "timed-out"
            assert "stays in" in answer["error"]["text"]
        (item,) = house.store.mailbox(Name("ada")).pending.values()
        assert (item.id, item.kind) == (body["id"], Kind.ASK)
        item.reply_to = item.id
        assert not house.office.asks.awaited(item)

    run(scenario)


def test_a_question_that_ended_is_told_only_if_no_answer_stands_in_the_files(
    run: Run,
) -> None:
    """Its default is stored before it expires, and who asks again must have it."""

    async def scenario(house: House) -> None:
        line = await town(house)
        body = question()
        await line.ask(ask(body, timeout=0.0))
        box = house.store.mailbox(Name("ada"))
        (item,) = box.pending.values()
        box.apply(LedgerLine(seq=item.seq, id=item.id, rung=Rung.EXPIRED, at=""))
        (answer,) = await line.ask(ask(body))
        assert answer["error"]["code"] == "not-reached"
        assert "is expired" in answer["error"]["text"]
        kept = Answered(body["id"], ids.new(), "svc", "postmaster", "no", default=True)
        house.office.answer_to = lambda _ask, _name, told: told(kept)
        (answer,) = await line.ask(ask(body))
        assert (answer["ok"]["text"], answer["ok"]["default"]) == ("no", True)

    run(scenario)


def test_who_goes_away_gets_the_answer_as_mail(run: Run) -> None:
    """Its mailbox is looked at at once: what was kept for the wait goes on."""

    async def scenario(house: House) -> None:
        woken: list[Name] = []
        house.office.wake = woken.append
        line = await town(house)
        await asked(house, line, question())
        line.writer.close()
        other = await house.connect(SERVICE)
        for _ in range(1000):
            if not house.office.asks.waits.count():
                break
            await other.ask({"verb": "whoami"})
        assert house.office.asks.waits.count() == 0
        assert woken == [Name("svc")]

    run(scenario)


def test_about_tells_who_asked_to_who_may_answer(run: Run) -> None:
    """A notice has no answer, a service must say for whom, a session has its own."""

    async def scenario(house: House) -> None:
        line = await town(house)
        body = question()
        await line.ask(ask(body, timeout=0.0))
        about = {"verb": "about", "id": body["id"]}
        (answer,) = await line.ask(about | {"name": "ada"})
        assert answer["ok"] == {"id": body["id"], "name": "ada", "to": "svc"}
        (answer,) = await line.ask(about)
        assert answer["error"]["code"] == "usage"
        session = await house.connect(SESSION)
        (answer,) = await session.ask(about | {"name": "ada"})
        assert answer["error"]["code"] == "not-allowed"
        (item,) = house.store.mailbox(Name("ada")).pending.values()
        item.kind = Kind.NOTICE
        (answer,) = await line.ask(about | {"name": "ada"})
        assert "nobody reads a reply" in answer["error"]["text"]
        assert MessageId(body["id"]) == item.id

    run(scenario)
