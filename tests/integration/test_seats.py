"""Seats on a real tmux server of their own, with a program that draws a screen."""

import contextlib
import os
import pty
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from homi.errors import BadMessage, CannotCreate, NoInput
from homi.peers import process
from homi.seats.manners import HeldBack, Why, against
from homi.seats.server import Opening, Server
from homi.seats.tmux import NoPane, program
from homi.seats.typist import Typist
from homi.seats.view import State
from tests.integration.seatkit import Stand, needs_tmux
from tests.standin.place import PATIENCE, until

pytestmark = needs_tmux


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="hm") as made:
        yield Path(made)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    """A server that is gone, with all that ran in it, when the module ends."""
    made = Server(str(folder / "run" / "seats.sock"))
    yield made
    pids = [seat.pane.pid for seat in made.seats()]
    for seat in made.seats():
        made.kill(seat)
    until(lambda: made.seats() == [], "no seat is left")
    until(lambda: not any(map(process.start_time, pids)), "no program is left")
    assert _servers(made) == []


def _servers(server: Server) -> list[int]:
    """The processes that have the server's socket in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes()
                if server.tmux.socket.encode() in line:
                    found.append(int(entry.name))
    return found


@pytest.fixture(scope="module")
def ada(server: Server, folder: Path) -> Stand:
    return Stand(server, folder, "ada")


@pytest.fixture
def typist(server: Server) -> Typist:
    """With more time than a client needs to draw what it was given."""
    return Typist(server, shows=PATIENCE)


def held(typist: Typist, stand: Stand, text: str = "not this") -> str:
    """Why a text is not sent; nothing of it was typed."""
    before = stand.got("paste")
    with pytest.raises(HeldBack) as caught:
        typist.send(stand.seat, text)
    assert stand.got("paste") == before
    return caught.value.reason


def test_a_folder_and_a_program_are_taken_by_their_letters(
    server: Server, folder: Path
) -> None:
    """Nothing in their names is a command, a variable or another folder."""
    odd = folder / "a#(touch made)b#S=c;"
    odd.mkdir()
    program = odd / "run=it"
    program.write_text('#!/bin/sh\nprintf %s "$PWD $1" > told\nexec sleep 60\n')
    program.chmod(0o755)
    opening = Opening(name="odd.one", argv=[str(program), "#{pid}"], cwd=str(odd))
    seat = server.spawn(opening, {"PATH": "/nowhere:/usr/bin:/bin"})
    told = odd / "told"
    until(lambda: told.exists() and told.read_text(), "it runs there")
    assert told.read_text() == f"{odd} #{{pid}}"
    assert sorted(path.name for path in odd.iterdir()) == ["run=it", "told"]
    like = Opening(name="odd_one", argv=["sleep", "60"], cwd=str(odd))
    other = server.spawn(like, {"PATH": "/usr/bin:/bin"})
    assert other.name != seat.name
    server.kill(seat)
    server.kill(other)


def test_a_line_is_pasted_seen_and_sent_once(ada: Stand, typist: Typist) -> None:
    before = ada.got("line")
    sent = typist.send(ada.seat, "hello; there;")
    assert sent.gone
    assert ada.got("line") == [*before, "hello; there;"]


def test_several_lines_are_one_paste_and_a_long_one_may_be_folded(
    ada: Stand, typist: Typist
) -> None:
    typist.send(ada.seat, "one\ntwo\tthree")
    long = "\n".join(f"row {n} " + "x" * 60 for n in range(300))
    assert len(long) > 17_000
    typist.send(ada.seat, long)
    assert ada.got("line")[-2:] == ["one\ntwo\tthree", long]


def test_what_a_terminal_would_act_on_is_not_pasted(ada: Stand, typist: Typist) -> None:
    """An escape and a ^C in a text are neither keys nor commands of a terminal."""
    typist.send(ada.seat, "a\x1b]52;c;AAAA\x07b\x03c\x9b2Jd\r\ne")
    assert ada.got("line")[-1] == "a]52;c;AAAAbc2Jd\ne"
    with pytest.raises(BadMessage):
        typist.send(ada.seat, "x\x1b[201~; rm -rf /")
    assert ada.got("paste")[-1].startswith("a]52")


def test_a_half_typed_line_is_left_alone(ada: Stand, typist: Typist) -> None:
    ada.keys("git push --fo")
    until(lambda: ada.server.look(ada.seat).view.draft, "the draft is drawn")
    lines = ada.got("line")
    assert held(typist, ada) == Why.DRAFT
    assert ada.server.look(ada.seat).view.entered == "git push --fo"
    assert ada.got("line") == lines
    ada.keys(*["BSpace"] * 13)
    ada.empty()
    assert typist.send(ada.seat, "now").gone


def test_a_pane_in_copy_mode_gets_nothing_until_it_is_left(
    ada: Stand, typist: Typist
) -> None:
    """tmux would take Enter for itself there, with status 0."""
    ada.server.tmux.ask(("copy-mode", "-t", ada.seat.pane.id))
    assert held(typist, ada) == Why.COPY_MODE
    with pytest.raises(HeldBack):
        typist.interrupt(ada.seat)
    assert not ada.server.guarded(ada.seat, ("send-keys", "-t", ada.seat.pane.id, "x"))
    ada.keys("-X", "cancel")
    assert typist.send(ada.seat, "after").gone


def test_a_busy_seat_is_interrupted_by_escape_and_the_effect_is_told(
    ada: Stand, typist: Typist
) -> None:
    assert typist.send(ada.seat, "work").state == State.BUSY
    assert held(typist, ada) == Why.BUSY
    before, after = typist.interrupt(ada.seat)
    assert (before.state, after.state) == (State.BUSY, State.IDLE)
    assert ada.got("key")[-1] == "escape"


def test_at_a_dialog_nothing_is_typed_and_an_answer_is_chosen_by_sight(
    ada: Stand, typist: Typist
) -> None:
    assert typist.send(ada.seat, "ask").state == State.APPROVAL
    keys = ada.got("key")
    assert held(typist, ada) == Why.APPROVAL
    with pytest.raises(HeldBack):
        typist.interrupt(ada.seat)
    assert ada.got("key") == keys
    menu = ada.server.look(ada.seat).view.menu
    assert menu is not None
    assert menu.about == ["Bash command", "git push", "Do you want to proceed?"]
    assert typist.respond(ada.seat, 2, menu) is State.IDLE
    assert ada.got("chose")[-1] == "No"


def test_another_dialog_than_the_one_that_was_seen_is_not_answered(
    ada: Stand, typist: Typist
) -> None:
    before = ada.got("chose")
    typist.send(ada.seat, "ask")
    menu = ada.server.look(ada.seat).view.menu
    assert menu is not None
    other = type(menu)(
        kind=menu.kind, options=menu.options, highlighted=0, about=["rm -rf /"]
    )
    with pytest.raises(HeldBack):
        typist.respond(ada.seat, 0, other)
    assert ada.got("chose") == before
    typist.respond(ada.seat, 0, menu)
    assert ada.got("chose") == [*before, "Yes"]


def test_what_does_not_stand_as_it_was_pasted_is_not_confirmed(
    server: Server, folder: Path, typist: Typist
) -> None:
    bob = Stand(server, folder, "bob")
    typist.send(bob.seat, "mangle")
    with pytest.raises(HeldBack) as caught:
        Typist(server, shows=0.3).send(bob.seat, "push it")
    assert caught.value.reason == Why.UNVERIFIED
    assert bob.got("line") == ["mangle"]
    server.kill(bob.seat)


def test_while_a_person_types_the_seat_is_theirs(ada: Stand, typist: Typist) -> None:
    """What a person at the terminal pressed last counts; this one goes on and on."""
    ours, theirs = pty.openpty()
    attach = [program(), "-S", ada.server.tmux.socket, "attach", "-t", "=ada"]
    env = {**os.environ, "TERM": "xterm"}
    env.pop("TMUX", None)
    person = subprocess.Popen(attach, stdin=theirs, stdout=theirs, env=env)
    os.close(theirs)
    # What tmux draws there must go somewhere.
    reader = threading.Thread(target=_drain, args=(ours,), daemon=True)
    reader.start()
    tired = threading.Event()
    typing = threading.Thread(target=_type, args=(ours, tired), daemon=True)
    try:
        until(lambda: ada.server.look(ada.seat).typed > 0, "a person is attached")
        typing.start()
        until(lambda: _reason(ada) is Why.TYPING, "it is seen that they type")
        assert held(typist, ada) == Why.TYPING
    finally:
        tired.set()
        typing.join(PATIENCE)
        ada.server.tmux.ask(("detach-client", "-s", "=ada"))
        person.wait(PATIENCE)
        os.close(ours)
    until(lambda: _reason(ada) is None, "the seat is free")
    assert typist.send(ada.seat, "gone again").gone


def _reason(stand: Stand) -> Why | None:
    """Why the seat must not be typed into now."""
    return against(stand.server.look(stand.seat), time.time())


def _type(fd: int, tired: threading.Event) -> None:
    """Press a key and take it back, many times a second."""
    while not tired.wait(0.05):
        os.write(fd, b"x\x7f")


def _drain(fd: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(fd, 65536):
            pass


def test_a_reused_pane_id_is_another_seat(server: Server, folder: Path) -> None:
    """The same id with another program is not typed into, and not killed."""
    carol = Stand(server, folder, "carol")
    pane = carol.seat.pane
    wrong = type(pane)(id=pane.id, pid=pane.pid + 1, start=pane.start)
    other = type(carol.seat)(name="carol", pane=wrong, socket=carol.seat.socket)
    with pytest.raises(NoPane):
        server.look(other)
    with pytest.raises(NoPane):
        server.kill(other)
    assert not server.guarded(other, ("send-keys", "-t", pane.id, "x"))
    with pytest.raises(NoInput):
        server.find(other.ref)
    assert server.find(carol.seat.ref).pane.pid == pane.pid
    server.kill(carol.seat)
    with pytest.raises(NoPane):
        server.look(carol.seat)


def test_a_program_that_ended_stays_to_be_seen_as_dead(
    server: Server, folder: Path, typist: Typist
) -> None:
    dora = Stand(server, folder, "dora")
    typist.send(dora.seat, "bye")
    dora.becomes(State.DEAD)
    # The pane is dead when its end is read, its status there when it was waited for.
    until(lambda: server.find("dora").ended, "the status is there")
    seat = server.find("dora")
    assert (seat.ref, seat.ended) == (dora.seat.ref, "3")
    assert held(typist, dora) == Why.DEAD
    server.kill(seat)


def test_a_name_is_matched_whole_and_is_taken_once(
    ada: Stand, server: Server, folder: Path
) -> None:
    """tmux takes the start of a name for the name."""
    with pytest.raises(NoInput) as caught:
        server.find("ad")
    assert "ada" in caught.value.hint
    with pytest.raises(CannotCreate):
        server.spawn(Opening(name="ada", argv=["true"], cwd=str(folder)), {})


def test_a_leaked_tmux_variable_leads_to_no_other_server(
    ada: Stand, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUX", "/tmp/another,1,0")
    monkeypatch.setenv("TMUX_PANE", "%99")
    assert [seat.name for seat in server.seats()] == ["ada"]


def test_a_shell_is_given_one_line_and_never_several(
    server: Server, folder: Path, typist: Typist
) -> None:
    opening = Opening(
        name="sh", argv=["bash", "--norc"], cwd=str(folder), client="shell"
    )
    env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PS1": "$ "}
    seat = server.spawn(opening, env)
    until(lambda: server.look(seat).view.state is State.IDLE, "the shell has a prompt")
    with pytest.raises(BadMessage):
        typist.send(seat, "touch one\ntouch two")
    typist.send(seat, "touch three;")
    until((folder / "three").exists, "the line was run")
    assert not (folder / "one").exists()
    server.kill(seat)
