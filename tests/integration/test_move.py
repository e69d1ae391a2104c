"""Names that move between two real daemons, with what is theirs."""

import json
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from homi.errors import NoSuchDevice
from homi.moving.conversation import slug
from homi.seats.server import Server
from tests.integration.linked import Pair, key_of, linked_pair
from tests.integration.seatkit import needs_tmux
from tests.standin import claude, sshd
from tests.standin.place import PATIENCE, Place, until


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Two devices whose link is up."""
    yield from linked_pair(["bob"])


def ids(place: Place, name: str) -> list[str]:
    """What waits in a mailbox, in order."""
    out = place.ok("queue", name, "--json")
    return [json.loads(line)["id"] for line in out.splitlines()]


def git(folder: Path, *argv: str) -> None:
    """One git command that must succeed."""
    me = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    subprocess.run(("git", *me, *argv), cwd=folder, check=True, capture_output=True)


def transcript(place: Place, cwd: Path, conversation: str) -> Path:
    """Where the client of a place keeps a conversation."""
    return (
        place.home / ".claude" / "projects" / slug(str(cwd)) / f"{conversation}.jsonl"
    )


def test_a_name_moves_with_its_mail_its_conversation_and_its_settings(
    pair: Pair,
) -> None:
    """What is finished is history there, what waits follows in order, and what is not
    committed stands in the way."""
    laptop, mini = pair.laptop, pair.mini
    repo, there = laptop.work / "repo", mini.work / "clone"
    repo.mkdir()
    git(repo, "init")
    (repo / "a").write_text("1")
    git(repo, "add", "a")
    git(repo, "commit", "-m", "one")
    laptop.ok("claim", "ada", "--cwd", str(repo))
    talk = str(uuid.uuid4())
    path = transcript(laptop, repo, talk)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"cwd": str(repo), "file": f"{repo}/a"}) + "\n")
    read = laptop.send("ada", "read before", sender="bob")
    laptop.ok("ack", "--name", "ada", read)
    sent = [laptop.send("ada", f"letter {n}", sender="bob") for n in range(3)]
    move = ("move", "ada", "mini", "--session", talk, "--cwd", str(there), "--json")

    refused = laptop.homi(*move)
    assert (refused.returncode, "there is no folder" in refused.stderr) == (75, True)
    git(mini.work, "clone", str(repo), str(there))
    (repo / "b").write_text("2")
    laptop.ok("set", "ada", "digest=5")
    refused = laptop.homi(*move)
    assert (refused.returncode, "1 uncommitted file," in refused.stderr) == (75, True)
    assert "moving" not in (laptop.state / "names.json").read_text()

    done = json.loads(laptop.ok(*move, "--dirty"))
    assert (done["done"], done["history"], done["history_there"]) == ("moved", 1, 1)
    assert done["forwarded"] == 3
    until(lambda: ids(mini, "ada") == sent, "the letters follow")
    kept = transcript(mini, there, talk)
    assert json.loads(kept.read_text()) == {"cwd": str(there), "file": f"{there}/a"}
    assert [
        line["msg"]["text"] for line in mini.lines("ada") if line["via"].get("was")
    ] == ["read before"]
    kept_too = json.loads((mini.state / "names.json").read_text())
    assert kept_too["claims"]["ada"]["settings"] == {"digest": "5"}
    later = laptop.send("ada", "later", sender="bob")
    until(lambda: ids(mini, "ada") == [*sent, later], "what is sent later follows")


def test_it_comes_back_and_goes_again_with_the_same_mail(pair: Pair) -> None:
    """A message that was there before is not taken for known; a second try of one that
    was read is."""
    laptop, mini = pair.laptop, pair.mini
    laptop.ok("claim", "cyd")
    sent = [laptop.send("cyd", f"letter {n}", sender="bob") for n in range(3)]
    laptop.ok("move", "cyd", "mini")
    until(lambda: ids(mini, "cyd") == sent, "they are there")
    laptop.ok("move", "cyd@mini")
    until(lambda: ids(laptop, "cyd") == sent, "they are back")
    assert '"moved"' not in laptop.ok("alias", "--json")
    laptop.ok("ack", "--name", "cyd", sent[0])
    laptop.ok("move", "cyd", "mini")
    until(lambda: ids(mini, "cyd") == sent[1:], "they are there again")
    assert laptop.homi("queue", "cyd").returncode == NoSuchDevice.exit_status
    laptop.ok("move", "cyd@mini")
    laptop.ok("move", "cyd", "mini")
    until(lambda: ids(mini, "cyd") == sent[1:], "they are there the third time")
    until(lambda: not ids(laptop, "@mini"), "each of them was confirmed")


@pytest.mark.soak
def test_a_move_that_is_ended_by_force_leaves_one_owner_once_they_meet(
    pair: Pair,
) -> None:
    """The device that claimed it in a lower generation yields, with what came to it."""
    laptop, mini = pair.laptop, pair.mini
    laptop.ok("claim", "eve")
    sent = [laptop.send("eve", "one", sender="bob")]
    mini.kill()
    mini.start(HOMI_FAULT="move-arrived:1")
    pair.both_up()
    lost = laptop.homi("move", "eve", "mini")
    assert (lost.returncode, "on its way to mini" in lost.stderr) == (75, True)
    assert mini.daemon is not None
    mini.daemon.wait(PATIENCE)
    assert "moves to eve@mini" in laptop.ok("ls")
    assert "\theld\tmoving\t" in laptop.ok("queue", "eve")
    assert laptop.homi("release", "eve").returncode == 75
    assert laptop.homi("move", "eve", "--abort").returncode == 75
    assert laptop.ok("move", "eve", "--abort", "--force") == "eve stays here\n"
    assert ids(laptop, "eve") == sent
    laptop.ok("link", "pause", "mini")
    mini.start()
    mini.ok("claim", "kim")
    sent.append(mini.send("eve", "to the lower one", sender="kim"))
    laptop.ok("link", "resume", "mini")
    pair.both_up()

    def yielded() -> bool:
        found = json.loads((mini.state / "names.json").read_text())
        return "eve" not in found["claims"] and "eve" in found["aliases"]

    until(yielded, "the lower generation yields")
    until(lambda: ids(laptop, "eve") == sent, "with what came to it")


def test_what_names_it_where_it_was_goes_on_from_there(pair: Pair) -> None:
    """A wake, a room, an alias and a session's mail follow it; how it is started stays,
    and begins nothing there.  The plan says each of it."""
    laptop, mini = pair.laptop, pair.mini
    claude.install(laptop.bin)
    laptop.ok("claim", "hal")
    laptop.ok("alias", "add", "al", "hal")
    laptop.ok("room", "create", "crew", "hal", "bob")
    wake = json.loads(
        laptop.ok(
            "wake",
            "add",
            "--from",
            "bob",
            "hal",
            "wake up",
            "--cron",
            "0 0 1 1 *",
            "--json",
        )
    )
    laptop.ok("spawn", "hal", "--on-mail")
    plan = json.loads(laptop.ok("move", "hal", "mini", "--dry-run", "--json"))["plan"]
    told = "\n".join(plan["notes"])
    for words in (
        "al here: an alias",
        "crew here",
        "a wake, which stays",
        "started here by its",
    ):
        assert words in told
    laptop.ok("move", "hal", "mini")
    laptop.send("al", "by the alias", sender="bob")
    laptop.ok("send", "--from", "bob", "crew", "to all")
    laptop.ok("wake", "run", wake["wake"]["id"])

    def texts() -> set[str]:
        return {line["msg"]["text"].split("\n")[0] for line in mini.lines("hal")}

    until(lambda: texts() == {"by the alias", "to all", "wake up"}, "all follow it")
    row = json.loads(laptop.ok("spawn", "ls", "--json"))
    assert (row["name"], row["state"], row.get("starts", 0)) == ("hal", "waiting", 0)


def test_a_copy_leaves_the_name_where_it_is(pair: Pair) -> None:
    """With the conversation, under another name, and without the mail."""
    laptop, mini = pair.laptop, pair.mini
    laptop.ok("claim", "dan")
    sent = [laptop.send("dan", "mine", sender="bob")]
    done = json.loads(
        laptop.ok("move", "dan", "mini", "--fork", "--as", "dan-2", "--json")
    )
    assert done["done"] == "forked"
    assert ids(laptop, "dan") == sent
    assert ids(mini, "dan-2") == []
    assert "dan-2" in mini.ok("ls")
    laptop.session("dan")
    until(lambda: "\tlive\t" in laptop.ok("ls"), "a session has the name")
    refused = laptop.homi("move", "dan", "mini")
    assert (refused.returncode, "has a live session" in refused.stderr) == (75, True)


@needs_tmux
def test_an_agent_is_started_where_the_name_came_to(pair: Pair) -> None:
    """In its folder there, by a daemon that died before it was begun; it has what
    waited."""
    laptop, mini = pair.laptop, pair.mini
    claude.install(mini.bin)
    there = mini.work / "gil"
    there.mkdir()
    laptop.ok("claim", "gil", "--cwd", str(laptop.work))
    sent = laptop.send("gil", "come", sender="bob")
    mini.kill()
    mini.start(HOMI_FAULT="move-settled:1")
    pair.both_up()
    laptop.homi("move", "gil", "mini", "--spawn", "--cwd", str(there))
    assert mini.daemon is not None
    mini.daemon.wait(PATIENCE)
    mini.start()
    try:
        pair.both_up()
        mini.reached("gil", sent, "seen")
        row = json.loads(mini.ok("spawn", "--json"))
        assert (row["name"], row["cwd"], row["starts"]) == ("gil", str(there), 1)
    finally:
        server = Server.of(mini.state)
        for seat in server.seats():
            server.kill(seat)
        until(lambda: server.seats() == [], "no seat is left")


@pytest.mark.soak
def test_a_name_that_moves_on_is_followed_over_both(pair: Pair) -> None:
    """Each device it left sends on what comes, to where it is now."""
    laptop, mini = pair.laptop, pair.mini
    with pair.place("hub", 15) as hub, sshd.Sshd(hub) as server:
        server.reach(mini)
        hub.state.mkdir(mode=0o700)
        key_of(hub)
        hub.start()
        server.authorize(pair.forced(mini, hub))
        hub.ok("link", "add", "mini", "--key", key_of(mini))
        mini.ok("link", "add", "hub", "--key", key_of(hub), "--host", "hub")
        pair.is_(mini, "hub", "up")
        laptop.ok("claim", "fay")
        sent = [laptop.send("fay", "one", sender="bob")]
        laptop.ok("move", "fay", "mini")
        sent.append(laptop.send("fay", "two", sender="bob"))
        until(lambda: ids(mini, "fay") == sent, "they are at the second")
        mini.ok("move", "fay", "hub")
        sent.append(laptop.send("fay", "three", sender="bob"))
        until(lambda: ids(hub, "fay") == sent, "all are at the third")
        mini.ok("link", "rm", "hub")
