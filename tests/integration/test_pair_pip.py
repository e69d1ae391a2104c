"""A machine whose Python runs nothing that was compiled here: pip puts homi there.

Its index is a folder of wheels, and no network is used.  The wheels are empty and
lead to what the tests run with, which spares the copying of 40 MB; they need nothing,
which spares pip the way to what those that homi names need themselves.
"""

import re
import shlex
import subprocess
import zipfile
from pathlib import Path

import pytest

from homi.errors import Unavailable
from homi.pairing import parcel
from homi.pairing.install import why
from homi.pairing.ssh import Ran
from tests.integration.test_pair import BASE, Lab, failed, lab

__all__ = ["lab"]

# A Python of another C library, on a machine whose venvs come as a package.
PYTHON = """\
#!/bin/sh
case "$*" in
*libc*)
    {base} "$@" | sed -e 's/"libc": "[^"]*"/"libc": ""/' \\
        -e 's|"exe": "[^"]*"|"exe": "'"$0"'"|' ;;
*venv*)
    [ -e {ready} ] || {{ printf '%s' {words} >&2; exit 1; }}
    exec {base} "$@" {quick} ;;
*)
    exec {base} "$@" ;;
esac
"""
QUICK = "--without-pip --system-site-packages"  # where the Python itself has a pip
DEBIAN = """\
The virtual environment was not created successfully because ensurepip is not
available.  On Debian/Ubuntu systems, you need to install the python3-venv
package using the following command.

    apt install python3.11-venv

Failing command: /usr/bin/python3.11
"""


def wheels(folder: Path) -> Path:
    """An index of all that homi needs."""
    folder.mkdir()
    for one in parcel.needed():
        name = re.sub(r"[-_.]+", "_", one.metadata["Name"])
        info = f"{name}-{one.version}.dist-info"
        lead = "\n".join({str(Path(str(one.locate_file(""))))})
        with zipfile.ZipFile(
            folder / f"{name}-{one.version}-py3-none-any.whl", "w"
        ) as z:
            z.writestr(f"{name}_there.pth", f"{lead}\n")
            head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {one.version}\n"
            z.writestr(f"{info}/METADATA", head)
            z.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            z.writestr(f"{info}/RECORD", "")
    return folder


def other_python(path: Path, ready: Path) -> None:
    """The Python of that machine; it makes venvs once ready is there."""
    has_pip = subprocess.run([BASE, "-I", "-c", "import pip"], check=False, timeout=60)
    text = PYTHON.format(
        base=shlex.quote(BASE),
        ready=ready,
        words=shlex.quote(DEBIAN),
        quick="" if has_pip.returncode else QUICK,
    )
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def test_pip_there_installs_this_homi_or_its_command_is_told(lab: Lab) -> None:
    """The command does by hand what pip did not; with nothing in the way pip does it,
    and the devices are linked by the homi that it made."""
    lab.server.reach(lab.lap)
    command = lab.mini.home / ".local" / "bin" / "homi"
    command.unlink()
    ready = lab.mini.work / "venvs"
    other_python(lab.mini.bin / "python3", ready)
    there = {
        "PATH": f"{lab.mini.bin}:/usr/bin:/bin",
        "PYTHONPATH": "",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels(lab.mini.work / "wheels")),
        "PIP_NO_COMPILE": "0",  # pip reads that of a no- as its answer: do not
        "PIP_NO_WARN_CONFLICTS": "0",
    }
    lab.server.configure(**there)
    done = lab.pair()
    failed(done, Unavailable.exit_status, "apt install python3.11-venv")
    by_hand = done.stderr.partition("pair again: ")[2].strip()
    assert not command.exists()
    assert lab.lines() == []

    ready.touch()
    # Homi alone: what it needs comes with the pairing, and twice would take time.
    alone = lab.mini.env(**there, PIP_NO_DEPS="1")
    subprocess.run(["sh", "-c", by_hand], env=alone, check=True, timeout=60)
    assert command.resolve().read_text().startswith("#!")
    command.unlink()
    steps = lab.steps("pair", "mini")
    assert steps["homi"]["changed"]
    assert steps["homi"]["text"].startswith(f"{command}, by pip, in ")
    assert [len(steps[way]["ms"]) for way in ("out", "in")] == [3, 3]
    (line,) = lab.lines()
    assert f'command="{command} ' in line


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (DEBIAN, "the Python there makes no venv before: apt install python3.11-venv"),
        (
            "ERROR: Could not find a version that satisfies the requirement msgspec\n"
            "ERROR: No matching distribution found for msgspec>=0.19\n",
            "No matching distribution found for msgspec>=0.19",
        ),
        (
            "error: subprocess-exited-with-error\n\nnote: not a problem with pip\n"
            "hint: See above for details.\n",
            "subprocess-exited-with-error",
        ),
        ("sh: 1: cannot create x: No space left on device\n", "cannot create x"),
        ("", ""),
    ],
)
def test_the_line_that_tells_why_is_found(said: str, told: str) -> None:
    """pip ends with advice, and a venv with the command that failed."""
    assert told in why(Ran(1, b"", said))
