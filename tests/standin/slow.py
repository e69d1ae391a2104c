"""A slow line to a TCP port: what comes is handed on, each way, so much later.

Arguments: host:port to listen at, host:port to connect to, seconds.  It prints a line
when it listens.  Standard library only.
"""

import asyncio
import contextlib
import sys


async def carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float
) -> None:
    """Until reader ends; in order, since a timer set later is due later."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            loop.call_later(delay, writer.write, data)
    loop.call_later(delay, writer.close)


async def main(here: str, there: str, delay: float) -> None:
    """Until killed."""
    tasks: set[asyncio.Task[None]] = set()

    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(*split(there))
        for way in ((reader, far_writer), (far_reader, writer)):
            task = asyncio.create_task(carry(*way, delay))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(met, *split(here))
    print("listening", flush=True)
    await server.serve_forever()


def split(given: str) -> tuple[str, int]:
    """Host and port."""
    host, _, port = given.rpartition(":")
    return host, int(port)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
