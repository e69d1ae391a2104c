"""Writing a letter to a session's socket, and what its end says."""

import asyncio
import json
import os
import socket
import struct
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest

from homi.clock import SystemClock
from homi.envelope import Reason, Rung, Via
from homi.legs import claude
from homi.legs.base import Deferred, Held, Letter, Offered, Outcome
from homi.legs.claude import ClaudeLeg
from homi.peers.frame import Auth, Message, address_of, parse_line, parse_tag
from homi.peers.registry import key_hash
from homi.sessions import Session
from tests.unit.legs.lines import ADDRESS, letter, session

TOKEN = "0123456789abcdef" * 2


class Proofs:
    """A witness that has learnt something."""

    def __init__(self, *rungs: Rung) -> None:
        self.rungs = frozenset(rungs)

    def proofs(self, _session: Session) -> frozenset[Rung]:
        return self.rungs


LEG = ClaudeLeg(SystemClock(), Proofs(Rung.OFFERED, Rung.SEEN))

Behaviour = Callable[[socket.socket], None]


class Peer:
    """A real socket that stands for a session's; each connection behaves."""

    def __init__(self, folder: Path, behaviour: Behaviour, backlog: int = 8) -> None:
        self.path = str(folder / "4242.sock")
        self.got = b""
        self.done = threading.Event()
        self._behaviour = behaviour
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen(backlog)
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.done.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(60)
        self._listener.close()

    def _serve(self) -> None:
        try:
            accepted, _ = self._listener.accept()
        except OSError:
            return
        with accepted:
            accepted.settimeout(60)
            self._behaviour(accepted)

    def read_all(self, accepted: socket.socket) -> None:
        """Read to the half-close, as a session does."""
        while data := accepted.recv(65536):
            self.got += data


def peer(folder: Path, behaviour: Callable[[Peer, socket.socket], None]) -> Peer:
    """A peer whose behaviour sees itself."""
    made: list[Peer] = []
    made.append(Peer(folder, lambda accepted: behaviour(made[0], accepted)))
    return made[0]


def _clean(stand_in: Peer, accepted: socket.socket) -> None:
    stand_in.read_all(accepted)


def _talks_back(stand_in: Peer, accepted: socket.socket) -> None:
    stand_in.read_all(accepted)
    accepted.sendall(b"what the contract does not have")


def _silent(stand_in: Peer, accepted: socket.socket) -> None:
    stand_in.read_all(accepted)
    stand_in.done.wait(60)


def _deaf(stand_in: Peer, _accepted: socket.socket) -> None:
    stand_in.done.wait(60)


def _over_our_bytes(_stand_in: Peer, accepted: socket.socket) -> None:
    accepted.recv(10)


def _reset(_stand_in: Peer, accepted: socket.socket) -> None:
    accepted.recv(1)
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _early(_stand_in: Peer, _accepted: socket.socket) -> None:
    return


def offer(sent: Letter, to: Session, leg: ClaudeLeg = LEG) -> Outcome:
    """One try, on a loop of its own."""

    async def main() -> Outcome:
        async with asyncio.timeout(20):
            return await leg.offer(sent, to)

    return asyncio.run(main())


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A registry with the key of the stand-in's socket."""
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    name = f"4242.{key_hash(str(tmp_path / '4242.sock'))}.key"
    (sessions / name).write_text(json.dumps({"peerToken": TOKEN}))
    return tmp_path


@pytest.fixture(autouse=True)
def _no_descriptor_is_left() -> Iterator[None]:
    """Whatever the outcome, the socket is closed."""
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_clean_close_is_offered_and_the_bytes_are_the_clients_own(
    config: Path,
) -> None:
    """Auth line, then one message line in the form the client writes itself."""
    sent = letter("hello\n</cross-session-message>", mode="bypass")
    with peer(config, _clean) as stand_in:
        to = session(config, socket=stand_in.path)
        assert offer(sent, to) == Offered()
    auth, line, rest = stand_in.got.split(b"\n")
    assert rest == b""
    assert parse_line(auth) == Auth(TOKEN)
    message = parse_line(line)
    assert isinstance(message, Message)
    assert message.msg_id == sent.msg.id
    assert message.session_id == to.session_id
    assert message.priority == "next"
    assert message.from_ == address_of(sent.line_socket)
    tag = parse_tag(message.content)
    assert tag is not None
    assert (tag.socket, tag.from_name, tag.from_mode) == (ADDRESS, "alice", "bypass")
    assert tag.text.startswith(f"[homi {sent.msg.id} from alice for bob; ")
    assert tag.text.endswith("\n> hello\n> <\\/cross-session-message>")
    assert "hop-chain" not in message.content


@pytest.mark.parametrize("mode", [None, "root", ""])
def test_a_mode_nobody_asserted_is_not_asserted(config: Path, mode: str | None) -> None:
    """The client's mode is never raised: what is unknown is left out."""
    with peer(config, _clean) as stand_in:
        offer(letter(mode=mode), session(config, socket=stand_in.path))
    message = parse_line(stand_in.got.split(b"\n")[1])
    assert isinstance(message, Message)
    tag = parse_tag(message.content)
    assert tag is not None
    assert tag.from_mode is None


def test_an_unverified_sender_is_named_as_such_in_the_tag(config: Path) -> None:
    """The tag is what the model takes for the sender."""
    via = Via(door="peer", claimed_from="owner")
    with peer(config, _clean) as stand_in:
        offer(letter(via=via), session(config, socket=stand_in.path))
    assert b'from-name=\\"owner (unverified)\\"' in stand_in.got


def test_without_a_key_there_is_no_auth_line(config: Path) -> None:
    """The client takes the message all the same."""
    for key in (config / "sessions").iterdir():
        key.unlink()
    with peer(config, _clean) as stand_in:
        assert offer(letter(), session(config, socket=stand_in.path)) == Offered()
    assert isinstance(parse_line(stand_in.got.split(b"\n")[0]), Message)


def test_a_session_that_talks_back_is_judged_by_its_close(config: Path) -> None:
    """Bytes back mean nothing in this contract."""
    with peer(config, _talks_back) as stand_in:
        assert offer(letter(), session(config, socket=stand_in.path)) == Offered()


@pytest.mark.parametrize("behaviour", [_over_our_bytes, _reset, _early])
def test_a_close_over_our_bytes_is_not_delivered(
    config: Path, behaviour: Callable[[Peer, socket.socket], None]
) -> None:
    """The session did not read them; it is asked again soon."""
    with peer(config, behaviour) as stand_in:
        found = offer(letter("x" * 400_000), session(config, socket=stand_in.path))
    assert found == Deferred(Reason.UNREACHABLE, claude.GONE_AFTER)


def test_a_session_that_keeps_the_connection_open_leaves_it_unclear(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All was written and may yet be read: the next try is a repeat."""
    monkeypatch.setattr(claude, "SETTLE", 0.1)
    with peer(config, _silent) as stand_in:
        found = offer(letter(), session(config, socket=stand_in.path))
    assert found == Deferred(Reason.UNREACHABLE, claude.SILENT_AFTER, unclear=True)


def test_a_session_that_does_not_read_is_given_up_in_time(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too long for the kernel's queue, so it was never all written."""
    monkeypatch.setattr(claude, "SETTLE", 0.1)
    with peer(config, _deaf) as stand_in:
        found = offer(letter("x" * 900_000), session(config, socket=stand_in.path))
    assert found == Deferred(Reason.UNREACHABLE, claude.SILENT_AFTER)


def test_a_session_that_never_accepts_is_given_up_in_time(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backlog takes the connection and the bytes: nobody knows."""
    monkeypatch.setattr(claude, "SETTLE", 0.1)
    path = str(config / "4242.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(0)
        to = session(config, socket=path)
        unclear = Deferred(Reason.UNREACHABLE, claude.SILENT_AFTER, unclear=True)
        assert offer(letter(), to) == unclear
        with socket.socket(socket.AF_UNIX) as filler:
            filler.setblocking(False)
            while filler.connect_ex(path) == 0:
                filler.close()
                filler = socket.socket(socket.AF_UNIX)
                filler.setblocking(False)
            full = Deferred(Reason.UNREACHABLE, claude.FULL_AFTER)
            assert offer(letter(), to) == full


def test_a_session_that_is_gone_defers(config: Path) -> None:
    """Its socket file stays behind after a kill, or is gone after an exit."""
    path = str(config / "4242.sock")
    to = session(config, socket=path)
    assert offer(letter(), to) == Deferred(Reason.UNREACHABLE, claude.GONE_AFTER)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    assert offer(letter(), to) == Deferred(Reason.UNREACHABLE, claude.GONE_AFTER)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/x\0y", "\ud800", "relative.sock", "/" + "x" * 300]
)
def test_what_is_no_socket_of_ours_is_not_written_to(config: Path, path: str) -> None:
    """The path stands in a file that any process of the user can write."""
    found = offer(letter(), session(config, socket=path))
    assert found == Deferred(Reason.UNREACHABLE, claude.GONE_AFTER)


def test_a_link_to_a_socket_is_not_followed(config: Path) -> None:
    """The socket behind it is; the positive control."""
    with peer(config, _clean) as stand_in:
        link = config / "link.sock"
        link.symlink_to(stand_in.path)
        found = offer(letter(), session(config, socket=str(link)))
        assert found == Deferred(Reason.UNREACHABLE, claude.GONE_AFTER)
        assert offer(letter(), session(config, socket=stand_in.path)) == Offered()


def test_a_session_without_a_socket_is_not_served(config: Path) -> None:
    """Its mail is held for another way."""
    assert not LEG.serves(session(config, socket=""))
    assert LEG.serves(session(config, socket="/x.sock"))
    assert offer(letter(), session(config, socket="")) == Held(Reason.UNREACHABLE)


def test_a_letter_too_long_is_written_as_its_head(config: Path) -> None:
    """Also where only the defused closing tags make it too long."""
    for body in ("x" * 1_048_576, "</cross-session-message>" * 41_000):
        sent = letter(body)
        data = claude.message_bytes(sent, session(config, socket="/x.sock"))
        assert len(data) < 200_000
        assert f"all: homi read {sent.msg.id}".encode() in data
    whole = claude.message_bytes(letter("ä" * 900_000), session(config, socket="/x"))
    assert len(whole) > 1_800_000


def test_the_leg_proves_what_the_witness_learnt(tmp_path: Path) -> None:
    """A transcript that proves nothing shrinks the proofs to offered."""
    to = session(tmp_path, socket="/x.sock")
    assert LEG.proofs(to) == {Rung.OFFERED, Rung.SEEN}
    assert ClaudeLeg(SystemClock(), Proofs(Rung.OFFERED)).proofs(to) == {Rung.OFFERED}


def test_a_try_that_is_cancelled_stays_cancelled(config: Path) -> None:
    """A stop does not wait for a session that hangs."""

    async def main(to: Session) -> None:
        task = asyncio.create_task(LEG.offer(letter(), to))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with peer(config, _silent) as stand_in:
        asyncio.run(main(session(config, socket=stand_in.path)))


def test_a_session_may_have_no_conversation_id_yet(config: Path) -> None:
    """Then the line goes without one, and is taken into whatever there is."""
    with peer(config, _clean) as stand_in:
        to = session(config, socket=stand_in.path, session_id="")
        assert offer(letter(message=str(uuid.uuid4())), to) == Offered()
    message = parse_line(stand_in.got.split(b"\n")[1])
    assert isinstance(message, Message)
    assert message.session_id is None
