"""The stand-in's command line and the table of what may be asked on its stdin.

Commands come as JSON lines on stdin ({"do": …}), events go as JSON lines to stdout
({"event": …}).  End of stdin is a clean exit; SIGKILL at any point is what it is
for the real client: the queue is lost, the files stay.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from tests.standin import registry
from tests.standin.admission import Policy
from tests.standin.letter import emit
from tests.standin.session import Session

Command = dict[str, Any]


def commands(session: Session) -> dict[str, Callable[[Command], Any]]:
    """The table of what may be asked on stdin."""

    def tool(_: Command) -> None:
        session.talk.prompt("work")
        session.set_status("busy")

    def tool_done(_: Command) -> None:
        session.absorb()
        if session.options.auto:
            session.answer("done")

    def approve(_: Command) -> None:
        session.set_status("busy")
        tool_done({})

    async def reply(command: Command) -> None:
        assert session.last is not None
        await session.send(session.last.tag.sender, command["text"])

    async def listed(_: Command) -> None:
        found = await asyncio.to_thread(registry.peers, session.sessions, os.getpid())
        emit("listed", peers=sorted(peer.name for peer in found))

    async def inbound(command: Command) -> None:
        session.policy = Policy(command["value"], session.options.mode)
        if command["value"] == "accept":
            await session.settle("delivered")

    return {
        "tool": tool,
        "tool_done": tool_done,
        "ask": lambda _: session.set_status("waiting", "permission prompt"),
        "approve": approve,
        "answer": lambda c: session.answer(c.get("text", "done")),
        "fail": lambda c: session.fail(c.get("text", "API Error: 529")),
        "say": lambda c: session.own_turn(c.get("text", "hello")),
        "block": lambda c: setattr(session, "blocking", c["value"]),
        "auto": lambda c: setattr(session.options, "auto", c["value"]),
        "send": lambda c: session.send(c["to"], c["text"], c.get("msg_id", "")),
        "reply": reply,
        "list": listed,
        "run": lambda c: session.run(c["argv"], c.get("input", "")),
        "hook": lambda c: session.hook(c["event"], c["argv"]),
        "prompt": lambda c: session.prompt(c["argv"], c.get("text", "go on")),
        "rename": lambda c: session.rename(c["name"]),
        "clear": lambda _: session.clear(),
        "inbound": inbound,
        "deliver": lambda _: session.settle("delivered"),
        "deny": lambda _: session.settle("denied"),
        "expire": lambda _: session.settle("expired"),
        "exit": lambda _: session.done.set(),
    }


async def _one(work: Callable[[Command], Any], command: Command) -> None:
    result = work(command)
    if asyncio.iscoroutine(result):
        await result
    emit("done", i=command.get("i"))


async def _stdin(session: Session) -> None:
    reader = asyncio.StreamReader(limit=8 << 20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer
    )
    table = commands(session)
    while raw := await reader.readline():
        command = json.loads(raw)
        session.task(_one(table[command["do"]], command))
    session.done.set()


async def main(options: argparse.Namespace) -> None:
    """Live until told to end, then exit cleanly."""
    session = Session(options)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, session.done.set)
    await session.open()
    session.task(_stdin(session))
    await session.done.wait()
    with contextlib.suppress(OSError):
        await session.close()


def parse(argv: list[str]) -> argparse.Namespace:
    """The options of one stand-in session."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--mode", default="prompting", choices=["prompting", "bypass"])
    parser.add_argument("--inbound", default="")
    parser.add_argument("--session-id", default="")
    parser.add_argument("--keep-name", action="store_true", help="obey no rename")
    parser.add_argument("--auto", action="store_true", help="turns end by themselves")
    parser.add_argument(
        "--reply", default="", help="what --auto answers each letter; {n} counts"
    )
    parser.add_argument("--forward", default="", help="a command, in place of a reply")
    parser.add_argument("--restricted", action="store_true", help="no socket")
    parser.add_argument("--no-transcript", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    asyncio.run(main(parse(sys.argv[1:])))
