"""The fast path copies what it may not import: these tests keep the copies true."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homi import config, dial, ids, paths, requests
from homi.cli import fast, hooked, submission
from homi.cli.submission import Plan, compose
from homi.envelope import LADDER, Kind, MessageId, Msg, encode
from homi.strict import parse_msg
from tests.cli.fakedaemon import FakeDaemon
from tests.cli.run import REPOSITORY, environment

HEAVY = (
    "aiofiles argparse asyncio click collections dataclasses enum hashlib inspect json"
    " logging msgspec pathlib psutil re rich selectors socket subprocess typing uuid"
    " uvloop homi.connection homi.config homi.envelope homi.paths homi.requests"
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def _plan(text: str, to: str = "ada", reply_to: str = "") -> Plan:
    plan = Plan("", to, text)
    plan.body, plan.reply_to = text, reply_to
    return plan


@given(TEXT, st.sampled_from(["ada", "ada@mini", "x" * 64]), st.booleans())
def test_bytes_equal_those_of_the_daemons_own_encoder(
    text: str, to: str, reply: bool
) -> None:
    """Only canonical bytes are read without a second, strict walk."""
    plan = _plan(text, to, ids.new() if reply else "")
    msg = Msg(
        id=MessageId(plan.id),
        from_="gds-agent",
        to=to,
        text=text,
        kind=Kind.REPLY if reply else Kind.MAIL,
        reply_to=MessageId(plan.reply_to) if reply else None,
    )
    raw = compose(plan, "gds-agent").encode()
    assert raw == encode(msg)
    assert parse_msg(raw) == msg


def test_no_alarm_outlives_a_hook(tmp_path: Path) -> None:
    """At the end of the process nothing catches it any more: it would kill."""
    code = (
        "import signal, sys; from homi.cli import hooked;"
        "hooked.run(sys.argv[1], 'prompt');"
        "print(*signal.getitimer(signal.ITIMER_REAL))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, "0.0 0.0\n"), ended.stderr


def test_every_character_is_written_as_the_daemon_writes_it() -> None:
    """Control characters, separators and astral characters have one form."""
    every = "".join(map(chr, [*range(0x800), 0x2028, 0x2029, 0xFEFF, 0xFFFF, 0x10FFFF]))
    msg = Msg(id=MessageId("i"), from_="a", to="ada", text=every)
    plan = _plan(every)
    plan.id = "i"
    assert compose(plan, "a").encode() == encode(msg)


def test_what_is_sent_decodes_by_the_one_schema(tmp_path: Path) -> None:
    """hello, send and await of the fast path are requests like any other."""
    union = msgspec.json.Decoder(requests.Hello | requests.Send | requests.Await)
    reached = {"ok": {"id": "x", "rung": "seen"}}
    with FakeDaemon(tmp_path / "s", **{"await": lambda _request: reached}) as daemon:
        plan = fast.parse(
            ["--home", str(tmp_path / "s"), "send", "ada", "hi", "--wait-for", "seen"]
        )
        assert plan is not None
        assert fast.post(plan) == 0
    decoded = [union.decode(line) for line in daemon.lines]
    kinds = [requests.Hello, requests.Send, requests.Hello, requests.Await]
    assert [type(one) for one in decoded] == kinds


def test_a_question_and_an_answer_decode_by_the_one_schema(tmp_path: Path) -> None:
    """And their messages are those of the one encoder: of each option that says
    something in them."""
    union = msgspec.json.Decoder(
        requests.Hello | requests.Ask | requests.Ack | requests.About | requests.Send
    )
    about = {"id": ids.new(), "name": "alice", "to": "ada@mini"}
    answer = {"id": about["id"], "answer": ids.new(), "name": "alice", "text": "yes"}
    root = tmp_path / "s"
    verbs = {"ask": answer, "about": about, "ack": {}}
    answers = {verb: lambda _, ok=ok: {"ok": ok} for verb, ok in verbs.items()}
    with FakeDaemon(root, **answers) as daemon:
        for argv in (
            ["ask", "ada@mini", "well?", "--timeout", "5"],
            ["ask", "--needs", "human", "owner", "well?"],
            ["ask", "--deadline", "60", "--default", "no", "ada", "well?"],
            ["reply", about["id"][-12:], "yes"],
        ):
            plan = fast.parse(["--home", str(root), *argv])
            assert plan is not None
            assert fast.post(plan) == 0
    decoded = [union.decode(line) for line in daemon.lines]
    of = [one for one in decoded if not isinstance(one, requests.Hello)]
    asked = [requests.Ask, requests.Ack]
    assert [type(one) for one in of] == [*asked * 3, requests.About, requests.Send]
    heads = []
    for one in of:
        if isinstance(one, requests.Ask | requests.Send):
            heads.append(parse_msg(bytes(one.msg)))
            assert encode(heads[-1]) == bytes(one.msg)
    assert [head.kind for head in heads] == [Kind.ASK] * 3 + [Kind.REPLY]
    plain, person, default, reply = heads
    assert (plain.to, plain.text, plain.needs) == ("ada@mini", "well?", None)
    assert person.needs == "human"
    assert (default.ttl_s, default.default) == (60, "no")
    assert (reply.to, reply.reply_to) == (about["to"], about["id"])


def test_send_imports_nothing_heavy(tmp_path: Path) -> None:
    """Each of these costs as much as the whole send; the control: a list has some."""
    probe = (
        "import sys; before = set(sys.modules)\n"
        "from homi.cli.fast import guarded\n"
        "status = guarded(sys.argv[1:])\n"
        "print(status, *sorted(set(sys.modules) - before), file=sys.stderr)"
    )

    def imported(*argv: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-c", probe, *argv],
            capture_output=True,
            env=environment(tmp_path),
            check=True,
            timeout=60,
        )
        status, *modules = done.stderr.decode().splitlines()[-1].split()
        assert status == "0", done.stderr
        return set(modules)

    with FakeDaemon(tmp_path / "s"):
        sent = imported("send", "--from", "alice", "ada", "hello", "--json")
        listed = imported("queue")
        asked = imported("hook", "prompt")
    assert not asked & set(HEAVY.split())
    assert not sent & set(HEAVY.split())
    assert {"click", "msgspec"} <= listed


def test_the_copied_constants_are_those_of_the_modules_they_stand_for() -> None:
    """Copied since the modules are too heavy to import."""
    assert dial.PROTOCOL == requests.PROTOCOL
    assert dial.SUN_PATH_MAX == paths.SUN_PATH_MAX
    assert submission.MAX_TEXT_CHARS == config.MAX_TEXT_CHARS
    assert submission.MAX_TEXT_BYTES == config.MAX_TEXT_BYTES
    assert submission.RUNGS == LADDER
    assert set(fast.EVENTS) == set(hooked.EVENTS)
    event = requests.Hook.__annotations__["event"]
    assert all(f'"{one}"' in str(event) or one in event.__args__ for one in fast.EVENTS)


@pytest.mark.parametrize(
    "env",
    [
        {"HOMI_HOME": "/a/b"},
        {"HOMI_HOME": "~/x/../y"},
        {"XDG_STATE_HOME": "/var/x"},
        {"XDG_STATE_HOME": ""},
        {},
    ],
)
@pytest.mark.parametrize("home", ["", "/given", "~/given"])
def test_both_find_the_same_root_and_socket(
    env: dict[str, str], home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two roots for one command line would be two mailboxes."""
    for variable in ("HOMI_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    root = paths.state_root(home)
    assert submission.socket_path(home) == str(paths.control_socket(root))


def test_a_socket_path_too_long_is_left_to_the_slow_path(tmp_path: Path) -> None:
    """Only homi.paths knows where such a root's socket is."""
    deep = str(tmp_path / ("é" * 60))
    assert submission.socket_path(deep) is None
    assert submission.socket_path(str(tmp_path)) is not None or len(str(tmp_path)) > 97


def test_minted_ids_have_the_one_shape_and_grow() -> None:
    """Version 7 and the RFC's variant; later ones sort later by their time."""
    minted = [submission.mint() for _ in range(200)]
    assert len(set(minted)) == 200
    assert all(
        ids.is_id(one) and one[14] == "7" and one[19] in "89ab" for one in minted
    )
    times = [one[:13] for one in minted]
    assert times == sorted(times)


def test_json_of_a_result_is_json_whatever_stands_in_it() -> None:
    """The report is written without a JSON library."""
    for value in ('"\\\n\x00é\u2028', True, False, 7):
        assert json.loads(submission._json(value)) == value


def test_answers_are_read_as_json_reads_them() -> None:
    """The bare scanner has no defaults of its own."""
    line = rb'{"i":1,"ok":{"a":[1,2.5,-3e2,null,true],"s":"\u00e9\ud83d\ude00"}}'
    assert dial.decode(line) == json.loads(line)


def test_options_of_the_table_are_those_click_knows(tmp_path: Path) -> None:
    """One spelling: help of send and wait shows each option of the table."""
    for verb in ("send", "wait"):
        done = subprocess.run(
            [sys.executable, "-m", "homi", verb, "--help"],
            capture_output=True,
            text=True,
            env=environment(tmp_path),
            cwd=REPOSITORY,
            check=True,
            timeout=60,
        )
        flags = [flag for of, flags, *_ in fast.OPTIONS if of == verb for flag in flags]
        assert flags
        assert all(flag in done.stdout for flag in flags)
