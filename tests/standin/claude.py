"""The stand-in as the program claude: started with the client's own options.

Beside those that homi gives it knows --exit N (it ends before it has a record), --deaf
(it never has one), --reply TEXT (each turn ends with that answer) and --then SCRIPT (a
shell does that below it, with its NAME, and with the script as THEN).
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.standin import __main__ as standin
from tests.standin.driver import ROOT


def install(folder: Path) -> None:
    """Put it into a folder of a PATH."""
    folder.mkdir(exist_ok=True)
    program = folder / "claude"
    run = f'PYTHONPATH={ROOT} exec "{sys.executable}" -m tests.standin.claude "$@"'
    program.write_text(f"#!/bin/sh\n{run}\n")
    program.chmod(0o755)


def options(argv: list[str]) -> argparse.Namespace:
    """What the stand-in is to be."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", "--name", required=True)
    parser.add_argument("--settings", default="{}")
    parser.add_argument("--exit", type=int)
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--reply", default="")
    parser.add_argument("--then", default="")
    given = parser.parse_args(argv)
    inbound = json.loads(given.settings).get("crossSessionInbound", "")
    more = ["--auto", "--reply", given.reply] if given.reply else ["--auto"]
    made = standin.parse(["--name", given.name, "--inbound", inbound, *more])
    made.exit, made.deaf, made.then = given.exit, given.deaf, given.then
    return made


if __name__ == "__main__":
    found = options(sys.argv[1:])
    if found.exit is not None:
        sys.exit(found.exit)
    if found.deaf:
        signal.pause()
    if found.then:
        more = {"NAME": found.name, "THEN": found.then}
        subprocess.Popen(["/bin/sh", "-c", found.then], env={**os.environ, **more})
    asyncio.run(standin.main(found))
