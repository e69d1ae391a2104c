"""Who may order, import, prune and empty the quarantine; requests of a wrong shape.

Each refusal stands beside the same request of one who may.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from homi import ids
from homi.address import OWNER, Name
from homi.callers import Caller
from homi.courier.orders import Job, Verdict
from homi.envelope import Rung
from homi.requests import VERBS, CallerClass, Deed
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

OK, NO = "ok", "not-allowed"
YEAR = 365 * 86_400
Run = Callable[[Scenario], None]


class Town(House):
    """A house in which zed is the session's, ada nobody's, owner the person's."""

    orders: list[tuple[Name, Deed]]

    async def settle(self) -> dict[str, str]:
        """A letter for each name; their ids."""
        self.orders = []
        self.office.order = self._carried_out
        person = await self.connect(PERSON)
        for name in ("ada", "zed"):
            await person.ask({"verb": "claim", "name": name})
        sent = {name: msg(to=name) for name in ("ada", "zed", "owner")}
        for body in sent.values():
            (answer,) = await person.ask(send(body))
            assert OK in answer
        own = SESSION.session
        assert own is not None
        self.office.owners.belongs = (  # type: ignore[method-assign]
            lambda name, session: (name, session.pid) == (Name("zed"), own.pid)
        )
        return {name: str(body["id"]) for name, body in sent.items()}

    def _carried_out(self, name: Name, job: Job) -> None:
        """What a courier would be told."""
        self.orders.append((name, job.do))
        job.done([Verdict(rung=Rung.STORED) for _ in job.letters])


def town(house: House) -> Town:
    """The house of a scenario, as a town."""
    house.__class__ = Town
    assert isinstance(house, Town)
    return house


async def each(house: House) -> dict[CallerClass, Line]:
    """A connection of every class."""
    return {one.caller: await house.connect(one) for one in (PERSON, SERVICE, SESSION)}


def code(answer: dict[str, Any]) -> str:
    """ok, or why not."""
    if "error" in answer:
        return str(answer["error"]["code"])
    rows = answer["ok"].get("rows") or [{}]
    return str(rows[0].get("code") or OK)


P, V, S = CallerClass.PERSON, CallerClass.SERVICE, CallerClass.SESSION


@pytest.mark.parametrize("deed", [deed for deed in Deed if deed is not Deed.REROUTE])
def test_an_order_is_for_ones_own_mail_and_a_drop_for_a_person(
    run: Run, deed: Deed
) -> None:
    """Nothing reaches the courier that was refused."""

    async def scenario(house: House) -> None:
        place = town(house)
        letters = await place.settle()
        lines = await each(place)
        dropped = NO if deed is Deed.DROP else OK
        may = {
            "ada": {P: OK, V: dropped, S: NO},
            "zed": {P: OK, V: dropped, S: OK},
            "owner": {P: OK, V: NO, S: NO},
        }
        for name, classes in may.items():
            for caller, wanted in classes.items():
                place.orders.clear()
                letter = {"name": name, "id": letters[name]}
                request = {"verb": "order", "do": deed, "letters": [letter]}
                (answer,) = await lines[caller].ask(request)
                assert code(answer) == wanted, (name, caller)
                assert place.orders == ([(name, deed)] if wanted == OK else [])

    run(scenario)


def test_a_flush_of_all_is_of_all_that_one_may_flush(run: Run) -> None:
    """A bare one is no way around the rights; other orders need letters."""

    async def scenario(house: House) -> None:
        place = town(house)
        await place.settle()
        lines = await each(place)
        wanted = {P: {"ada", "zed", "owner"}, V: {"ada", "zed"}, S: {"zed"}}
        for caller, names in wanted.items():
            place.orders.clear()
            (answer,) = await lines[caller].ask({"verb": "order", "do": "flush"})
            assert code(answer) == OK
            assert {name for name, _ in place.orders} == names
            (answer,) = await lines[caller].ask({"verb": "order", "do": "drop"})
            assert code(answer) == "usage"

    run(scenario)


def test_a_session_imports_prunes_and_readmits_nothing(run: Run) -> None:
    """Not even for itself; a person may all of it, a service not what is owner's."""

    async def scenario(house: House) -> None:
        place = town(house)
        await place.settle()
        lines = await each(place)
        past = {"msg": msg(to="x", sender="bob"), "was": {"at": "", "rung": "seen"}}
        table: list[tuple[dict[str, Any], dict[CallerClass, str]]] = [
            (
                {"verb": "import", "name": name, "letters": [past]},
                {P: OK, V: service, S: NO},
            )
            for name, service in (("ada", OK), ("zed", OK), ("owner", NO))
        ]
        table += [
            ({"verb": "prune", "older_s": YEAR, "name": name}, {P: OK, V: other, S: NO})
            for name, other in (("ada", OK), ("owner", NO), (None, OK))
        ]
        entry = {"verb": "quarantine", "ids": ["0" * 12]}
        table += [
            (entry | {"do": "release"}, {P: "no-input", V: "no-input", S: NO}),
            (entry | {"do": "drop"}, {P: "no-input", V: NO, S: NO}),
        ]
        for request, classes in table:
            for caller, wanted in classes.items():
                (answer,) = await lines[caller].ask(request)
                assert code(answer) == wanted, (request, caller)

    run(scenario)


def test_what_is_not_for_a_class_is_not_even_read_for_it(run: Run) -> None:
    """A request above a caller is refused by its verb, whatever is in it."""

    async def scenario(house: House) -> None:
        lines = await each(house)
        for verb in VERBS:
            tag = verb.__struct_config__.tag
            for caller, line in lines.items():
                (answer,) = await line.ask({"verb": tag, "i": 7, "nonsense": 1})
                allowed = caller in verb.callers
                assert answer["i"] == 7
                assert code(answer) == ("usage" if allowed else NO), (tag, caller)

    run(scenario)


WRONG: dict[str, object] = {
    "letters that are none": {"verb": "order", "do": "hold", "letters": "all"},
    "a letter of numbers": {"verb": "order", "do": "hold", "letters": [[1, 2]]},
    "an unknown deed": {"verb": "order", "do": "burn"},
    "a name that is a list": {"verb": "import", "name": [], "letters": []},
    "a letter without a past": {"verb": "import", "name": "ada", "letters": [{}]},
    "an age that is text": {"verb": "prune", "older_s": "old"},
    "an age beyond all numbers": b'{"verb":"prune","older_s":1e400}\n',
    "an age of many digits": b'{"verb":"prune","older_s":%s}\n' % (b"9" * 5000),
    "ids that are numbers": {"verb": "quarantine", "do": "drop", "ids": [1]},
    "a verb that is a number": {"verb": 1},
    "no verb": {"i": 7},
    "a list": [],
    "a number": 7,
    "an unknown verb": {"verb": "sudo"},
    "deep": b'{"verb":"send","msg":%s}\n' % (b"[" * 100_000),
    "deep and whole": b'{"verb":"import","name":"ada","letters":%s%s}\n'
    % (b"[" * 100_000, b"]" * 100_000),
    "a class of its own": {"verb": "order", "do": "drop", "caller": "person"},
}


@pytest.mark.parametrize("request_", WRONG.values(), ids=WRONG)
def test_a_request_of_a_wrong_shape_is_one_answer(run: Run, request_: object) -> None:
    """And the connection goes on."""

    async def scenario(house: House) -> None:
        for caller in (PERSON, SERVICE, SESSION):
            line = await house.connect(caller)
            bad, good = await line.ask(request_, {"verb": "whoami", "i": 3})
            assert code(bad) in ("usage", NO, "bad-message"), bad
            assert len(json.dumps(bad)) < 1000
            assert (good["i"], code(good)) == (3, OK)

    run(scenario)


def test_an_import_of_deep_and_huge_letters_refuses_them_one_by_one(run: Run) -> None:
    """What stands beside them is stored."""

    async def scenario(house: House) -> None:
        person = await house.connect(PERSON)
        await person.ask({"verb": "claim", "name": "ada"})
        was = {"at": "", "rung": "stored"}
        deep = msg(to="x", sender="bob") | {"tags": json.loads("[" * 60 + "]" * 60)}
        huge = msg(to="x", sender="bob") | {"text": "x" * 1_200_000}
        good = msg(to="x", sender="bob")
        letters = [{"msg": one, "was": was} for one in (deep, huge, good)]
        request = {"verb": "import", "name": "ada", "letters": letters}
        (answer,) = await person.ask(request)
        rows = answer["ok"]["rows"]
        assert [row.get("code", "") for row in rows[:2]] == ["bad-message"] * 2
        assert (rows[2].get("code", ""), rows[2]["id"]) == ("", good["id"])
        assert len(house.store.mailbox(Name("ada")).pending) == 1

    run(scenario)


def test_an_order_of_many_letters_is_answered_in_one_line(run: Run) -> None:
    """Unknown ones, too: a row each."""

    async def scenario(house: House) -> None:
        place = town(house)
        letters = await place.settle()
        person = await place.connect(PERSON)
        wanted = [{"name": "ada", "id": ids.new()} for _ in range(300)]
        wanted.append({"name": "ada", "id": letters["ada"]})
        request = {"verb": "order", "do": "hold", "letters": wanted}
        (answer,) = await person.ask(request)
        codes = [row.get("code", "") for row in answer["ok"]["rows"]]
        assert sorted(set(codes)) == ["", "no-input"]
        assert codes.count("") == 1

    run(scenario)


def test_the_classes_are_as_the_tests_name_them() -> None:
    """The control: the callers above are one of each class."""
    callers: list[Caller] = [PERSON, SERVICE, SESSION]
    assert {one.caller for one in callers} == set(CallerClass)
    assert PERSON.name == OWNER
