"""Mail for another device with a secret in it: it stays, and so does the secret."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.run import at_terminal
from tests.integration.test_ask import tool
from tests.standin.place import Place, until

HIDDEN = "hunter2" + "hunter2"  # in nothing that is let out: it would be found
SECRET = "DB_PASS" + f"WORD={HIDDEN}"
KNOWN = "DB_PASS" + "WORD=correct9horse"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A daemon with a device that it cannot reach, and a sender here."""
    with Place() as made:
        made.start()
        made.ok("claim", "svc")
        made.ok("link", "add", "mini", "--host", "127.0.0.1:1", "--key", KEY)
        made.ok("link", "pause", "mini")
        yield made


def traces(place: Place) -> list[Path]:
    """Every file of the machine in which the secret stands."""
    found = []
    for folder, _, names in os.walk(place.root):
        for path in (Path(folder, name) for name in names):
            with contextlib.suppress(OSError):  # a daemon renames and removes
                if path.is_file() and HIDDEN.encode() in path.read_bytes():
                    found.append(path.relative_to(place.root))
    return found


def person(place: Place, *argv: str) -> subprocess.CompletedProcess[bytes]:
    """A command of a person at a terminal."""
    return at_terminal(place.env(), place.work, list(argv), screen=False)


def test_a_refused_secret_is_in_no_file_and_no_output(place: Place) -> None:
    """By the command, through pickup/, and by a program that sends many; the control
    is the person here, whose inbox has it."""
    for options in ((), ("--lines",)):
        text = () if options else (SECRET,)
        given = SECRET if options else ""
        done = place.homi(
            "send", "--from", "svc", *options, "gds@mini", *text, given=given
        )
        assert done.returncode == 65
        assert "password in text at 12" in done.stderr
        assert HIDDEN not in done.stdout + done.stderr
    assert place.stop() == 0
    done = place.homi("send", "--from", "svc", "gds@mini", SECRET)
    assert (done.returncode, done.stdout.split()[0]) == (0, "spooled")
    spooled = done.stdout.split()[1]
    token = "sk-ant-" + "api03-ab3de6gh9jk2mn5pq8st1vw4xy7za0"
    named = place.homi("send", "--from", "svc", f"{token}@mini", "hi").stdout.split()[1]
    place.start()
    text = place.notice("svc", named)["msg"]["text"]
    assert f"{named} to a name on mini was refused" in text
    assert token not in text
    assert "password in text at 12" in place.notice("svc", spooled)["msg"]["text"]
    until(lambda: not traces(place), "the secret is gone")
    place.send("owner", SECRET)
    assert traces(place)


def test_a_person_lets_it_leave_and_trace_says_why(place: Place) -> None:
    """An agent may not, nor anybody while no daemon could keep the reason."""
    with place.session("bot") as bot:
        agent = tool(bot, "send", "--allow-secret", "mine", "gds@mini", KNOWN)
        assert agent["rc"] == 77
    service = ("send", "--from", "svc", "--allow-secret", "x", "gds@mini", KNOWN)
    assert place.homi(*service).returncode == 77
    why = ("--allow-secret", "rotated at noon")
    told = person(place, "send", "--json", *why, "gds@mini", KNOWN)
    assert told.returncode == 0, told.stderr
    sent = json.loads(told.stdout)
    assert sent["rung"] == "stored"
    ledger = place.journal(place.state / "out" / "mini" / "ledger.jsonl")
    (line,) = [one for one in ledger if one["id"] == sent["id"]]
    assert line["allowed"] == "rotated at noon"
    assert line["by"].startswith("owner pid ")
    assert "rotated at noon" in place.ok("trace", sent["id"])
    place.stop()
    assert person(place, "send", *why, "gds@mini", KNOWN).returncode == 69
    place.start()


def test_a_reason_with_a_secret_in_it_is_refused(place: Place) -> None:
    """It would be kept; the control is one without."""
    why = f"{SECRET} is old"
    told = person(place, "send", "--allow-secret", why, "gds@mini", "hello")
    assert told.returncode == 65
    assert b"in the reason for --allow-secret" in told.stderr
    assert HIDDEN.encode() not in told.stdout + told.stderr
    assert (
        person(place, "send", "--allow-secret", "ok", "gds@mini", "x").returncode == 0
    )
