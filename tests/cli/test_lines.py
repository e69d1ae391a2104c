"""`homi send --lines` against a daemon that misbehaves, and readers that go away."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from homi.cli.lines import WINDOW
from tests.cli.fakedaemon import SILENCE, FakeDaemon, hello, stored
from tests.cli.run import environment, homi
from tests.cli.test_sending import claim, spooled
from tests.standin.place import until

LINES = ["send", "--lines", "ada"]


def texts(daemon: FakeDaemon) -> list[str]:
    """The text of every request to send, as they came."""
    return [request["msg"]["text"] for request in daemon.requests("send")]


def start(folder: Path, *argv: str) -> "subprocess.Popen[bytes]":
    """The command, reading what is written to it."""
    return subprocess.Popen(
        [sys.executable, "-m", "homi", *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(folder),
    )


def test_reports_come_in_the_order_of_lines_not_of_answers(tmp_path: Path) -> None:
    """The daemon answers in the order things are done; a reader counts lines."""
    waiting: list[dict[str, Any]] = []

    def swapped(request: dict[str, Any]) -> dict[str, Any]:
        # The first of two is answered as the second, and the other way round.
        waiting.append(request)
        other = request["i"] + 1 if request["i"] % 2 else request["i"] - 1
        answer = stored(request)
        answer["ok"]["seq"] = other
        return {"i": other, **answer}

    with FakeDaemon(tmp_path / "s", send=swapped) as daemon:
        given = b"".join(b"%d\n" % n for n in range(1, 201))
        done = homi(tmp_path, *LINES, "--json", given=given)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    sent = {one["msg"]["text"]: one["msg"]["id"] for one in daemon.requests("send")}
    assert (done.returncode, done.stderr) == (0, b"")
    assert [one["line"] for one in reports] == list(range(1, 201))
    assert all(one["seq"] == one["line"] for one in reports)
    assert [one["id"] for one in reports] == [sent[str(n)] for n in range(1, 201)]


def test_a_lost_connection_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """What was under way is sent again under the same ids."""
    cut = []

    def once(request: dict[str, Any]) -> dict[str, Any] | None:
        if request["msg"]["text"] == "150" and not cut:
            cut.append(request)
            return None
        return stored(request)

    with FakeDaemon(tmp_path / "s", send=once) as daemon:
        given = b"".join(b"%d\n" % n for n in range(1, 301))
        done = homi(tmp_path, *LINES, given=given)
    ids: dict[str, set[str]] = {}
    for one in daemon.requests("send"):
        ids.setdefault(one["msg"]["text"], set()).add(one["msg"]["id"])
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) == 300
    assert list(ids) == [str(n) for n in range(1, 301)]
    assert all(len(each) == 1 for each in ids.values())
    assert texts(daemon).count("150") == 2


def test_a_daemon_that_never_answers_for_good_is_74_with_each_id(
    tmp_path: Path,
) -> None:
    """What is known is told: what was stored, and of which it is not known."""

    def two_then_none(request: dict[str, Any]) -> dict[str, Any] | None:
        return stored(request) if request["msg"]["text"] < "3" else None

    with FakeDaemon(tmp_path / "s", send=two_then_none) as daemon:
        done = homi(tmp_path, *LINES, given=b"1\n2\n3\n4\n")
    sent = {one["msg"]["text"]: one["msg"]["id"] for one in daemon.requests("send")}
    assert done.returncode == 74
    assert len(done.stdout.splitlines()) == 2
    third, fourth, *rest = done.stderr.decode().splitlines()
    assert third == f"homi: line 3: not known to be stored: {sent['3']}"
    assert fourth.startswith("homi: line 4: not known to be stored: ")
    assert rest == [
        "homi: the daemon closed the connection before it answered: 2 stored",
        "homi: hint: homi trace ID tells; with --key the whole can be sent again",
    ]


def test_failed_lines_are_named_and_the_rest_is_sent(tmp_path: Path) -> None:
    """The status is the first one's, and a hint is told once."""
    failures = {
        "2": {"code": "not-reached", "text": "full", "hint": "wait"},
        "3": {"code": "bad-message", "text": "bad", "hint": "wait"},
    }

    def some(request: dict[str, Any]) -> dict[str, Any]:
        failure = failures.get(request["msg"]["text"])
        return stored(request) if failure is None else {"error": failure}

    with FakeDaemon(tmp_path / "s", send=some):
        done = homi(tmp_path, *LINES, given=b"1\n2\n3\n4\n")
        fine = homi(tmp_path, *LINES, given=b"1\n4\n")
    assert done.returncode == 75
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr.decode().splitlines() == [
        "homi: line 2: full",
        "homi: hint: wait",
        "homi: line 3: bad",
        "homi: 2 of 4 lines were not sent",
    ]
    assert (fine.returncode, fine.stderr) == (0, b"")


def test_a_line_is_sent_when_it_comes(tmp_path: Path) -> None:
    """The input may be a program that writes for days."""
    with FakeDaemon(tmp_path / "s") as daemon:
        process = start(tmp_path, *LINES)
        assert process.stdin is not None
        assert process.stdout is not None
        for number in (1, 2, 3):
            process.stdin.write(b"%d\n" % number)
            process.stdin.flush()
            assert process.stdout.readline().startswith(b"stored ")
        assert process.communicate(timeout=60) == (b"", b"")
    assert process.returncode == 0
    assert texts(daemon) == ["1", "2", "3"]


def test_a_reader_that_had_enough_stops_no_mail(tmp_path: Path) -> None:
    """`| head -1` is about the reports, not about the messages."""
    with FakeDaemon(tmp_path / "s") as daemon:
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = subprocess.run(
            [sys.executable, "-m", "homi", *LINES],
            input=b"x\n" * 500,
            stdout=write_end,
            stderr=subprocess.PIPE,
            env=environment(tmp_path),
            timeout=60,
            check=False,
        )
        os.close(write_end)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(texts(daemon)) == 500


def test_reports_that_cannot_be_written_ask_for_no_second_send(tmp_path: Path) -> None:
    """All is sent, and 74 says what is lost: the word of it."""
    with FakeDaemon(tmp_path / "s") as daemon, open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "homi", *LINES],
            input=b"x\n" * 200,
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(tmp_path),
            timeout=60,
            check=False,
        )
    assert done.returncode == 74
    assert b"cannot write the results: No space left on device" in done.stderr
    assert b"do not send them again" in done.stderr
    assert len(texts(daemon)) == 200


def test_ctrl_c_says_what_is_stored_and_what_is_not_known(tmp_path: Path) -> None:
    """Who stops it must know from where to go on."""

    def two(request: dict[str, Any]) -> dict[str, Any]:
        return stored(request) if request["msg"]["text"] < "3" else SILENCE

    with FakeDaemon(tmp_path / "s", send=two) as daemon:
        process = start(tmp_path, *LINES)
        assert process.stdin is not None
        process.stdin.write(b"1\n2\n3\n4\n")
        process.stdin.flush()
        until(lambda: len(texts(daemon)) == 3, "three lines came")
        assert process.stdout is not None
        assert [process.stdout.readline()[:7] for _ in "12"] == [b"stored "] * 2
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    said = "homi: interrupted: 2 stored; not known of lines 3 to 4\n"
    assert err.decode() == said


def test_a_service_must_say_who_writes_the_lines(tmp_path: Path) -> None:
    """64 before anything is read; with --from they go."""
    with FakeDaemon(tmp_path / "s", hello=hello("service", None)) as daemon:
        done = homi(tmp_path, *LINES, given=b"1\n")
        named = homi(tmp_path, *LINES, "--from", "bot", given=b"1\n")
    assert done.returncode == 64
    assert b"--from NAME" in done.stderr
    assert named.returncode == 0
    assert daemon.requests("send")[0]["msg"]["from"] == "bot"


def test_lines_of_a_daemon_that_dies_wait_in_pickup_under_their_ids(
    tmp_path: Path,
) -> None:
    """Those it answered for are not among them."""
    claim(tmp_path, "ada", "alice")

    def dies(request: dict[str, Any]) -> dict[str, Any] | None:
        if request["msg"]["text"] == "3":
            (tmp_path / "s/homi.sock").unlink()
            return None
        return stored(request)

    with FakeDaemon(tmp_path / "s", send=dies) as daemon:
        argv = [*LINES, "--from", "alice", "--key", "k"]
        done = homi(tmp_path, *argv, given=b"1\n2\n3\n4\n5\n")
    rungs = [line.split()[0] for line in done.stdout.splitlines()]
    sent = {one["msg"]["text"]: one["msg"]["id"] for one in daemon.requests("send")}
    waiting = {one["msg"]["text"]: one["msg"]["id"] for one in spooled(tmp_path)}
    assert done.returncode == 0
    assert rungs == [b"stored"] * 2 + [b"spooled"] * 3
    assert sorted(waiting) == ["3", "4", "5"]
    assert waiting["3"] == sent["3"]
    assert b"do not send them again" in done.stderr


def test_a_closed_standard_input_is_named(tmp_path: Path) -> None:
    """66, as for any other file."""
    command = '"$0" -m homi send --lines ada <&-'
    with FakeDaemon(tmp_path / "s"):
        done = subprocess.run(
            ["sh", "-c", command, sys.executable],
            stderr=subprocess.PIPE,
            env=environment(tmp_path),
            timeout=60,
            check=False,
        )
    assert done.returncode == 66
    assert done.stderr == b"homi: cannot read standard input: Bad file descriptor\n"


def test_a_long_run_of_lines_that_are_no_text_ends(tmp_path: Path) -> None:
    """More than a window of them stand in nobody's way."""
    with FakeDaemon(tmp_path / "s") as daemon:
        given = b"\xff\n" * (2 * WINDOW + 1) + b"fine\n"
        done = homi(tmp_path, *LINES, given=given)
    assert done.returncode == 65
    assert texts(daemon) == ["fine"]
    assert done.stderr.count(b"not UTF-8") == 2 * WINDOW + 1
