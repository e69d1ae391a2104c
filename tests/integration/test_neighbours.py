"""What two devices tell each other: names listed and mirrored, over a real sshd."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.linked import Pair
from tests.standin.place import Place, until


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """laptop and mini, linked, mini with a name and a session that owns another."""
    with Pair() as made:
        made.link()
        made.both_up()
        made.mini.ok("claim", "reviewer")
        made.mini.ok("claim", "tester")
        file = made.laptop.state / "known.json"
        until(
            lambda: (
                file.exists()
                and {b"reviewer", b"tester"}
                <= set(re.findall(rb"\w+", file.read_bytes()))
            ),
            "the laptop was told",
        )
        yield made


def rows(at: Place, *argv: str) -> list[dict[str, Any]]:
    """The rows of a listing."""
    out = at.ok(*argv, "--json")
    return [json.loads(line) for line in out.splitlines()]


def names(at: Place, *argv: str) -> list[str]:
    """The far names of a listing, with their devices."""
    found = (row for row in rows(at, *argv) if row["kind"] == "far")
    return [f"{row['name']}@{row['device']}" for row in found]


def test_names_of_another_device_are_asked_of_it(pair: Pair) -> None:
    """By ls DEVICE and ls --all, in both directions, with whois and completion."""
    assert names(pair.laptop, "ls", "mini") == ["reviewer@mini", "tester@mini"]
    assert all(row["asked"] for row in rows(pair.laptop, "ls", "mini"))
    assert names(pair.mini, "ls", "laptop") == []
    pair.laptop.ok("claim", "writer")
    assert names(pair.mini, "ls", "--all") == ["writer@laptop"]
    kinds = {row["kind"] for row in rows(pair.mini, "ls", "--all")}
    assert kinds == {"name", "far"}
    found = pair.laptop.json("whois", "reviewer@mini")
    assert (found["state"], found["asked"], found["link"]) == ("held", True, "up")
    done = pair.laptop.homi("ls", "minni")
    assert (done.returncode, "did you mean mini?" in done.stderr) == (68, True)
    assert pair.laptop.homi("ls", "self").stdout.startswith("owner")


def test_completion_knows_the_names_told_last(pair: Pair) -> None:
    """From known.json, whether a daemon runs or not."""

    def offered(word: str) -> list[str]:
        line = {"COMP_WORDS": f"homi send {word}", "COMP_CWORD": "2"}
        done = pair.laptop.homi(**{"_HOMI_COMPLETE": "bash_complete", **line})
        return [row.partition(",")[2] for row in done.stdout.split()]

    assert offered("rev") == ["reviewer@mini"]
    assert offered("reviewer@") == ["reviewer@mini"]
    assert "owner@mini" in offered("owner@")


def test_mirrored_names_are_listed_for_sessions_and_go_with_the_link(
    pair: Pair,
) -> None:
    """Claims only; one taken here goes by its device; nothing stays when unlinked."""
    laptop, mini = pair.laptop, pair.mini
    mini.ok("alias", "add", "shortcut", "reviewer")
    laptop.ok("link", "add", "mini", "--mirror")
    laptop.listed("reviewer")
    laptop.listed("tester")
    assert laptop.planted("shortcut") is None
    assert laptop.planted("owner") is None
    number = laptop.listed("reviewer")["pid"]
    laptop.ok("claim", "reviewer")
    assert laptop.listed("reviewer.mini")["pid"] == number
    (mirror,) = [
        row
        for row in rows(laptop, "ls")
        if row["kind"] == "mirror" and row["name"] == "reviewer.mini"
    ]
    assert mirror["note"] == "reviewer is claimed here"
    assert laptop.json("whois", "tester")["address"] == "tester@mini"
    session = laptop.session("tester")
    until(lambda: laptop.planted("tester.mini"), "it steps aside")
    session.close()
    laptop.listed("tester")
    mini.ok("claim", "fresh")
    laptop.listed("fresh")
    mini.ok("release", "fresh")
    until(lambda: laptop.planted("fresh") is None, "fresh is gone")
    laptop.ok("release", "reviewer")
    assert laptop.listed("reviewer")["pid"] == number
    assert laptop.stop() == 0
    assert laptop.planted("reviewer") is None
    laptop.start()
    assert laptop.listed("reviewer")["pid"] == number
    laptop.ok("link", "add", "mini", "--no-mirror")
    until(lambda: laptop.planted("reviewer") is None, "nothing is mirrored")


def test_a_device_that_is_away_is_listed_as_it_was_told_last(pair: Pair) -> None:
    """With its age; with no daemon, too."""
    pair.both_up()
    pair.laptop.ok("link", "pause", "mini")
    pair.is_(pair.laptop, "mini", "paused")
    done = pair.laptop.homi("ls", "mini")
    assert "homi: mini (paused): known as of 20" in done.stderr
    assert done.stdout.startswith("reviewer@mini\t-\theld")
    assert pair.laptop.stop() == 0
    done = pair.laptop.homi("ls", "mini")
    assert "no daemon runs: no other device is asked (homi start)" in done.stderr
    assert "reviewer@mini" in done.stdout
    assert pair.laptop.homi("ls", "other").returncode == 68
    pair.laptop.start()
    pair.laptop.ok("link", "resume", "mini")
    pair.both_up()
