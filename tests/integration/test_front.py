"""Names in front, and aliases, among live sessions: who is listed, who gets mail."""

from typing import Any

from tests.standin import registry
from tests.standin.driver import Standin
from tests.standin.place import Place, homi_command, until


def row(place: Place, name: str) -> dict[str, Any]:
    """What ls says of a name."""
    rows = place.json("ls", "--no-probe")
    (found,) = [one for one in rows if one["kind"] == "name" and one["name"] == name]
    return dict(found)


def called(session: Standin) -> str:
    """What a session is called in its own record."""
    return str(session.seen("renamed")[-1]["name"])


def behind(place: Place, session: Standin, name: str) -> None:
    """Wait until the session goes by that name and the front of it is listed."""
    session.wait("renamed", name=name)
    place.listed("ada")
    until(lambda: (row(place, "ada")["owner"] or {}).get("pid") == session.pid, "owner")


def test_a_name_in_front_stays_listed_and_what_sessions_send_it_is_stored_first(
    place: Place,
) -> None:
    """Its session has it all the same: turns, replies, whoami, sending."""
    assert place.ok("claim", "--front", "ada") == "claimed ada, in front\n"
    place.ok("claim", "eve")
    eve = place.session("eve", "--auto")
    ada = place.session("ada", "--auto", "--reply", "done so")
    behind(place, ada, "ada-live")
    assert eve.send("ada", "by name")["ok"]
    stored = place.stored("ada", "by name")
    assert (stored["msg"]["to"], stored["msg"]["from"]) == ("ada", "eve")
    ada.letter("by name")
    place.reached("ada", stored["msg"]["id"], "seen")
    reply = place.stored("eve", "done so")
    assert reply["msg"]["from"] == "ada"
    assert reply["via"]["session_name"] == "ada-live"
    assert reply["via"].get("claimed_from") is None
    sent = ada.tool(*homi_command(), "send", "eve", "by command")
    assert sent["rc"] == 0, sent
    assert place.stored("eve", "by command")["msg"]["from"] == "ada"
    # Both its names lead to the one mailbox, and no other comes into being.
    place.send("ada-live", "by the other name")
    ada.letter("by the other name")
    assert not (place.state / "mail" / "ada-live").exists()
    assert place.homi("claim", "ada-live").returncode == 73


def test_a_restart_a_clear_and_a_resumed_session_leave_the_front_as_it_is(
    place: Place,
) -> None:
    """Who stands behind a name is what its record says: nothing is to be remembered."""
    place.ok("claim", "--front", "ada")
    ada = place.session("ada", "--auto")
    behind(place, ada, "ada-live")
    place.ok("claim", "eve")
    place.kill()
    spooled = ada.tool(*homi_command(), "send", "eve", "while nobody was up")
    assert spooled["rc"] == 0, spooled
    place.start()
    place.listed("ada")
    assert place.stored("eve", "while nobody was up")["msg"]["from"] == "ada"
    ada.do("clear")
    place.send("ada", "after both")
    ada.letter("after both")
    assert called(ada) == "ada-live"
    ada.exit()
    until(lambda: row(place, "ada")["state"] == "held", "nobody has it")
    assert place.planted("ada")
    place.send("ada", "for the next")
    resumed = place.session("ada-live", "--auto")
    resumed.letter("for the next")
    assert resumed.seen("renamed") == []
    assert place.planted("ada")


def test_a_session_that_dies_leaves_the_name_listed_and_its_mail_to_the_next(
    place: Place,
) -> None:
    """SIGKILL: its record stays behind and means nothing."""
    place.ok("claim", "--front", "ada")
    first = place.session("ada")
    behind(place, first, "ada-live")
    message = place.send("ada", "unread")
    first.letter("unread")
    first.kill()
    until(lambda: row(place, "ada")["state"] == "held", "nobody has it")
    assert place.planted("ada")
    second = place.session("ada", "--auto")
    behind(place, second, "ada-live")
    assert second.letter("unread")["msg_id"] == message


def test_a_second_session_of_the_name_gets_a_place_behind_it_too(place: Place) -> None:
    """Two of one name would make every send by name fail; the first stays owner."""
    place.ok("claim", "--front", "ada")
    place.ok("claim", "eve")
    eve = place.session("eve", "--auto")
    first = place.session("ada", "--auto")
    behind(place, first, "ada-live")
    second = place.session("ada", "--auto")
    second.wait("renamed", name="ada-live-2")
    place.listed("ada")
    assert eve.send("ada", "to the first")["ok"]
    first.letter("to the first")
    found = row(place, "ada")
    assert (found["owner"]["pid"], found["others"]) == (first.pid, [second.pid])
    first.exit()
    until(lambda: (row(place, "ada")["owner"] or {}).get("pid") == second.pid, "next")
    assert eve.send("ada", "to the second")["ok"]
    second.letter("to the second")


def test_a_session_that_is_given_another_name_by_its_user_gives_the_name_up(
    place: Place,
) -> None:
    """As without a front; called so again, it has it again."""
    place.ok("claim", "--front", "ada")
    ada = place.session("ada", "--auto")
    behind(place, ada, "ada-live")
    ada.do("rename", name="bob")
    until(lambda: row(place, "ada")["state"] == "held", "given up")
    assert place.planted("ada")
    message = place.send("ada", "kept")
    ada.do("rename", name="ada-live")
    assert ada.letter("kept")["msg_id"] == message


def test_a_user_who_takes_the_name_back_again_and_again_gets_it(place: Place) -> None:
    """homi asks three times a minute, steps aside and says so; mail goes on."""
    place.ok("claim", "--front", "ada")
    ada = place.session("ada", "--auto")
    behind(place, ada, "ada-live")
    for _ in range(2):
        ada.do("rename", name="ada")
        ada.wait("renamed", name="ada")
        behind(place, ada, "ada-live")
    ada.do("rename", name="ada")
    until(lambda: "not in front" in row(place, "ada")["note"], "a note")
    assert place.planted("ada") is None
    assert called(ada) == "ada"
    place.send("ada", "still")
    ada.letter("still")


def test_a_session_that_obeys_no_rename_keeps_the_name_as_without_a_front(
    place: Place,
) -> None:
    """The record stays away: two of one name would be worse than none in front."""
    place.ok("claim", "--front", "ada")
    place.ok("claim", "eve")
    eve = place.session("eve", "--auto")
    ada = place.session("ada", "--auto", "--keep-name")
    until(lambda: "did not take" in row(place, "ada")["note"], "a note")
    assert place.planted("ada") is None
    assert eve.send("ada", "to it directly")["ok"]
    ada.letter("to it directly")
    ada.exit()
    place.listed("ada")
    until(lambda: not row(place, "ada")["note"], "no note any more")


def test_in_front_of_a_folder_only_a_session_in_it_is_renamed(place: Place) -> None:
    """A stranger of that name is left alone, and ls says what that means."""
    inside, outside = place.work / "in", place.work / "out"
    inside.mkdir()
    outside.mkdir()
    place.ok("claim", "--front", "--cwd", str(inside), "ada")
    stranger = place.session("ada", cwd=outside)
    until(lambda: "another folder" in row(place, "ada")["note"], "a note")
    assert stranger.seen("renamed") == []
    ada = place.session("ada-live", "--auto", cwd=inside)
    until(lambda: (row(place, "ada")["owner"] or {}).get("pid") == ada.pid, "owner")
    stranger.exit()
    place.send("ada", "for the one inside")
    ada.letter("for the one inside")


def test_a_front_put_up_or_taken_down_under_a_live_session_renames_it(
    place: Place,
) -> None:
    """--no-front and release give the session its name back."""
    place.ok("claim", "ada")
    ada = place.session("ada", "--auto")
    until(lambda: row(place, "ada")["state"] == "live", "it has the name")
    place.ok("claim", "--front", "ada")
    behind(place, ada, "ada-live")
    place.ok("claim", "--no-front", "ada")
    ada.wait("renamed", name="ada")
    until(lambda: place.planted("ada") is None, "homi stepped aside")
    place.send("ada", "without")
    ada.letter("without")
    place.ok("claim", "--front", "ada")
    behind(place, ada, "ada-live")
    place.ok("release", "ada")
    ada.wait("renamed", name="ada")
    assert place.planted("ada") is None


def test_an_alias_is_written_to_by_sessions_and_steps_aside_for_one(
    place: Place,
) -> None:
    """Its mail is in the mailbox it leads to; a live session of its name is first."""
    place.ok("claim", "ada")
    place.ok("claim", "eve")
    place.ok("alias", "add", "reviewer", "ada")
    place.listed("reviewer")
    eve = place.session("eve", "--auto")
    assert eve.send("reviewer", "please look")["ok"]
    stored = place.stored("ada", "please look")
    assert (stored["to"], stored["msg"]["to"]) == ("ada", "reviewer")
    assert not (place.state / "mail" / "reviewer").exists()
    place.kill()
    place.start()
    place.listed("reviewer")
    own = place.session("reviewer", "--auto")
    until(lambda: place.planted("reviewer") is None, "homi stepped aside")
    assert eve.send("reviewer", "to the session")["ok"]
    own.letter("to the session")
    own.exit()
    place.listed("reviewer")
    place.ok("alias", "rm", "reviewer")
    until(lambda: place.planted("reviewer") is None, "it is gone")


def test_mail_by_command_to_a_live_session_stands_before_its_alias(
    place: Place,
) -> None:
    """Claimed by its first mail; the alias stays, hidden, and is told of."""
    place.ok("claim", "ada")
    place.ok("alias", "add", "bob", "ada")
    bob = place.session("bob", "--auto")
    until(lambda: place.planted("bob") is None, "homi stepped aside")
    place.send("bob", "hello")
    bob.letter("hello")
    assert "it is claimed, too" in place.json("alias", "ls")["note"]
    bob.exit()
    place.listed("bob")
    sessions = [one for one in registry.peers(place.registry, 0) if one.name == "bob"]
    assert len(sessions) == 1
    place.send("bob", "kept")
    place.stored("bob", "kept")
    place.ok("release", "bob")
    place.send("bob", "led on")
    place.stored("ada", "led on")
