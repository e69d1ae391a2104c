"""The real client, by its own tools, against homi: what a user is promised."""

import json
import re
from typing import Any

import pytest

from tests.clients.conftest import Post
from tests.clients.harness import Claude
from tests.standin.place import until

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]

END: dict[str, Any] = {"text": "end of turn"}


def step(tool: str, **given: object) -> dict[str, Any]:
    """A model's answer that calls one tool."""
    return {"tool": tool, "input": given}


def mail(to: str, text: str) -> dict[str, Any]:
    """A model's answer that sends one message by the client's own tool."""
    return step("SendMessage", to=to, summary="mail", message=text)


def bash(command: str) -> dict[str, Any]:
    """A model's answer that runs a command."""
    return step("Bash", command=command, description="work")


def allow(*rules: str, **more: object) -> dict[str, Any]:
    """Settings under which these tools need no permission."""
    return {"permissions": {"allow": list(rules)}, **more}


def results(texts: list[str]) -> list[str]:
    """The tool results among what a model was given."""
    return [text for text in texts if text.startswith("[tool_result]")]


def address(text: str) -> str:
    """The address a delivered message tells its reader to answer."""
    found = re.search(r'from="(uds:[^"]+)"', text)
    assert found, text
    return found[1]


def send_to(claude: Claude, name: str, to: str, text: str) -> None:
    """Have a session send by its own tool, and its model be told success."""
    given = results(claude.say(name, f"mail {to}", mail(to, text), END))
    assert any('"success":true' in one for one in given), given


def test_a_session_lists_a_claimed_name_and_mails_it_while_nobody_is_home(
    claude: Claude, post: Post
) -> None:
    """By its own tools, where the registry sweep runs as on a person's machine."""
    post.ok("claim", "gds-agent")
    post.listed("gds-agent")
    claude.start("ada", desktop=True)
    texts = claude.say("ada", "go", step("ListAgents"), mail("gds-agent", "hello"), END)
    listing, sent = results(texts)
    assert "gds-agent [" in listing
    assert '"success":true' in sent
    line = post.stored("gds-agent", "hello")
    assert line["msg"]["from"] == "ada"
    assert line["via"]["session"] == claude.ids["ada"]
    assert json.loads(sent.partition("] ")[2])["msg_id"] == line["msg"]["id"]
    assert post.planted("gds-agent"), "the sweep of the client left the record"


def test_the_session_that_comes_gets_it_as_a_turn_and_its_reply_finds_the_sender(
    claude: Claude, post: Post
) -> None:
    """Claim, mail, start, read, answer: all by the clients' own means."""
    post.ok("claim", "gds-agent")
    post.listed("gds-agent")
    claude.start("ada")
    send_to(claude, "ada", "gds-agent", "what is the state of alpha")
    message = post.stored("gds-agent", "state of alpha")["msg"]["id"]
    claude.start("gds-agent")
    turn = claude.given("gds-agent", "state of alpha")
    assert turn.startswith("Another Claude session sent a message:")
    assert 'from-name="ada"' in turn
    post.reached("gds-agent", message, "seen", 30)
    send_to(claude, "gds-agent", address(turn), "alpha is green")
    answer = claude.given("ada", "alpha is green")
    assert 'from-name="gds-agent"' in answer


def test_a_reply_to_a_session_that_ended_waits_in_its_mailbox(
    claude: Claude, post: Post
) -> None:
    """And its next session gets it."""
    for name in ("gds-agent", "ada"):
        post.ok("claim", name)
    post.listed("gds-agent")
    claude.start("ada")
    until(lambda: not post.planted("ada"), "homi steps aside for ada")
    send_to(claude, "ada", "gds-agent", "answer me later")
    claude.end("ada")
    post.listed("ada")
    claude.start("gds-agent")
    turn = claude.given("gds-agent", "answer me later")
    send_to(claude, "gds-agent", address(turn), "here I am")
    assert post.stored("ada", "here I am")["msg"]["from"] == "gds-agent"
    claude.start("ada")
    assert claude.given("ada", "here I am")


def test_an_idle_session_reads_at_once(claude: Claude, post: Post) -> None:
    """The plain receiver."""
    post.ok("claim", "ada")
    claude.start("ada")
    message = post.send("ada", "are you there")
    assert claude.given("ada", "are you there")
    post.reached("ada", message, "seen", 30)


def test_a_busy_session_reads_between_its_tools(claude: Claude, post: Post) -> None:
    """Offered while the tool runs, seen after it, taken once."""
    post.ok("claim", "ada")
    gate = claude.work / "go"
    claude.start("ada", settings=allow("Bash(*)"))
    claude.push("ada", bash(f"until [ -e {gate} ]; do sleep 0.1; done"), END)
    claude.type("ada", "work")
    claude.status("ada", "busy")
    message = post.send("ada", "while you work")
    post.reached("ada", message, "offered", 30)
    assert "seen" not in post.rungs("ada", message)
    gate.touch()
    text = claude.given("ada", "while you work")
    assert "while you were working" in text
    post.reached("ada", message, "seen", 30)


def test_a_session_that_waits_for_a_permission_reads_after_the_answer(
    claude: Claude, post: Post
) -> None:
    """Nothing homi sends answers the dialog."""
    post.ok("claim", "ada")
    claude.start("ada")
    claude.push("ada", bash("touch made"), END)
    claude.type("ada", "work")
    claude.status("ada", "waiting")
    claude.shows("ada", "Do you want to proceed?")
    message = post.send("ada", "not an approval")
    post.reached("ada", message, "offered", 30)
    assert not (claude.work / "made").exists()
    assert "seen" not in post.rungs("ada", message)

    def approved() -> bool:
        # A dialog that is shown may not listen yet; a later Enter is an empty line.
        claude.keys("ada", "Enter")
        return (claude.work / "made").exists()

    until(approved, "the dialog takes the person's answer", 30, 0.5)
    assert claude.given("ada", "not an approval")
    post.reached("ada", message, "seen", 30)
    assert (claude.work / "made").exists()


def test_a_session_that_holds_its_mail_never_shows_as_seen(
    claude: Claude, post: Post
) -> None:
    """Even when its agent prints its inbox: an id on a screen proves nothing."""
    post.ok("claim", "ada")
    settings = allow("Bash(*)", crossSessionInbound="hold")
    claude.start("ada", settings=settings)
    message = post.send("ada", "held by a setting")
    post.has("ada", message, rung="held", reason="host-held")
    texts = claude.say("ada", "look", bash("homi inbox --json"), END)
    assert any(message in text for text in results(texts)), texts
    assert "seen" not in post.rungs("ada", message)
    claude.end("ada")
    claude.start("ada")
    assert claude.given("ada", "held by a setting")
    post.reached("ada", message, "seen", 30)


def test_a_session_that_refuses_leaves_the_mail_to_the_next(
    claude: Claude, post: Post
) -> None:
    """Refused by a session is not refused by the name; its sender is told."""
    post.ok("claim", "ada")
    claude.start("ada", settings={"crossSessionInbound": "refuse"})
    message = post.send("ada", "refused by a setting")
    post.has("ada", message, reason="host-refused")
    assert post.notice("svc", message)["msg"]["kind"] == "notice"
    claude.end("ada")
    claude.start("ada")
    assert claude.given("ada", "refused by a setting")
    post.reached("ada", message, "seen", 30)


def test_a_session_killed_before_it_reads_leaves_the_mail_to_its_successor(
    claude: Claude, post: Post
) -> None:
    """Offered, queued in memory, SIGKILL: the successor gets it, marked."""
    post.ok("claim", "ada")
    claude.start("ada", settings=allow("Bash(*)"))
    # Not a bare sleep: the client does not run one.
    claude.push("ada", bash("until [ -e never ]; do sleep 0.1; done"), END)
    claude.type("ada", "work")
    claude.status("ada", "busy")
    message = post.send("ada", "do not lose me")
    post.reached("ada", message, "offered", 30)
    claude.kill("ada")
    claude.start("ada")
    text = claude.given("ada", "do not lose me")
    assert "repeat" in text
    post.reached("ada", message, "seen", 30)
    offers = [one for one in post.ledger("ada", message) if one["rung"] == "offered"]
    assert [one.get("repeat", False) for one in offers] == [False, True]


def test_a_session_killed_in_its_turn_leaves_the_mail_to_its_successor(
    claude: Claude, post: Post
) -> None:
    """What its model had not answered is marked as a repeat; what it had is not given
    again."""
    post.ok("claim", "ada")
    claude.start("ada")
    done = post.send("ada", "this was answered")
    post.reached("ada", done, "seen", 30)
    message = post.send("ada", "SLEEP 5 and do not lose me")
    claude.given("ada", "do not lose me")
    claude.kill("ada")
    claude.start("ada")
    assert "repeat" in claude.given("ada", "do not lose me")
    post.reached("ada", message, "seen", 60)
    assert not any("this was answered" in text for text in claude.texts("ada"))
    offers = [one for one in post.ledger("ada", done) if one["rung"] == "offered"]
    assert len(offers) == 1


def test_a_rename_moves_the_name_and_back(claude: Claude, post: Post) -> None:
    """What the session is called now is what it gets mail for."""
    post.ok("claim", "ada")
    claude.start("ada")
    until(lambda: not post.planted("ada"), "homi steps aside")
    claude.type("ada", "/rename eve")
    claude.record(lambda one: one.get("name") == "eve")
    post.listed("ada")
    message = post.send("ada", "for ada alone")
    since = claude.last()
    claude.type("ada", "/rename ada")
    assert claude.given("ada", "for ada alone", since)
    post.reached("ada", message, "seen", 30)


def test_a_clear_keeps_the_name_and_its_mail(claude: Claude, post: Post) -> None:
    """Another conversation of the same process is the same owner."""
    post.ok("claim", "ada")
    claude.start("ada")
    first = post.send("ada", "before the clear")
    post.reached("ada", first, "seen", 30)
    before = claude.ids["ada"]
    claude.type("ada", "/clear")
    pid = claude.pids["ada"]
    record = claude.record(
        lambda one: one.get("pid") == pid and one["sessionId"] != before
    )
    claude.ids["ada"] = record["sessionId"]
    second = post.send("ada", "after the clear")
    assert claude.given("ada", "after the clear")
    post.reached("ada", second, "seen", 30)
    assert not any("before the clear" in text for text in claude.texts("ada"))


def test_sixty_held_mails_of_three_senders_all_arrive_in_order(
    claude: Claude, post: Post
) -> None:
    """None is dropped by the client's guard, none overtakes its lane."""
    post.ok("claim", "ada")
    post.choose("ada", digest="off")
    senders = ["s1", "s2", "s3"]
    for sender in senders:
        post.ok("claim", sender)
    sent: dict[str, list[str]] = {sender: [] for sender in senders}
    for count in range(20):
        for sender in senders:
            text = f"{sender} says number {count:02}."
            sent[sender].append(post.send("ada", text, sender=sender))
    claude.start("ada")
    for sender in senders:
        for message in sent[sender]:
            post.reached("ada", message, "seen", 120)
    every = "\n".join(claude.texts("ada"))
    for sender in senders:
        told = re.findall(rf"{sender} says number (\d\d)\.", every)
        assert told == [f"{count:02}" for count in range(20)]
    rungs = [line["rung"] for line in post.lines("ada", "ledger")]
    assert "dropped" not in rungs


def test_a_name_in_front_is_stored_first_and_its_session_has_it_all_the_same(
    claude: Claude, post: Post
) -> None:
    """Renamed by the client's own frame, idle or busy; over /clear and its user's
    own /rename; what the session sends is from the name in front."""
    post.ok("claim", "--front", "ada")
    post.ok("claim", "eve")
    claude.start("ada")
    pid = claude.pids["ada"]
    claude.record(lambda one: one.get("pid") == pid and one["name"] == "ada-live")
    post.listed("ada")
    claude.start("eve", settings=allow("SendMessage"))
    send_to(claude, "eve", "ada", "native to the front")
    stored = post.stored("ada", "native to the front")
    given = claude.given("ada", "native to the front")
    post.reached("ada", stored["msg"]["id"], "seen", 30)
    assert stored["msg"]["from"] == "eve"
    before = claude.ids["ada"]
    claude.type("ada", "/clear")
    claude.record(
        lambda one: (
            one.get("pid") == pid
            and one["sessionId"] != before
            and one["name"] == "ada-live"
        )
    )
    claude.type("ada", "/rename ada")
    renamed = claude.record(
        lambda one: (
            one.get("pid") == pid
            and one["name"] == "ada-live"
            and one.get("nameSource") == "peer"
        )
    )
    post.listed("ada")
    claude.ids["ada"] = renamed["sessionId"]
    message = post.send("ada", "after all of it")
    assert claude.given("ada", "after all of it")
    post.reached("ada", message, "seen", 30)
    send_to(claude, "ada", address(given), "native answer")
    assert post.stored("eve", "native answer")["msg"]["from"] == "ada"
    claude.end("ada")
    post.listed("ada")
