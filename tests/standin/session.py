"""A stand-in for a live session of the agent client: one that speaks its contract.

The model is scripted: a turn ends by a command, or by itself with --auto.
"""

import argparse
import asyncio
import json
import os
import time
import uuid
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from tests.standin import registry, wire
from tests.standin.admission import Guard, Policy
from tests.standin.letter import Letter, emit
from tests.standin.transcript import GATHER, Transcript

RENAMES_FROM = 0.3  # s: before, the client passes a rename over in silence
DROP_BATCH = 0.5  # s: the first drop is told at once, the rest in one receipt


class Session:
    """One conversation after another in one process, with one socket."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.replies = 0  # what --auto wrote so far
        self.config = Path(os.environ["CLAUDE_CONFIG_DIR"])
        self.sessions = self.config / "sessions"
        self.sessions.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.socket = registry.socket_folder(dict(os.environ)) / f"{os.getpid()}.sock"
        self.record = registry.Record(
            self.sessions, self.socket, options.name, os.getcwd()
        )
        self.policy = Policy(options.inbound, options.mode)
        self.guard = Guard()
        self.queue: list[Letter] = []
        self.held: list[Letter] = []
        self.dropped: list[tuple[Letter, str]] = []
        self.last: Letter | None = None
        self.blocking = False
        self.done = asyncio.Event()
        self.born = time.monotonic()
        self.tasks: set[asyncio.Task[object]] = set()
        self._flush: asyncio.TimerHandle | None = None
        self.talk = self._conversation(options.session_id or str(uuid.uuid4()))

    @property
    def status(self) -> str:
        """idle, busy or waiting, as the sidecar says."""
        return str(self.record.fields.get("status"))

    @property
    def address(self) -> str:
        """What this session's messages name as their sender."""
        return f"uds:{self.socket}"

    def _conversation(self, session: str) -> Transcript:
        self.record.fields["sessionId"] = session
        return Transcript(
            self.config, os.getcwd(), session, registry.VERSION, self._written_soon
        )

    def _written_soon(self) -> None:
        if self._flush is None and not self.options.no_transcript:
            self._flush = asyncio.get_running_loop().call_later(GATHER, self._write)

    def _write(self) -> None:
        self._flush = None
        self.talk.flush()
        emit("flushed", path=str(self.talk.path))

    def task(self, work: Coroutine[object, object, object]) -> None:
        """Run work beside the loop and keep it until it is done."""
        made = asyncio.create_task(work)
        self.tasks.add(made)
        made.add_done_callback(self.tasks.discard)

    # ---- life ----

    async def open(self) -> None:
        """Socket, key, sidecar, status: in the client's order."""
        if self.options.restricted:
            del self.record.fields["messagingSocketPath"]
        self.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.socket.unlink(missing_ok=True)
        old = os.umask(0o177)
        await asyncio.start_unix_server(
            self._connection, str(self.socket), limit=8 << 20, backlog=512
        )
        os.umask(old)
        if self.record.taken(self.options.name):
            self.record.fields["name"] = f"{self.options.name}-mighty-whale"
            self.record.fields["nameSource"] = "collision"
        self.record.publish()
        self.set_status("idle")
        emit(
            "ready",
            pid=os.getpid(),
            session_id=self.record.fields["sessionId"],
            socket=str(self.socket),
            name=self.record.fields["name"],
        )

    async def close(self) -> None:
        """A clean exit: what is held expires, what is queued is lost."""
        for letter in self.held:
            await self._tell(letter, "expired")
        self.talk.flush()
        self.record.withdraw()
        emit("bye")

    def set_status(self, status: str, waiting_for: str | None = None) -> None:
        """Rewrite the sidecar with the new status."""
        now = int(time.time() * 1000)
        self.record.write(status=status, waitingFor=waiting_for, statusUpdatedAt=now)
        emit("status", status=status)

    # ---- inbound ----

    async def _connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        pid, _ = wire.credentials(writer.get_extra_info("socket"))
        try:
            async with asyncio.timeout(30):
                while raw := await reader.readline():
                    if len(raw.decode(errors="replace")) > wire.LINE_MAX + 1:
                        break
                    self.line(raw, pid)
        except (TimeoutError, ValueError, ConnectionError):
            pass
        finally:
            writer.close()

    def line(self, raw: bytes, pid: int) -> None:
        """One line of a connection; what is not understood is skipped in silence."""
        try:
            line = json.loads(raw)
        except ValueError:
            return
        if not isinstance(line, dict):
            return
        if line.get("type") == "control":
            self._control(line)
            return
        content = (line.get("message") or {}).get("content")
        wanted = line.get("session_id", self.record.fields["sessionId"])
        if line.get("type") != "user" or not isinstance(content, str) or not content:
            return
        if wanted != self.record.fields["sessionId"]:
            emit("ignored", msg_id=line.get("msg_id"))
            return
        self._admit(Letter(line, pid))

    def _control(self, line: dict[str, Any]) -> None:
        if line.get("action") == "rename":
            young = time.monotonic() - self.born < RENAMES_FROM
            if not self.options.keep_name and not young:
                self.rename(str(line["name"]), "peer")
        else:
            emit("notice", **{k: v for k, v in line.items() if k != "type"})
            self.own_turn("[Cross-session delivery notice]")

    def _admit(self, letter: Letter) -> None:
        verdict = self.policy.judge(letter.tag.mode)
        if verdict == "deliver":
            waiting = len(self.queue)
            count = letter.sender or str(letter.pid)
            now = time.monotonic()
            if reason := self.guard.judge(count, letter.content, waiting, now):
                self._drop(letter, reason)
            else:
                self.enqueue(letter)
        elif verdict == "refuse":
            emit("refused", **letter.show())
            self.task(self._tell(letter, "expired", status_detail="refused"))
        else:
            self._hold(letter, dialog=verdict == "hold")

    def _hold(self, letter: Letter, *, dialog: bool) -> None:
        self.held.append(letter)
        first = letter.tag.text.partition("\n")[0]
        self.talk.system(f"Held peer message — from {letter.tag.name}: «{first}»")
        if dialog:
            self.set_status("waiting", "permission prompt")
        emit("held", **letter.show())
        self.task(self._tell(letter, "held"))

    def _drop(self, letter: Letter, reason: str) -> None:
        self.talk.system(f"Dropped a peer message from @{letter.tag.name}: {reason}")
        emit("dropped", reason=reason, **letter.show())
        self.dropped.append((letter, reason))
        if len(self.dropped) == 1:
            self._told_drops(1)
        elif len(self.dropped) == 2:
            later = asyncio.get_running_loop().call_later
            later(DROP_BATCH, self._told_drops, 0)

    def _told_drops(self, keep: int) -> None:
        """The first at once, the rest in one receipt that names the last."""
        batch = self.dropped[:1] if keep else self.dropped[1:]
        if not keep:
            self.dropped = []
        letter, reason = batch[-1]
        ids = [one.msg_id for one, _ in batch]
        self.task(
            self._tell(letter, "dropped", drop_reason=reason, dropped_msg_ids=ids)
        )

    async def _tell(self, letter: Letter, status: str, **more: object) -> None:
        line = wire.receipt(self.address, letter.msg_id, status, **more)
        sent = await asyncio.to_thread(
            wire.send_receipt,
            self.sessions,
            self.socket,
            letter.sender,
            letter.pid,
            line,
        )
        emit("told", status=status, msg_id=letter.msg_id, sent=sent)

    def enqueue(self, letter: Letter) -> None:
        """Into the session's queue, which lives in memory only."""
        self.queue.append(letter)
        self.talk.queue("enqueue", content=letter.content)
        emit("queued", **letter.show())
        if self.status == "idle":
            self.turn()

    # ---- the model ----

    def turn(self) -> None:
        """Everything queued starts one turn; answer() or fail() ends it, or --auto."""
        letters, self.queue = self.queue, []
        if not letters:
            return
        if self.blocking:
            self._blocked(letters)
            return
        for letter in letters:
            self.talk.queue("dequeue")
            self.talk.taken(letter.origin(), letter.content)
        self._started("turn", letters)

    def _started(self, event: str, letters: list[Letter]) -> None:
        self.set_status("busy")
        self.last = letters[-1]
        emit(event, letters=[letter.show() for letter in letters])
        if self.options.auto:
            self.task(self._by_itself(letters))

    async def _by_itself(self, letters: list[Letter]) -> None:
        for letter in letters if self.options.reply else ():
            self.replies += 1
            text = self.options.reply.replace("{n}", str(self.replies))
            if self.options.forward:
                await self.run([*self.options.forward.split(), text], "")
            else:
                await self.send(letter.tag.sender, text)
        self.answer("done")

    def _blocked(self, letters: list[Letter]) -> None:
        """A hook throws the letters away: no receipt, and the model never sees them."""
        for letter in letters:
            self.talk.queue("dequeue")
            self.talk.system(
                "UserPromptSubmit operation blocked by hook: no\n"
                f"Original prompt: {letter.content}",
                preventContinuation=True,
            )
            emit("blocked", **letter.show())

    def absorb(self) -> None:
        """What waits is read between two tool calls of the running turn."""
        letters, self.queue = self.queue, []
        for letter in letters:
            self.talk.absorbed(letter.origin(), letter.content)
        if letters:
            self.last = letters[-1]
            emit("absorbed", letters=[letter.show() for letter in letters])

    def answer(self, text: str) -> None:
        """The running turn ends well; what waits starts the next one."""
        self.talk.answer(text)
        emit("answered")
        self.set_status("idle")
        self.turn()

    def fail(self, text: str) -> None:
        """Every try of the model failed: the turn ends without an answer."""
        self.talk.api_error(text)
        emit("failed")
        self.set_status("idle")

    def own_turn(self, text: str) -> None:
        """A turn that no message started."""
        if self.status == "idle":
            self.talk.prompt(text)
            self.set_status("busy")
            self.answer("noted")

    # ---- outbound ----

    async def send(self, to: str, text: str, msg_id: str = "") -> wire.Verdict:
        """SendMessage: by name through the registry, or by a uds: address."""
        path = to.removeprefix("uds:")
        if not to.startswith(("uds:", "/")):
            listed = await asyncio.to_thread(registry.peers, self.sessions, os.getpid())
            found = registry.find(listed, to)
            if isinstance(found, str):
                verdict = wire.Verdict(False, found, msg_id)
                emit("sent", to=to, **verdict._asdict())
                return verdict
            path = found.socket
        name = str(self.record.fields["name"])
        content = wire.tagged(text, self.address, name, self.options.mode)
        verdict = await asyncio.to_thread(
            wire.send, self.sessions, path, content, self.address, to, msg_id
        )
        emit("sent", to=to, **verdict._asdict())
        return verdict

    def rename(self, name: str, source: str = "user") -> None:
        """Another name at once, with its new date; of one that is taken, a third."""
        if self.record.taken(name):
            name, source = f"{name}-mighty-whale", "collision"
        self.record.write(
            name=name, nameSource=source, nameSince=int(time.time() * 1000)
        )
        emit("renamed", name=name)

    def clear(self) -> None:
        """A new conversation in the same process: the queue stays, its file changes."""
        self.talk.flush()
        self.talk = self._conversation(str(uuid.uuid4()))
        self.record.write()
        emit("cleared", session_id=self.record.fields["sessionId"])

    async def run(self, argv: list[str], given: str) -> None:
        """A Bash tool."""
        rc, out, err = await self._child(argv, given)
        emit("ran", rc=rc, out=out, err=err)

    async def _child(self, argv: list[str], given: str) -> tuple[int, str, str]:
        """A child with the environment the client gives its children."""
        env = os.environ | {
            "CLAUDECODE": "1",
            "CLAUDE_PID": str(os.getpid()),
            "CLAUDE_CODE_SESSION_ID": str(self.record.fields["sessionId"]),
            "CLAUDE_CODE_MESSAGING_SOCKET": str(self.socket),
        }
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env
        )
        out, err = await child.communicate(given.encode())
        return child.returncode or 0, out.decode(), err.decode()

    async def hook(self, event: str, argv: list[str]) -> str:
        """Run a hook of the user's settings; its context goes into the conversation,
        whatever status it ends with."""
        named = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}
        given = {
            "session_id": self.record.fields["sessionId"],
            "transcript_path": str(self.talk.path),
            "cwd": os.getcwd(),
            "hook_event_name": named.get(event, "Stop"),
        }
        _, out, _ = await self._child([*argv, event], json.dumps(given))
        if out:
            context = json.loads(out)["hookSpecificOutput"]["additionalContext"]
            self.talk.hooked(named[event], out, context)
        emit("hooked", hook=event, out=out)
        return out

    async def prompt(self, argv: list[str], text: str) -> None:
        """A turn of the user's, with the hooks around it."""
        self.set_status("busy")
        self.talk.prompt(text)
        await self.hook("prompt", argv)
        self.answer("done")
        await self.hook("stop", argv)

    async def settle(self, status: str) -> None:
        """The user (or time) decides over what is held."""
        held, self.held = self.held, []
        if self.status == "waiting":
            self.set_status("idle")
        for letter in held:
            await self._tell(letter, status)
            if status == "delivered":
                self.talk.system("Released 1 held cross-session message")
                self.enqueue(letter)
