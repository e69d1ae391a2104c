"""Conversations between two devices: the answer to a question finds who asked, over
restarts of both daemons, and nobody else's does; agents that answer each other have
one count, whichever device they are on, and one person who lets them go on."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.cli.run import at_terminal
from tests.integration.linked import SETTINGS, Pair
from tests.integration.test_ask import Asking
from tests.standin import sshd
from tests.standin.place import PATIENCE, Place, homi_command, until


class Ruled(Pair):
    """The laptop is quiet at this hour; mini takes not all that comes from it."""

    def place(self, device: str, keepalive: float) -> Place:
        """With its policy."""
        now = time.time()
        from_, to = (
            time.strftime("%H:%M", time.gmtime(now + hours * 3600)) for hours in (-2, 2)
        )
        policy = {
            "laptop": f'quiet = "{from_}-{to}@UTC"\n',
            "mini": 'remote = {"carl@laptop" = "park", "dan@laptop" = "refuse"}\n',
        }
        config = SETTINGS.format(device=device, keepalive=keepalive)
        return Place(f"{config}[policy]\n{policy[device]}", device=device)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """svc, bob, amy and some whom mini has rules for on the laptop, ada, eve and bo on
    mini."""
    sshd.need()
    with Ruled() as made:
        here, there = ("svc", "bob", "amy", "carl", "dan"), ("ada", "eve", "bo")
        for one, names in ((made.laptop, here), (made.mini, there)):
            for name in names:
                one.ok("claim", name)
        for name in ("svc", "amy"):
            made.laptop.ok("set", name, "quiet=off")
        made.link()
        made.both_up()
        yield made


def asked(pair: Pair, asking: Asking, name: str = "ada") -> str:
    """Wait until the question is there; its id."""
    return str(pair.mini.stored(name, asking.text)["msg"]["id"])


def ended(one: Place, ask: str) -> list[str]:
    """What the ledger of the out queue has of the question."""
    ledger = one.journal(one.state / "out" / "mini" / "ledger.jsonl")
    return [line["rung"] for line in ledger if line["id"] == ask]


def test_who_was_asked_answers_by_its_clients_own_tool_and_nobody_else(
    pair: Pair,
) -> None:
    """Another name there is kept as mail; so is the same name here."""
    laptop, mini = pair.laptop, pair.mini
    laptop.ok("claim", "ada")
    asking = Asking(laptop, "ada@mini", "who has the lock?")
    ask = asked(pair, asking)
    wrong = mini.homi("reply", "--from", "eve", ask, "me!")
    assert wrong.returncode == 77, wrong.stderr
    mini.send("svc@laptop", "eve says me", "--reply-to", ask, sender="eve")
    laptop.send("svc", "the other ada", "--reply-to", ask, sender="ada")
    laptop.stored("svc", "eve says me")
    laptop.stored("svc", "the other ada")
    with mini.session("ada", "--auto") as ada:
        letter = ada.letter(asking.text)
        assert ada.send(letter["from"], "ada has it")["ok"]
        assert asking.end() == (0, "ada has it\n", "")
    answer = laptop.stored("svc", "ada has it")
    assert (answer["msg"]["reply_to"], answer["via"]["device"]) == (ask, "mini")
    laptop.reached("svc", answer["msg"]["id"], "seen")
    until(lambda: "answered" in ended(laptop, ask), "its queue says answered")
    mini.reached("ada", ask, "answered")


def test_what_expires_on_the_other_device_answers_itself(pair: Pair) -> None:
    """Its postmaster says so, and who asked takes it for the default."""
    given = ("--deadline", "3", "--default", "then no")
    asking = Asking(pair.laptop, "ada@mini", "in time?", *given)
    told = "homi: nobody answered in time: this is the default\n"
    assert asking.end() == (0, "then no\n", told)
    pair.mini.reached("ada", asked(pair, asking), "expired")


def test_several_on_two_devices_are_asked_at_once(pair: Pair) -> None:
    asking = Asking(pair.laptop, "ada@mini,bob,eve@mini", "up?", "--gather", "2")
    pair.laptop.ok("reply", "--from", "bob", asking.asked("bob"), "bob is")
    pair.mini.ok("reply", "--from", "eve", asked(pair, asking, "eve"), "eve is")
    status, out, err = asking.end()
    assert (status, sorted(out.split("\n\n")), err) == (
        0,
        ["", "bob:\n  bob is", "eve@mini:\n  eve is"],
        "",
    )


def test_it_goes_on_over_the_death_of_both_daemons(pair: Pair) -> None:
    """The question is there once, the answer is given while the one that asked is
    dead, and found when it is back."""
    laptop, mini = pair.laptop, pair.mini
    asking = Asking(laptop, "ada@mini", "still there?")
    ask = asked(pair, asking)
    for one in (mini, laptop):
        one.kill()
    mini.start()
    mini.ok("reply", "--from", "ada", ask, "after the crash")
    laptop.start()
    assert asking.end() == (0, "after the crash\n", "")
    assert len([one for one in mini.lines("ada") if one["msg"]["id"] == ask]) == 1
    pair.both_up()


def test_a_late_answer_is_mail_that_is_found_by_its_question(pair: Pair) -> None:
    """124 first; then it is in the mailbox, in the conversation, and a turn."""
    laptop, mini = pair.laptop, pair.mini
    asking = Asking(laptop, "ada@mini", "in a hurry?", "--timeout", "0.2")
    status, out, err = asking.end()
    assert (status, out) == (124, "")
    assert "stays in" in err
    ask = asked(pair, asking)
    with laptop.session("svc", "--auto") as svc:
        mini.ok("reply", "--from", "ada", ask, "now I know")
        assert f"reply to {ask}" in svc.letter("now I know")["text"]
    first, late = map(json.loads, laptop.ok("thread", "--json", ask).splitlines())
    assert (first["id"], late["from"], late["device"]) == (ask, "ada", "mini")


def test_each_sender_of_another_device_has_its_rule_and_quiet_hours_keep_no_queue(
    pair: Pair,
) -> None:
    """One is delivered, one parked until a person releases it, one refused and told
    so; all leave a device whose own sessions are given nothing now."""
    laptop, mini = pair.laptop, pair.mini
    with mini.session("ada", "--auto") as ada, laptop.session("dan", "--auto") as dan:
        parked = laptop.send("ada@mini", "from carl", sender="carl")
        refused = laptop.send("ada@mini", "from dan", sender="dan")
        laptop.send("ada@mini", "from bob", sender="bob")
        assert ada.letter("from bob")
        notice = laptop.notice("dan", refused)["msg"]
        assert notice["kind"] == "bounce"
        assert "the policy of mini takes no mail from dan@laptop" in notice["text"]
        mini.reached("ada", parked, "parked")
        rows = mini.ok("queue", "ada", "--json").splitlines()
        (row,) = [one for one in map(json.loads, rows) if one["id"] == parked]
        assert row["reason"] == "policy"
        assert not [one for one in ada.letters() if "from carl" in one["text"]]
        release = ["queue", "release", parked]
        assert ada.tool(*homi_command(), *release)["rc"] == 77
        done = at_terminal(mini.env(), mini.work, release, screen=False)
        assert done.returncode == 0, done.stderr
        assert ada.letter("from carl")
        # What came back is kept for dan, who is quiet.
        until(lambda: _held(laptop, "dan", notice["id"]), "it waits")
        assert dan.letters() == []


def _held(one: Place, name: str, message: str) -> bool:
    """Whether it is held, and alone in the queue of name."""
    rows = map(json.loads, one.ok("queue", name, "--json").splitlines())
    return [(row["id"], row["rung"]) for row in rows] == [(message, "held")]


def _turns(pair: Pair) -> int:
    """How many messages of sessions there are, each once."""
    return len(
        {
            line["msg"]["id"]
            for one, name in ((pair.laptop, "amy"), (pair.mini, "bo"))
            for line in one.lines(name) + _queued(one)
            if line["msg"]["from"] in ("amy", "bo")
        }
    )


def _queued(one: Place) -> list[dict[str, object]]:
    """What ever waited at a device for the other."""
    out = one.state / "out"
    return [line for path in out.glob("*/queue.jsonl") for line in one.journal(path)]


def _parked(pair: Pair) -> list[tuple[Place, dict[str, object]]]:
    """What was parked, and where."""
    return [
        (one, line)
        for one, name in ((pair.laptop, "amy"), (pair.mini, "bo"))
        for line in one.lines(name) + _queued(one)
        if "parked" in line["via"]
    ]


def _comes(pair: Pair, count: int) -> Place:
    """Wait for so many parked ones; where the last is."""
    until(lambda: len(_parked(pair)) >= count, f"{count} are parked", 4 * PATIENCE)
    found = sorted(_parked(pair), key=lambda each: str(each[1]["at"]))
    assert len(found) == count
    return found[-1][0]


def _warnings(one: Place) -> int:
    """How often the person of a device was told."""
    return sum(
        line["msg"]["text"].startswith("Agents were stopped")
        for line in one.lines("owner")
    )


def test_they_stop_at_the_same_bound_as_on_one_and_one_person_lets_them_go_on(
    pair: Pair,
) -> None:
    """One by its client's replies, one by new messages that name nothing; over a
    kill -9."""
    pair.laptop.session("amy", "--auto", "--reply", "point {n} of amy")
    send = " ".join([*homi_command(), "send", "amy@laptop"])
    pair.mini.session("bo", "--auto", "--reply", "bo, {n}", "--forward", send)
    begun = pair.mini.send("amy@laptop", "go", sender="bo")
    at = _comes(pair, 1)
    count = _turns(pair)
    assert count == 14  # with the one that began it
    until(lambda: _warnings(at) == 1, "a person is told")
    at.kill()
    at.start()
    pair.both_up()
    done = at_terminal(at.env(), at.work, ["continue", begun], screen=False)
    assert (done.returncode, b"1 released" in done.stdout) == (0, True), done
    again = _comes(pair, 2)
    assert _turns(pair) == 14 + 12
    until(lambda: _warnings(again) == 1 + (again is at), "and told once more")
    assert _warnings(pair.laptop) + _warnings(pair.mini) == 2
