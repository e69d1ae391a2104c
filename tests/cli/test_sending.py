"""`homi send` against a daemon that misbehaves, and without one."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from homi import ids
from homi.dial import Dial, Late
from homi.requests import PROTOCOL
from homi.store import pickup
from tests.cli.fakedaemon import SILENCE, FakeDaemon, hello, stored
from tests.cli.run import by_person, environment, homi
from tests.standin.place import until


def claim(folder: Path, *names: str) -> None:
    """A state root in which these names are claimed."""
    root = folder / "s"
    root.mkdir(mode=0o700, exist_ok=True)
    claims = {name: {"name": name, "number": 10**11} for name in names}
    text = json.dumps({"v": 1, "instance": "x", "claims": claims})
    (root / "names.json").write_text(text)


def spooled(folder: Path) -> list[Any]:
    """What waits in pickup/, decoded."""
    files = sorted((folder / "s" / "pickup").glob("*.json"))
    return [json.loads(file.read_text()) for file in files]


# ---- with a daemon ----


def test_result_names_the_rung_the_id_and_the_place(tmp_path: Path) -> None:
    """Whoever reads the line knows what was reached, and nothing more is claimed."""
    with FakeDaemon(tmp_path / "s") as daemon:
        done = homi(tmp_path, "send", "ada", "hello")
    msg = daemon.requests("send")[0]["msg"]
    assert done.returncode == 0
    assert done.stdout.decode() == f"stored {msg['id']} to ada\n"
    assert done.stderr == b""
    assert (msg["from"], msg["to"], msg["text"]) == ("alice", "ada", "hello")


def test_json_is_one_object(tmp_path: Path) -> None:
    """Programs get the same facts by name."""
    with FakeDaemon(tmp_path / "s"):
        done = homi(tmp_path, "send", "--json", "ada", "hello")
    report = json.loads(done.stdout)
    assert report.pop("id")
    assert report == {"rung": "stored", "to": "ada", "seq": 7, "duplicate": False}


@pytest.mark.parametrize(
    "argv", [["send", "ada"], ["send", "ada", "-"], ["send", "-f", "-", "ada"]]
)
def test_text_comes_from_standard_input_byte_for_byte(
    tmp_path: Path, argv: list[str]
) -> None:
    """No line end is added or taken away."""
    text = "é\r\n\u2028 two\n\n"
    with FakeDaemon(tmp_path / "s") as daemon:
        assert homi(tmp_path, *argv, given=text.encode()).returncode == 0
    assert daemon.requests("send")[0]["msg"]["text"] == text


def test_text_comes_from_a_file_or_66(tmp_path: Path) -> None:
    """A missing file is named; nothing is sent for it."""
    (tmp_path / "letter").write_text("from a file\n")
    with FakeDaemon(tmp_path / "s") as daemon:
        assert homi(tmp_path, "send", "ada", "-fletter").returncode == 0
        missing = homi(tmp_path, "send", "ada", "--file=nothing")
    assert [one["msg"]["text"] for one in daemon.requests("send")] == ["from a file\n"]
    assert missing.returncode == 66
    assert b"homi: cannot read nothing: No such file" in missing.stderr


@pytest.mark.parametrize("text", ["--drain", "-n", "--home", "-"])
def test_text_behind_two_dashes_is_no_option(tmp_path: Path, text: str) -> None:
    """A text may look like an option of ours; a lone dash stays standard input."""
    with FakeDaemon(tmp_path / "s") as daemon:
        done = homi(tmp_path, "send", "--", "ada", text, given=b"stdin")
    assert done.returncode == 0
    said = daemon.requests("send")[0]["msg"]["text"]
    assert said == ("stdin" if text == "-" else text)


def test_text_that_looks_like_an_option_is_refused_without_them(tmp_path: Path) -> None:
    """Nothing is guessed: 64, and nothing is sent."""
    with FakeDaemon(tmp_path / "s") as daemon:
        done = homi(tmp_path, "send", "ada", "--drain")
    assert done.returncode == 64
    assert b"no such option" in done.stderr
    assert daemon.requests("send") == []


@pytest.mark.parametrize("options", [["hi", "--from"], ["-f"]])
def test_an_option_without_its_value_is_refused(
    tmp_path: Path, options: list[str]
) -> None:
    """Nothing is sent with a value that was forgotten."""
    with FakeDaemon(tmp_path / "s") as daemon:
        done = homi(tmp_path, "send", "ada", *options)
    assert done.returncode == 64
    assert daemon.requests("send") == []


def test_undecodable_bytes_are_refused_with_their_offset(tmp_path: Path) -> None:
    """By operand and by stdin; the control: the same text in UTF-8 is sent."""
    with FakeDaemon(tmp_path / "s") as daemon:
        by_stdin = homi(tmp_path, "send", "ada", given=b"abc\xffdef")
        by_operand = homi(tmp_path, "send", "ada", b"abc\xffdef")
        fine = homi(tmp_path, "send", "ada", "abcÿdef")
    for done in (by_stdin, by_operand):
        assert done.returncode == 65
        assert done.stderr == b"homi: the text is not UTF-8: byte 0xff at offset 3\n"
    assert fine.returncode == 0
    assert len(daemon.requests("send")) == 1


@pytest.mark.parametrize(
    ("text", "size", "limit"),
    [
        (b"x" * 1_048_577, b"1048577 characters", b"1048576"),
        ("😀".encode() * 1_048_577, b"4194308 bytes", b"4194304"),
    ],
)
def test_text_over_the_limit_is_refused_with_both_numbers(
    tmp_path: Path, text: bytes, size: bytes, limit: bytes
) -> None:
    """65 before anything is sent; the control: a text at the limit goes."""
    with FakeDaemon(tmp_path / "s") as daemon:
        done = homi(tmp_path, "send", "ada", given=text)
        fine = homi(tmp_path, "send", "ada", given=b"x" * 1_048_576)
    assert done.returncode == 65
    assert size in done.stderr
    assert limit in done.stderr
    assert fine.returncode == 0
    assert len(daemon.requests("send")) == 1


def test_an_empty_text_is_no_message(tmp_path: Path) -> None:
    """65 for one that was given, 64 where none was."""
    with FakeDaemon(tmp_path / "s"):
        assert homi(tmp_path, "send", "ada", "").returncode == 65
        assert homi(tmp_path, "send", "ada").returncode == 64
        assert homi(tmp_path, "send", "ada", "x").returncode == 0


def test_connection_lost_before_the_answer_is_tried_again_with_the_same_id(
    tmp_path: Path,
) -> None:
    """The first try may have been stored: only the same id is harmless."""
    tries = []

    def first_is_cut(request: dict[str, Any]) -> dict[str, Any] | None:
        tries.append(request["msg"]["id"])
        return None if len(tries) == 1 else stored(request)

    with FakeDaemon(tmp_path / "s", send=first_is_cut):
        done = homi(tmp_path, "send", "ada", "hello")
    assert done.returncode == 0
    assert len(tries) == 2
    assert len(set(tries)) == 1


def test_connection_lost_twice_is_not_known_to_be_stored(tmp_path: Path) -> None:
    """74, and the words for it; never a guess in either direction."""
    with FakeDaemon(tmp_path / "s", send=lambda _request: None) as daemon:
        done = homi(tmp_path, "send", "ada", "hello")
    assert done.returncode == 74
    assert b"not known to be stored" in done.stderr
    assert daemon.requests("send")[0]["msg"]["id"].encode() in done.stderr
    assert done.stdout == b""


def test_an_answer_that_does_not_come_ends_the_call(tmp_path: Path) -> None:
    """Every wait is bounded; the control: the same call with an answer."""
    with (
        FakeDaemon(tmp_path / "s", send=lambda _request: SILENCE) as daemon,
        Dial(str(tmp_path / "s/homi.sock"), timeout=0.2) as dial,
    ):
        assert dial.welcome["caller"] == "session"
        with pytest.raises(Late):
            dial.ask(b'{"verb":"send","i":1,"msg":{}}\n')
    assert len(daemon.requests("send")) == 1


def test_another_protocol_is_named_with_both_versions(tmp_path: Path) -> None:
    """76, whichever side is the older one."""
    newer = hello(v=PROTOCOL + 1)
    with FakeDaemon(tmp_path / "s", hello=newer):
        done = homi(tmp_path, "send", "ada", "hello")
    assert done.returncode == 76
    assert f"protocol {PROTOCOL + 1}, this homi {PROTOCOL}".encode() in done.stderr


@pytest.mark.parametrize("verb", ["stop", "restart"])
def test_a_daemon_of_another_protocol_can_be_ended(tmp_path: Path, verb: str) -> None:
    """Its own verbs are not ours: what ends it is the signal, whatever it speaks."""
    with FakeDaemon(tmp_path / "s", hello=hello(v=PROTOCOL + 1)):
        (tmp_path / "s" / "homi.lock").write_text(f"{os.getpid()}\n")
        done = homi(tmp_path, verb)
    assert done.returncode == 76
    assert (
        f"kill {os.getpid()} ends it in order; then homi start" in done.stderr.decode()
    )


def test_errors_of_the_daemon_keep_their_status_hint_and_harmlessness(
    tmp_path: Path,
) -> None:
    """An error may quote what a stranger wrote: it is no command to a terminal."""
    failure = {
        "code": "no-such-name",
        "text": "no name \x1b]52;c;x\x07 here",
        "hint": "did you mean ada?",
    }
    with FakeDaemon(tmp_path / "s", send=lambda _request: {"error": failure}):
        done = homi(tmp_path, "send", "adda", "hello")
    assert done.returncode == 67
    lines = done.stderr.decode().splitlines()
    assert lines == [
        r"homi: no name \x1b]52;c;x\x07 here",
        "homi: hint: did you mean ada?",
    ]


def test_a_service_must_say_who_writes(tmp_path: Path) -> None:
    """Writes never guess an identity; with --from the same call goes."""
    with FakeDaemon(tmp_path / "s", hello=hello("service", None)) as daemon:
        done = homi(tmp_path, "send", "ada", "hello")
        named = homi(tmp_path, "send", "--from=bot", "ada", "hello")
    assert done.returncode == 64
    assert b"--from NAME" in done.stderr
    assert named.returncode == 0
    assert daemon.requests("send")[0]["msg"]["from"] == "bot"


def test_a_rung_that_was_not_reached_is_75_and_says_what_was(tmp_path: Path) -> None:
    """The result stays: it is stored; the control: a rung that is reached is 0."""
    late = {"error": {"code": "not-reached", "text": "not seen in time; it is held"}}
    with FakeDaemon(tmp_path / "s", **{"await": lambda _request: late}) as daemon:
        argv = ["send", "ada", "hello", "--wait-for", "seen", "--timeout", "1"]
        done = homi(tmp_path, *argv)
        reached = homi(tmp_path, *argv[:3], "--wait-for", "stored")
    asked = daemon.requests("await")[0]
    assert (asked["name"], asked["rung"]) == ("ada", "seen")
    assert 0 < asked["timeout"] <= 1
    assert done.returncode == 75
    assert done.stdout.startswith(b"stored ")
    assert b"not seen in time" in done.stderr
    assert reached.returncode == 0
    assert len(daemon.requests("await")) == 1


def test_a_key_gives_one_id_for_one_letter(tmp_path: Path) -> None:
    """From, to and key make the id, in whatever case the address was typed."""
    with FakeDaemon(tmp_path / "s") as daemon:
        for to, key in (("ada", "k"), ("Ada", "k"), ("ada", "other"), ("eve", "k")):
            assert homi(tmp_path, "send", "--key", key, to, "hi").returncode == 0
    minted = [one["msg"]["id"] for one in daemon.requests("send")]
    assert minted[0] == minted[1]
    assert len(set(minted)) == 3
    assert all(ids.is_id(one) for one in minted)


def test_a_duplicate_is_said_to_be_one(tmp_path: Path) -> None:
    """A sender that repeats itself learns that it need not."""

    def known(request: dict[str, Any]) -> dict[str, Any]:
        answer = stored(request)
        answer["ok"]["duplicate"] = True
        return answer

    with FakeDaemon(tmp_path / "s", send=known):
        done = homi(tmp_path, "send", "--key", "k", "ada", "hi")
    assert done.stdout.endswith(b" to ada (already)\n")


def test_a_reader_that_had_enough_is_no_failure(tmp_path: Path) -> None:
    """EPIPE on a result is quiet; the message went."""
    with FakeDaemon(tmp_path / "s") as daemon:
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = subprocess.run(
            [sys.executable, "-m", "homi", "send", "ada", "hello"],
            stdin=subprocess.DEVNULL,
            stdout=write_end,
            stderr=subprocess.PIPE,
            env=environment(tmp_path),
            timeout=60,
            check=False,
        )
        os.close(write_end)
    assert done.stderr == b""
    assert done.returncode == 0
    assert len(daemon.requests("send")) == 1


def test_a_closed_stdout_and_stderr_are_no_failure(tmp_path: Path) -> None:
    """Whoever wants no words gets none; the status still tells."""
    command = '"$0" -m homi send "$1" hello >&- 2>&-'
    with FakeDaemon(tmp_path / "s") as daemon:
        for to, status in (("ada", 0), ("--nonsense", 64)):
            done = subprocess.run(
                ["sh", "-c", command, sys.executable, to],
                env=environment(tmp_path),
                timeout=60,
                check=False,
            )
            assert done.returncode == status
    assert len(daemon.requests("send")) == 1


def test_ctrl_c_dies_of_the_signal_without_a_traceback(tmp_path: Path) -> None:
    """A shell shows 130 for that, and ends the loop it is in."""
    with FakeDaemon(tmp_path / "s", send=lambda _request: SILENCE) as daemon:
        process = subprocess.Popen(
            [sys.executable, "-m", "homi", "send", "ada", "hello"],
            stderr=subprocess.PIPE,
            env=environment(tmp_path),
        )
        until(lambda: daemon.requests("send"), "the message was sent")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (-signal.SIGINT, b"")


def test_ctrl_c_in_a_wait_for_a_rung_still_tells_what_is_stored(tmp_path: Path) -> None:
    """Who gives up waiting must not send it again for want of an id."""
    with FakeDaemon(tmp_path / "s", **{"await": lambda _: SILENCE}) as daemon:
        process = subprocess.Popen(
            [sys.executable, "-m", "homi", "send", "ada", "x", "--wait-for", "seen"],
            stdout=subprocess.PIPE,
            env=environment(tmp_path),
        )
        until(lambda: daemon.requests("await"), "it waits")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    sent = daemon.requests("send")[0]["msg"]["id"]
    assert (process.returncode, out) == (
        -signal.SIGINT,
        f"stored {sent} to ada\n".encode(),
    )


def test_a_result_that_cannot_be_written_does_not_ask_for_a_second_send(
    tmp_path: Path,
) -> None:
    """The message is stored, only the word of it is lost."""
    with FakeDaemon(tmp_path / "s") as daemon, open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "homi", "send", "ada", "hello"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(tmp_path),
            timeout=60,
            check=False,
        )
    sent = daemon.requests("send")[0]["msg"]["id"]
    assert done.returncode == 74
    assert done.stderr.decode().splitlines() == [
        "homi: cannot write the result: No space left on device",
        f"homi: hint: {sent} is stored; do not send it again",
    ]


def test_who_is_to_type_the_text_is_told_so(tmp_path: Path) -> None:
    """A command that waits in silence looks broken; a pipe gets no remark."""
    ours, theirs = pty.openpty()
    with FakeDaemon(tmp_path / "s") as daemon:
        process = subprocess.Popen(
            [sys.executable, "-m", "homi", "send", "ada"],
            stdin=theirs,
            stderr=subprocess.PIPE,
            env=environment(tmp_path),
        )
        os.close(theirs)
        os.write(ours, b"hello\n\x04")
        _, err = process.communicate(timeout=60)
        os.close(ours)
        assert homi(tmp_path, "send", "ada", given=b"hello").stderr == b""
    assert (process.returncode, err) == (0, b"homi: type the text; Ctrl-D ends it\n")
    assert [one["msg"]["text"] for one in daemon.requests("send")] == [
        "hello\n",
        "hello",
    ]


def test_a_closed_standard_input_is_no_fault_of_the_disk(tmp_path: Path) -> None:
    """66, as for any other file; nothing was sent."""
    with FakeDaemon(tmp_path / "s") as daemon:
        done = subprocess.run(
            ["sh", "-c", '"$0" -m homi send ada - <&-', sys.executable],
            stderr=subprocess.PIPE,
            env=environment(tmp_path),
            timeout=60,
            check=False,
        )
    assert not daemon.requests("send")
    assert done.returncode == 66
    assert done.stderr == b"homi: cannot read standard input: Bad file descriptor\n"


# ---- without a daemon ----


def test_without_a_daemon_the_message_is_spooled_and_named_so(tmp_path: Path) -> None:
    """Accepted means a synced file, and nothing better is claimed."""
    claim(tmp_path, "ada", "bot")
    done = homi(tmp_path, "send", "--from", "bot", "ada", "hello")
    (file,) = spooled(tmp_path)
    assert done.returncode == 0
    assert done.stdout.decode() == f"spooled {file['msg']['id']} to ada\n"
    assert b"do not send it again" in done.stderr
    assert file["msg"]["text"] == "hello"
    assert file["caller"] == "service"
    assert file["uid"] == os.getuid()
    path = next((tmp_path / "s/pickup").iterdir())
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.name == f"{file['msg']['id']}.json"
    assert not isinstance(pickup.scan(tmp_path / "s")[0][1], pickup.Unreadable)


def test_a_stale_socket_is_no_daemon(tmp_path: Path) -> None:
    """A killed daemon leaves its socket behind: refused is as absent."""
    claim(tmp_path, "ada", "bot")
    with FakeDaemon(tmp_path / "s"):
        pass
    assert (tmp_path / "s/homi.sock").exists()
    assert homi(tmp_path, "send", "--from", "bot", "ada", "hi").returncode == 0
    assert len(spooled(tmp_path)) == 1


def test_a_daemon_that_dies_before_the_answer_leaves_the_same_id_in_pickup(
    tmp_path: Path,
) -> None:
    """One id over both tries, so that the daemon's next start knows it."""
    claim(tmp_path, "ada", "alice")

    def dies(_request: dict[str, Any]) -> None:
        (tmp_path / "s/homi.sock").unlink()

    with FakeDaemon(tmp_path / "s", send=dies) as daemon:
        done = homi(tmp_path, "send", "--from", "alice", "ada", "hello")
    (file,) = spooled(tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(b"spooled ")
    assert file["msg"]["id"] == daemon.requests("send")[0]["msg"]["id"]


def test_spooled_is_not_the_rung_that_was_waited_for(tmp_path: Path) -> None:
    """75 for a better rung, 0 for spooled itself; the mail is kept either way."""
    claim(tmp_path, "ada", "bot")
    argv = ["send", "--from", "bot", "ada", "hello", "--wait-for"]
    assert homi(tmp_path, *argv, "stored").returncode == 75
    assert homi(tmp_path, *argv, "spooled").returncode == 0
    assert len(spooled(tmp_path)) == 2


@pytest.mark.parametrize(
    ("to", "status", "hint"),
    [
        ("adaa", 67, b"did you mean ada?"),
        ("ada@nowhere", 68, b"this device is"),
        ("../../etc/x", 64, b"a name is"),
        ("ada ", 64, b"a name is"),
        ("аda", 64, b"a name is"),
        ("", 64, b"a name is"),
        ("x" * 65, 64, b"a name is"),
    ],
)
def test_unknown_and_nasty_recipients_leave_nothing_behind(
    tmp_path: Path, to: str, status: int, hint: bytes
) -> None:
    """No phantom mailbox, no file outside; the control: ADA is ada."""
    claim(tmp_path, "ada", "bot")
    done = homi(tmp_path, "send", "--from", "bot", to, "hello")
    assert done.returncode == status
    assert hint in done.stderr
    assert not (tmp_path / "s/pickup").exists()
    assert homi(tmp_path, "send", "--from", "bot", "ADA", "hello").returncode == 0


def test_only_a_person_signs_as_owner(tmp_path: Path) -> None:
    """With a terminal and no agent about, owner is the default; else it is refused."""
    claim(tmp_path, "ada")
    by_service = homi(tmp_path, "send", "--from", "owner", "ada", "hi")
    by_agent = by_person(
        tmp_path, "send", "--from", "owner", "ada", "hi", CLAUDECODE="1"
    )
    assert by_service.returncode == by_agent.returncode == 77
    assert spooled(tmp_path) == []
    assert by_person(tmp_path, "send", "ada", "hi").returncode == 0
    assert spooled(tmp_path)[0]["msg"]["from"] == "owner"
    assert spooled(tmp_path)[0]["caller"] == "person"


def test_a_sender_nobody_claimed_is_refused(tmp_path: Path) -> None:
    """67; the control is every test above."""
    claim(tmp_path, "ada")
    done = homi(tmp_path, "send", "--from", "stranger", "ada", "hi")
    assert done.returncode == 67
    assert spooled(tmp_path) == []


def test_the_same_key_spools_once(tmp_path: Path) -> None:
    """The file has the id's name: a repeat finds itself there."""
    claim(tmp_path, "ada", "bot")
    argv = ["send", "--from", "bot", "--key", "k", "ada"]
    assert homi(tmp_path, *argv, "hello").returncode == 0
    assert homi(tmp_path, *argv, "hello").returncode == 0
    other = homi(tmp_path, *argv, "another text")
    assert other.returncode == 65
    assert len(spooled(tmp_path)) == 1


def test_a_damaged_names_file_refuses_and_says_so(tmp_path: Path) -> None:
    """Who is known cannot be told: 74, nothing is guessed or written."""
    claim(tmp_path, "ada", "bot")
    names = tmp_path / "s/names.json"
    names.write_text(names.read_text()[:10])
    done = homi(tmp_path, "send", "--from", "bot", "ada", "hi")
    assert done.returncode == 74
    assert b"names.json" in done.stderr
    assert spooled(tmp_path) == []


def test_a_root_that_others_can_reach_is_refused(tmp_path: Path) -> None:
    """78 with the fix."""
    claim(tmp_path, "ada", "bot")
    (tmp_path / "s").chmod(0o755)
    done = homi(tmp_path, "send", "--from", "bot", "ada", "hi")
    assert done.returncode == 78
    assert b"chmod 700" in done.stderr


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    """umask 000 of the caller is no reason to share mail."""
    before = os.umask(0)
    try:
        done = by_person(tmp_path, "send", "owner", "note to self")
    finally:
        os.umask(before)
    assert done.returncode == 0
    for path in [tmp_path / "s", *(tmp_path / "s").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0
