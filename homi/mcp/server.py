"""`homi mcp`: the server that an agent's client starts and ends.

Owns the way from a request of the protocol to a tool and back, and that what a
result shows is recorded as read only once it is out.  homi-mcp(1) is the page.
"""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
from mcp.server import Server, ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    RequestId,
    TextContent,
    Tool,
    ToolAnnotations,
)

from homi import __version__, paths
from homi.aclient import AsyncClient
from homi.errors import HomiError, NotReached, StorageFailed, Usage
from homi.mcp import pipe, tools
from homi.mcp.caller import THREAD
from homi.mcp.early import Early
from homi.mcp.post import Post
from homi.mcp.refusal import refused
from homi.mcp.result import Result, Seen, failed

CALLS_MAX = 32  # at once: each may hold two connections of the daemon's
CALL_MAX = 58.0  # s, whatever happens: a client gives up on a tool after 60
HANDED = 10.0  # s in which a result is out, or its reader is gone
LAST = 2.0  # s for what must still be recorded when the client is gone
BY_NAME = {tool.name: tool for tool in tools.TOOLS}


class Desk:
    """The calls of one client, and what they showed it."""

    def __init__(self, root: Path) -> None:
        """The daemon need not run: it is looked for at each call."""
        self._root = root
        self._calls = 0
        self._shown: dict[RequestId, asyncio.Future[bool]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def list_tools(
        self, _: object, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """Every tool."""
        return ListToolsResult(tools=[offered(tool) for tool in tools.TOOLS])

    async def call_tool(
        self,
        context: ServerRequestContext[Any, Any],
        params: CallToolRequestParams,
    ) -> CallToolResult:
        """One call; what fails is the result of a tool, never of the protocol."""
        request = context.request_id
        assert request is not None  # a notification calls no tool
        self._shown.pop(request, None)
        try:
            call = arguments(params.name, params.arguments)
            thread = thread_of(context.meta)
            found = await self._do(call, thread)
        except HomiError as error:
            text = TextContent(type="text", text=failed(error))
            return CallToolResult(content=[text], is_error=True)
        if found.seen is not None:
            self.watch(request, found.seen, thread)
        return CallToolResult(
            content=[TextContent(type="text", text=found.text)],
            structured_content=found.fields,
        )

    def handed(self, request: RequestId) -> None:
        """The answer to a request is out: what it shows was read."""
        out = self._shown.pop(request, None)
        if out is not None and not out.done():
            out.set_result(True)

    def watch(self, request: RequestId, seen: Seen, thread: str | None = None) -> None:
        """Record what the answer to a request shows, once that is out."""
        out = self._shown[request] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._record(out, seen, thread))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """The client is gone; what it was shown is still recorded, if that is quick."""
        for out in self._shown.values():
            if not out.done():
                out.set_result(False)
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=LAST)
            for task in late:
                task.cancel()

    async def _do(self, call: tools.Arguments, thread: str | None) -> Result:
        """What a call gives, on connections of its own, which end with it."""
        if self._calls >= CALLS_MAX:
            raise NotReached(
                f"{CALLS_MAX} calls are not answered yet", hint="wait for one of them"
            )
        self._calls += 1
        try:
            async with (
                asyncio.timeout(CALL_MAX),
                AsyncClient(self._root, thread=thread) as client,
            ):
                return await Post(client, thread).do(call)
        except TimeoutError:
            raise NotReached(
                f"no answer in {CALL_MAX:g} s",
                hint="what was asked for may still be done: look before you repeat it",
            ) from None
        except OSError as error:
            raise StorageFailed(error.strerror or str(error)) from error
        finally:
            self._calls -= 1

    async def _record(
        self, out: "asyncio.Future[bool]", seen: Seen, thread: str | None
    ) -> None:
        """What never left, or cannot be recorded, is given once more: harmless."""
        try:
            async with asyncio.timeout(HANDED):
                if not await out:
                    return
            async with AsyncClient(self._root, thread=thread) as client:
                await client.ack(seen.ids, seen.name, "read")
        except (TimeoutError, HomiError, OSError):
            return
        finally:
            seen.close()


def run(home: str, early: Early) -> int:
    """Serve the client at the other end of standard input until it closes that."""
    asyncio.run(_serve(Path(paths.state_root(home)), early))
    return 0


async def _serve(root: Path, early: Early) -> None:
    """One client, from its first line to its last."""
    desk = Desk(root)
    source, sink = await pipe.stdio(desk.handed, early)
    server: Server[Any] = Server(
        "homi",
        version=__version__,
        instructions=tools.INSTRUCTIONS,
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
    )
    await server.run(source, sink, server.create_initialization_options())
    await desk.finish()


def offered(tool: tools.Tool) -> Tool:
    """A tool as clients are shown it.  By these annotations they run it unasked: it
    destroys nothing and reaches nobody but the agents of its user."""
    return Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        annotations=ToolAnnotations(
            read_only_hint=tool.reads,
            destructive_hint=False,
            idempotent_hint=tool.again,
            open_world_hint=False,
        ),
    )


def arguments(name: str, given: dict[str, Any] | None) -> tools.Arguments:
    """What a call gives its tool; Usage (64) where the schema allows no such thing."""
    if name not in BY_NAME:
        raise Usage(f"no tool {name[:32]!r}", hint=f"one of {', '.join(BY_NAME)}")
    try:
        return msgspec.convert(given or {}, BY_NAME[name].takes)
    except (msgspec.ValidationError, RecursionError) as error:
        raise refused(BY_NAME[name], str(error)) from error


def thread_of(meta: Any) -> str | None:  # noqa: ANN401 - whatever a client adds
    """The conversation of its client that a call is for, where the client says."""
    found = meta.get(THREAD) if isinstance(meta, dict) else None
    return found if isinstance(found, str) and found else None
