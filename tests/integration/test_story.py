"""The plain story with a real daemon: held, handed over, read, answered, held again."""

import signal

from tests.standin.place import PATIENCE, Place, until


def test_mail_for_nobody_is_stored_and_given_to_the_session_that_comes(
    place: Place,
) -> None:
    """The first promise: any hour, whether or not somebody is home."""
    place.ok("claim", "ada")
    message = place.send("ada", "hello at night")
    assert [line["msg"]["id"] for line in place.lines("ada")] == [message]
    ada = place.session("ada", "--auto")
    assert ada.letter("hello at night")["msg_id"] == message
    place.reached("ada", message, "seen")
    rungs = place.rungs("ada", message)
    assert rungs.index("offered") < rungs.index("seen")


def test_a_session_mails_a_held_name_by_its_own_tool(place: Place) -> None:
    """Its model is told success when, and only when, the line is durable."""
    place.ok("claim", "ada")
    place.listed("ada")
    bob = place.session("bob")
    bob.do("list")
    assert "ada" in bob.wait("listed")["peers"]
    assert bob.send("ada", "native hello")["ok"]
    line = place.stored("ada", "native hello")
    assert line["msg"]["from"] == "bob"
    assert line["via"]["door"] == "peer"
    assert line["via"]["verified"] is True
    assert line["via"]["session"] == bob.session_id


def test_a_reply_by_the_sessions_own_tool_reaches_the_living_sender(
    place: Place,
) -> None:
    """The tag's address is homi's, so the answer is stored, then handed over."""
    place.ok("claim", "ada")
    place.listed("ada")
    bob = place.session("bob", "--auto")
    bob.send("ada", "a question")
    ada = place.session("ada")
    ada.letter("a question")
    ada.do("reply", text="an answer")
    assert ada.wait("sent")["ok"]
    letter = bob.letter("an answer")
    assert letter["name"] == "ada"


def test_a_reply_to_a_sender_that_left_waits_in_its_mailbox(place: Place) -> None:
    """Nothing depends on both being there at once."""
    place.ok("claim", "ada")
    place.ok("claim", "bob")
    bob = place.session("bob", "--auto")
    until(lambda: not place.planted("bob"), "homi steps aside for bob")
    assert bob.send("ada", "a question")["ok"]
    bob.exit()
    place.listed("bob")
    ada = place.session("ada")
    ada.letter("a question")
    ada.do("reply", text="an answer")
    assert ada.wait("sent")["ok"]
    assert place.stored("bob", "an answer")["msg"]["from"] == "ada"


def test_homi_steps_aside_for_the_owner_and_takes_the_name_back(place: Place) -> None:
    """Two records of one name would make every send by name fail."""
    place.ok("claim", "ada")
    place.listed("ada")
    ada = place.session("ada")
    until(lambda: not place.planted("ada"), "the record is withdrawn")
    ada.kill()
    record = place.listed("ada")
    assert record["pid"] != ada.pid


def test_mail_is_held_again_when_the_session_is_killed(place: Place) -> None:
    """A SIGKILL leaves its record behind; the name must not stay with the dead."""
    place.ok("claim", "ada")
    ada = place.session("ada", "--auto")
    until(lambda: not place.planted("ada"), "homi steps aside")
    ada.kill()
    place.listed("ada")
    message = place.send("ada", "after the kill")
    heir = place.session("ada", "--auto")
    assert heir.letter("after the kill")["msg_id"] == message
    place.reached("ada", message, "seen")


def test_unread_mail_of_a_killed_session_goes_to_its_successor_marked(
    place: Place,
) -> None:
    """Offered is not read: what waited in the dead session's queue is offered again."""
    place.ok("claim", "ada")
    ada = place.session("ada")
    ada.do("tool")
    message = place.send("ada", "queued in a busy session")
    ada.wait("queued")
    place.reached("ada", message, "offered")
    ada.kill()
    heir = place.session("ada", "--auto")
    again = heir.letter("queued in a busy session")
    assert again["msg_id"] == message
    place.reached("ada", message, "seen")
    offers = [
        line
        for line in place.lines("ada", "ledger")
        if line["id"] == message and line["rung"] == "offered"
    ]
    assert [line.get("repeat", False) for line in offers] == [False, True]
    assert "repeat" in again["text"].partition("\n")[0].lower()


def test_read_mail_of_a_killed_session_is_not_offered_again(place: Place) -> None:
    """Seen is final; the control to the test above."""
    place.ok("claim", "ada")
    ada = place.session("ada", "--auto")
    first = place.send("ada", "read before the kill")
    place.reached("ada", first, "seen")
    ada.kill()
    second = place.send("ada", "only this one")
    heir = place.session("ada", "--auto")
    place.reached("ada", second, "seen")
    assert [letter["msg_id"] for letter in heir.letters()] == [second]


def test_a_killed_daemon_loses_nothing_and_repeats_nothing_to_a_living_session(
    place: Place,
) -> None:
    """The ledger says what the session was given; while it lives it is not repeated."""
    place.ok("claim", "ada")
    ada = place.session("ada")
    ada.do("tool")
    first = place.send("ada", "in flight")
    ada.wait("queued")
    place.reached("ada", first, "offered")
    place.kill()
    place.start()
    second = place.send("ada", "after the restart")
    ada.wait("queued")
    ada.do("tool_done")
    ada.do("answer")
    for message in (first, second):
        place.reached("ada", message, "seen")
    assert [letter["msg_id"] for letter in ada.letters()] == [first, second]


def test_held_mail_outlives_five_kills_of_the_daemon(place: Place) -> None:
    """The same ids in the same order, each time."""
    place.ok("claim", "ada")
    sent = [place.send("ada", f"mail {count}") for count in range(3)]
    for _ in range(5):
        place.kill()
        place.start()
        assert [line["msg"]["id"] for line in place.lines("ada")] == sent
        place.listed("ada")
    ada = place.session("ada", "--auto")
    for message in sent:
        place.reached("ada", message, "seen")
    assert [letter["msg_id"] for letter in ada.letters()] == sent


def test_mail_sent_while_the_daemon_is_down_is_taken_in_at_its_start(
    place: Place,
) -> None:
    """send works without a daemon, and says spooled, not stored."""
    place.ok("claim", "ada")
    place.kill()
    done = place.homi("send", "--from", "svc", "ada", "while it is down")
    assert done.returncode == 0, done
    assert "spooled" in done.stdout
    assert not place.lines("ada")
    place.start()
    assert place.stored("ada", "while it is down")["via"]["door"] == "pickup"


def test_a_session_and_the_daemon_killed_together_still_end_in_one_reading(
    place: Place,
) -> None:
    """After both deaths the ledger alone tells what is open."""
    place.ok("claim", "ada")
    ada = place.session("ada")
    ada.do("tool")
    message = place.send("ada", "the only copy")
    ada.wait("queued")
    place.reached("ada", message, "offered")
    place.kill()
    ada.kill()
    place.start()
    heir = place.session("ada", "--auto")
    assert heir.letter("the only copy")["msg_id"] == message
    place.reached("ada", message, "seen")


def test_a_stop_ends_in_order_and_leaves_no_record(place: Place) -> None:
    """A name nobody serves must not stay listed."""
    place.ok("claim", "ada")
    place.listed("ada")
    assert place.daemon is not None
    place.daemon.send_signal(signal.SIGTERM)
    assert place.daemon.wait(PATIENCE) == 0
    assert not list(place.registry.glob("*"))
    assert not list((place.run / "cc-socks").glob("*"))
