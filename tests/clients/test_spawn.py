"""The real client as homi starts it: at once, when mail waits, in another's place."""

import json
import shlex
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from homi.seats.server import Server
from tests.clients.codex import Codex
from tests.clients.conftest import Post
from tests.clients.harness import Claude
from tests.clients.test_claude import END, address, bash, mail
from tests.standin.place import until

# By itself it asks a model what it may do, which is none here.
MANUAL = ("--", "--permission-mode", "manual")
pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]


def spawn(claude: Claude, post: Post, *words: str) -> dict[str, Any]:
    """homi spawn, with a claude in PATH that runs on the private machine."""
    install(claude, "claude", [str(claude.bin / "claude")])
    path = f"{claude.state / 'inside'}:{post.env()['PATH']}"
    done = post.homi("spawn", "--json", *words, PATH=path)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def install(claude: Claude, name: str, argv: list[str]) -> None:
    """A program of that name that runs argv on the private machine."""
    program = claude.state / "inside" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.join(claude.enter(argv))} "$@"\n')
    program.chmod(0o755)


def known(claude: Claude, name: str, pid: int) -> None:
    """Let the harness know a session that homi started."""
    record = claude.record(lambda one: one.get("pid") == pid)
    assert record["name"] == name
    claude.ids[name], claude.pids[name] = record["sessionId"], pid


def listed(post: Post, name: str) -> dict[str, Any]:
    """What is listed of a name."""
    rows = post.ok("spawn", "--json").splitlines()
    return dict(next(r for r in map(json.loads, rows) if r["name"] == name))


def answers(claude: Claude, post: Post, name: str) -> None:
    """Somebody asks; the session answers by its own tool."""
    with ThreadPoolExecutor(1) as pool:
        ask = ("ask", "--from", "svc", "--timeout", "50", name, "is it green?")
        said = pool.submit(post.ok, *ask)
        turn = claude.given(name, "is it green?")
        claude.status(name, "idle")
        claude.push(name, mail(address(turn), "as grass"), END)
        post.ok("seat", "send", name, "answer it")
        assert said.result(90) == "as grass\n"
    asked = post.stored(name, "is it green?")["msg"]["id"]
    post.reached(name, asked, "answered", 30)
    claude.status(name, "idle")


def test_a_session_is_spawned_replaced_and_ended(claude: Claude, post: Post) -> None:
    """It is called so from the start, takes mail of any mode, and its successor has
    the name once it is gone."""
    first = spawn(claude, post, "ada", *MANUAL)
    known(claude, "ada", first["pid"])
    message = post.send("ada", "the build is red")
    claude.given("ada", "the build is red")
    post.reached("ada", message, "seen", 30)
    claude.status("ada", "idle")
    answers(claude, post, "ada")

    second = json.loads(post.ok("respawn", "ada", "--json"))
    assert second["pid"] != first["pid"]
    until(lambda: not any(r.get("pid") == first["pid"] for r in claude.records()), "")
    until(
        lambda: any(
            (r.get("pid"), r.get("name")) == (second["pid"], "ada")
            for r in claude.records()
        ),
        "the successor is called ada",
        30,
    )
    known(claude, "ada", second["pid"])
    message = post.send("ada", "and green again")
    claude.given("ada", "and green again")
    post.reached("ada", message, "seen", 30)

    post.ok("unspawn", "--end", "ada")
    until(lambda: Server.of(post.state).seats() == [], "no seat is left", 30)
    del claude.pids["ada"]


def test_mail_starts_a_session_that_reads_it_and_one_is_adopted(
    claude: Claude, post: Post
) -> None:
    """Nobody touched a key; who is started after one that was killed in its turn has
    that turn's mail."""
    assert spawn(claude, post, "bob", "--on-mail", *MANUAL)["state"] == "waiting"
    message = post.send("bob", "wake up")
    row = until(lambda: (r := listed(post, "bob"))["state"] == "ready" and r, "", 60)
    known(claude, "bob", row["pid"])
    claude.given("bob", "wake up")
    post.reached("bob", message, "seen", 30)
    claude.status("bob", "idle")
    answers(claude, post, "bob")

    message = post.send("bob", "SLEEP 5 and do not lose me")
    claude.given("bob", "do not lose me")
    claude.kill("bob")
    until(lambda: listed(post, "bob").get("failures") == 1, "its end is noticed", 30)
    row = post.json("respawn", "bob")  # else it is a minute until it is started
    known(claude, "bob", row["pid"])
    assert "repeat" in claude.given("bob", "do not lose me")
    post.reached("bob", message, "seen", 60)

    claude.start("other")
    done = post.json("adopt", "mia", "--session", claude.ids["other"])
    assert (done["pid"], done["was"]) == (claude.pids["other"], "other")
    assert claude.session("other")["name"] == "mia"
    message = post.send("mia", "hello mia")
    claude.given("other", "hello mia")
    post.reached("mia", message, "seen", 30)

    claude.say("other", "remember this")
    claude.end("other")
    session = claude.ids["other"]
    assert post.json("retitle", session, "zoe")["was"] == "mia"
    env = [f"{key}={value}" for key, value in claude.env().items()]
    resume = ["env", "-i", *env, str(claude.bin / "claude"), "--resume", session]
    where = ("-x", "160", "-y", "50", "-c", str(claude.work))
    claude.tmux("new-session", "-d", "-s", "again", *where, shlex.join(resume))
    record = claude.record(
        lambda one: (one.get("sessionId"), one.get("name")) == (session, "zoe")
    )
    claude.pids["other"] = record["pid"]
    message = post.send("zoe", "hello zoe")
    claude.given("other", "hello zoe")
    post.reached("zoe", message, "seen", 30)

    out = post.ok("unspawn", "--end", "bob")
    assert str(row["pid"]) in out
    until(lambda: Server.of(post.state).seats() == [], "no seat is left", 30)
    del claude.pids["bob"]


def test_what_a_started_session_asks_is_told_to_the_person_nobody_else_sees_it(
    claude: Claude, post: Post
) -> None:
    """Once: the permission that mail led to, and whether it may trust its folder."""
    told, program = claude.state / "told", claude.state / "note"
    program.write_text(f'#!/bin/sh\necho "$1|$2" >>{told}\n')
    program.chmod(0o755)
    with (claude.home / ".config/homi/homi.toml").open("a") as settings:
        settings.write(f"notify = {json.dumps([str(program)])}\n")
    post.kill()
    post.start()
    known(claude, "ada", spawn(claude, post, "ada", *MANUAL)["pid"])
    claude.push("ada", bash("touch asked-for"), END)
    message = post.send("ada", "touch it")
    until(told.exists, "the person is told of ada", 30)
    assert "waiting" in post.ok("ls")
    assert not (claude.work / "asked-for").exists()
    post.ok("seat", "wait", "ada", "--for", "approval", "--timeout", "30")
    post.ok("seat", "respond", "ada", "Yes")
    post.reached("ada", message, "seen", 30)
    assert (claude.work / "asked-for").exists()

    strange = claude.state / "strange"
    strange.mkdir()
    path = {"PATH": f"{claude.state / 'inside'}:{post.env()['PATH']}"}
    late = post.homi("spawn", "eve", "--cwd", str(strange), "--timeout", "3", **path)
    assert late.returncode == 75, late.stderr
    post.ok("seat", "wait", "eve", "--for", "approval", "--timeout", "30")
    post.kill()
    post.start()
    until(lambda: len(told.read_text().splitlines()) > 1, "the person is told", 30)
    assert told.read_text().splitlines() == [
        f"{name} waits for an approval|homi seat state {name}"
        for name in ("ada", "eve")
    ]
    for name in ("ada", "eve"):
        post.ok("unspawn", "--end", name)
    until(lambda: Server.of(post.state).seats() == [], "no seat is left", 30)
    del claude.pids["ada"]


def test_a_codex_that_is_spawned_gets_its_mail_typed(
    claude: Claude, post: Post
) -> None:
    """Once it takes a line; before that the mail waits."""
    codex = Codex(claude)
    try:
        env = [f"{key}={value}" for key, value in codex.env().items()]
        install(claude, "codex", ["env", "-i", *env, *codex.tui()])
        row = spawn(claude, post, "cod", "--cli", "codex")
        assert row["state"] == "ready"
        message = post.send("cod", "the build is red")
        post.reached("cod", message, "offered", 60)
        until(lambda: message in str(codex.log()), "the model is given the letter", 30)
        post.ok("unspawn", "--end", "cod")
        until(lambda: Server.of(post.state).seats() == [], "no seat is left", 30)
    finally:
        codex.end()
