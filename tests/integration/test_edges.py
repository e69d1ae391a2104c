"""Sessions that hold, refuse, rename, clear; daemons that are stopped under load."""

import concurrent.futures
import json
import signal
import subprocess

import pytest

from tests.crash.traffic import Traffic, spooled
from tests.standin import registry
from tests.standin.place import PATIENCE, Place, homi_command, until


def test_twenty_claims_at_once_make_one_record(place: Place) -> None:
    """One is told claimed, nineteen already; all succeed."""
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        runs = list(pool.map(lambda _: place.homi("claim", "ada", "--json"), range(20)))
    assert [run.returncode for run in runs] == [0] * 20
    assert sum(bool(json.loads(run.stdout).get("fresh")) for run in runs) == 1
    place.listed("ada")
    records = [
        record
        for file in place.registry.glob("*.json")
        if (record := json.loads(file.read_text()))["name"] == "ada"
    ]
    assert len(records) == 1


def test_three_names_keep_their_mail_apart(place: Place) -> None:
    """The recipient is the socket, not a word in the bytes."""
    names = ["ada", "bob", "cyd"]
    for name in names:
        place.ok("claim", name)
        place.listed(name)
    zed = place.session("zed")
    for name in names:
        assert zed.send(name, f"for {name}")["ok"]
    for name in names:
        assert [line["msg"]["text"] for line in place.lines(name)] == [f"for {name}"]


def test_a_session_that_holds_its_mail_never_shows_as_seen(place: Place) -> None:
    """Held by the client is not delivered; after its change of mind it is, once."""
    place.ok("claim", "ada")
    ada = place.session("ada", "--auto", "--inbound", "hold")
    message = place.send("ada", "wait for it")
    ada.wait("held")
    until(
        lambda: "held" in place.rungs("ada", message),
        "the receipt is in the ledger",
    )
    assert "seen" not in place.rungs("ada", message)
    assert not ada.letters()
    ada.do("inbound", value="accept")
    place.reached("ada", message, "seen")
    assert [letter["msg_id"] for letter in ada.letters()] == [message]


def test_held_mail_of_a_session_that_ends_goes_to_the_next(place: Place) -> None:
    """The client expires what it held; homi still has it."""
    place.ok("claim", "ada")
    ada = place.session("ada", "--auto", "--inbound", "hold")
    message = place.send("ada", "held, then homeless")
    ada.wait("held")
    ada.exit()
    heir = place.session("ada", "--auto")
    assert heir.letter("held, then homeless")["msg_id"] == message
    place.reached("ada", message, "seen")


def test_a_session_that_refuses_leaves_the_mail_and_the_sender_is_told(
    place: Place,
) -> None:
    """Refused by one session is not refused by the name."""
    place.ok("claim", "ada")
    ada = place.session("ada", "--inbound", "refuse")
    message = place.send("ada", "not welcome")
    ada.wait("refused")
    until(
        lambda: any(
            line["id"] == message and line.get("reason") == "host-refused"
            for line in place.lines("ada", "ledger")
        ),
        "the refusal is in the ledger",
    )
    assert place.notice("svc", message)["msg"]["kind"] == "notice"
    ada.exit()
    heir = place.session("ada", "--auto")
    assert heir.letter("not welcome")["msg_id"] == message


def test_a_mode_mismatch_is_delivered_once_its_user_agrees(place: Place) -> None:
    """homi never raises a mode: the letter waits in the client's own dialog."""
    place.ok("claim", "ada")
    place.listed("ada")
    bob = place.session("bob", "--mode", "bypass")
    assert bob.send("ada", "from a bypass session")["ok"]
    message = place.stored("ada", "from a bypass session")["msg"]["id"]
    ada = place.session("ada", "--auto")
    assert ada.wait("held")["mode"] == "bypass"
    until(lambda: "held" in place.rungs("ada", message), "it shows as held")
    ada.do("deliver")
    place.reached("ada", message, "seen")


def test_the_same_key_is_one_message(place: Place) -> None:
    """A sender unsure whether it sent may repeat itself."""
    place.ok("claim", "ada")
    first = place.send("ada", "once only", "--key", "k1")
    again = place.send("ada", "once only", "--key", "k1")
    other = place.send("ada", "once only", "--key", "k2")
    assert again == first
    assert other != first
    assert [line["msg"]["id"] for line in place.lines("ada")] == [first, other]


def test_a_rename_gives_the_name_back_and_takes_it_again(place: Place) -> None:
    """The name is what the session is called now."""
    place.ok("claim", "ada")
    ada = place.session("ada", "--auto")
    until(lambda: not place.planted("ada"), "homi steps aside")
    ada.do("rename", name="eve")
    place.listed("ada")
    message = place.send("ada", "for whoever is ada")
    assert not ada.letters()
    ada.do("rename", name="ada")
    assert ada.letter("for whoever is ada")["msg_id"] == message
    place.reached("ada", message, "seen")


def test_a_cleared_session_is_still_the_owner(place: Place) -> None:
    """Pid and start time are the identity; the conversation is not."""
    place.ok("claim", "ada")
    ada = place.session("ada", "--auto")
    first = place.send("ada", "before the clear")
    place.reached("ada", first, "seen")
    ada.do("clear")
    session = ada.wait("cleared")["session_id"]
    second = place.send("ada", "after the clear")
    place.reached("ada", second, "seen")
    assert [letter["msg_id"] for letter in ada.letters()] == [first, second]
    offered = [
        line
        for line in place.lines("ada", "ledger")
        if line["id"] == second and line["rung"] == "offered"
    ]
    assert offered[-1]["session"]["id"] == session


def test_sixty_held_mails_of_three_senders_arrive_in_order_and_none_is_dropped(
    place: Place,
) -> None:
    """The drain stays below the client's own guard, letter by letter."""
    place.ok("claim", "ada")
    place.choose("ada", digest="off")
    senders = ["s1", "s2", "s3"]
    for sender in senders:
        place.ok("claim", sender)
    sent: dict[str, list[str]] = {sender: [] for sender in senders}
    for sender in senders:
        lines = "".join(f"{sender} mail {count}\n" for count in range(20))
        place.ok("send", "--lines", "--from", sender, "ada", given=lines)
    for line in place.lines("ada"):
        sent[line["msg"]["from"]].append(line["msg"]["id"])
    assert [len(sent[sender]) for sender in senders] == [20] * 3
    ada = place.session("ada", "--auto")
    for sender in senders:
        for message in sent[sender]:
            place.reached("ada", message, "seen", 120)
    assert not ada.seen("dropped")
    given = [letter["msg_id"] for letter in ada.letters()]
    for sender in senders:
        assert [one for one in given if one in sent[sender]] == sent[sender]


def test_probes_are_no_mail(place: Place) -> None:
    """Every listing opens an empty connection to every name."""
    place.ok("claim", "ada")
    path = place.listed("ada")["messagingSocketPath"]
    assert all(registry.probe(path) for _ in range(500))
    place.send("ada", "the only mail")
    assert [line["msg"]["text"] for line in place.lines("ada")] == ["the only mail"]


def test_a_second_daemon_is_refused_and_the_first_goes_on(place: Place) -> None:
    """One writer per folder; the refusal names the holder."""
    assert place.daemon is not None
    done = place.homi("run")
    assert done.returncode == 73, done
    assert str(place.daemon.pid) in done.stderr
    place.ok("claim", "ada")
    assert place.send("ada", "still here")


def test_a_second_daemon_is_refused_without_the_lock_file_too(place: Place) -> None:
    """Somebody removed it: a recovery under the feet of a living daemon would void
    the ring's records of what that one acknowledged."""
    assert place.daemon is not None
    place.ok("claim", "ada")
    record = place.listed("ada")
    ring = (place.state / "ring").read_bytes()
    (place.state / "homi.lock").unlink()
    done = place.homi("run")
    assert done.returncode == 73, done
    assert str(place.daemon.pid) in done.stderr
    assert (place.state / "ring").read_bytes() == ring
    assert place.planted("ada") == record
    message = place.send("ada", "still here")
    place.kill()
    place.start()
    assert [line["msg"]["id"] for line in place.lines("ada")] == [message]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_end_ends_in_order(place: Place, number: signal.Signals) -> None:
    """Also where the terminal of a daemon in the foreground goes away."""
    assert place.daemon is not None
    place.ok("claim", "ada")
    place.listed("ada")
    place.daemon.send_signal(number)
    assert place.daemon.wait(PATIENCE) == 0
    assert list(place.registry.iterdir()) == []
    assert not (place.state / "homi.sock").exists()


def test_a_daemon_told_to_outlive_its_terminal_does(place: Place) -> None:
    """nohup homi run: what is ignored stays ignored."""
    place.stop()
    daemon = subprocess.Popen(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *homi_command(), "run"],
        env=place.env(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    place.daemon = daemon
    until(lambda: place.answers() or daemon.poll() is not None, "the daemon answers")
    daemon.send_signal(signal.SIGHUP)
    assert place.ok("status")
    assert daemon.poll() is None


def test_a_stop_under_load_answers_what_it_stored_and_nothing_else(
    place: Place,
) -> None:
    """SIGTERM: no promise without a line, no clean close without one."""
    for name in ("ada", "bob"):
        place.ok("claim", name)
        place.listed(name)
    traffic = Traffic(place, ["ada", "bob"])
    traffic.start()
    assert traffic.more(200)
    assert place.stop() == 0
    place.start()
    assert traffic.more(50)
    traffic.stop()
    until(lambda: not spooled(place.state), "pickup is empty")
    traffic.verify()


def test_a_tool_that_prints_the_inbox_reads_nothing(place: Place) -> None:
    """An id on a screen proves nothing; only the session's own lines do."""
    place.ok("claim", "ada")
    ada = place.session("ada", "--inbound", "hold")
    message = place.send("ada", "look, do not touch")
    ada.wait("held")
    shown = ada.tool(*_homi("inbox", "--json"))
    assert shown["rc"] == 0, shown
    assert message in shown["out"]
    ada.do("say", text=shown["out"])
    assert "seen" not in place.rungs("ada", message)
    assert place.ok("inbox", "ada")


def test_a_child_of_a_session_acks_for_it_and_a_stranger_may_not(
    place: Place,
) -> None:
    """A child is its session; another session's mail is not its business."""
    place.ok("claim", "ada")
    ada = place.session("ada", "--inbound", "hold")
    bob = place.session("bob")
    message = place.send("ada", "ack me")
    ada.wait("held")
    assert bob.tool(*_homi("ack", "--name", "ada", message))["rc"] == 77
    assert "seen" not in place.rungs("ada", message)
    done = ada.tool(*_homi("ack", message))
    assert done["rc"] == 0, done
    place.reached("ada", message, "seen")
    by = [line.get("by") for line in place.lines("ada", "ledger")]
    assert any(by)


def test_an_unknown_name_is_refused_with_the_nearest_and_makes_nothing(
    place: Place,
) -> None:
    """No phantom mailboxes."""
    place.ok("claim", "gds-agent")
    done = place.homi("send", "--from", "svc", "gds-agnet", "hello")
    assert done.returncode == 67, done
    assert "gds-agent" in done.stderr
    assert not (place.state / "mail" / "gds-agnet").exists()


def _homi(*argv: str) -> list[str]:
    """A homi command as a session's tool would run it."""
    return [*homi_command(), *argv]
