"""Putting this homi on another machine, in a folder of its own.

Owns the two ways: everything copied where platform and Python are the same, else
pip there.  homi-pair(1) lists what is written where.
"""

import re
import shlex
import subprocess
import sys

import msgspec

from homi.errors import TimedOut, Unavailable
from homi.pairing import parcel
from homi.pairing.ssh import Ran, Ssh

FOLDER = "~/.local/share/homi"
LIMIT = 600.0  # s: pip may fetch much, over a line that is slow
# What a Python says of itself: the same words there and here.
FACTS = """
import json, os, sys, sysconfig
if sys.version_info < (3, 11): sys.exit(3)
libc = os.confstr("CS_GNU_LIBC_VERSION") if sys.platform == "linux" else ""
base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
print(json.dumps({"exe": base, "tag": sys.implementation.cache_tag,
  "platform": sysconfig.get_platform(), "libc": libc or ""}))
"""
# $1: FACTS.
PYTHON = r"""
for one in python3 python3.14 python3.13 python3.12 python3.11; do
	command -v "$one" >/dev/null && "$one" -I -c "$1" 2>/dev/null && exit 0
done
exit 1
"""
# $1: the Python.  Its input is the archive.  The old folder goes last.
COPY = r"""
set -e
umask 022
lib=$HOME/.local/share/homi/lib bin=$HOME/.local/bin
rm -rf "$lib.new" && mkdir -p "$lib.new" "$bin"
tar xzf - -C "$lib.new"
"$1" -I -c 'import sys; sys.path.insert(0, sys.argv[1])
import homi.daemon, homi.links.ssh' "$lib.new"
rm -rf "$lib.old"
[ ! -e "$lib" ] || mv "$lib" "$lib.old"
mv "$lib.new" "$lib"
rm -rf "$lib.old"
cat > "$bin/.homi.new" <<END
#!$1
import sys

sys.path.insert(0, "$lib")
from homi.cli.fast import main

sys.exit(main())
END
chmod 755 "$bin/.homi.new"
mv -f "$bin/.homi.new" "$bin/homi"
printf '%s\n' "$bin/homi"
"""
# $1: the Python, $2: the name of the wheel, which is its input.  A venv that a failure
# left is taken up; the homi in it is not believed, since nobody could run it.
PIP = r"""
set -e
umask 022
base=$HOME/.local/share/homi bin=$HOME/.local/bin
python=$base/venv/bin/python
mkdir -p "$base" "$bin"
cat > "$base/$2"
"$python" -I -m pip --version >/dev/null 2>&1 ||
	"$1" -I -m venv --clear "$base/venv" >&2
"$python" -I -m pip install -q --disable-pip-version-check --no-input \
	--force-reinstall "$base/$2" >&2
"$python" -I -c 'import homi.daemon, homi.links.ssh'
ln -sf "$base/venv/bin/homi" "$bin/homi"
printf '%s\n' "$bin/homi"
"""
_DEBIAN = re.compile(r"^\s*(apt install \S+)$", re.M)  # what makes a venv there


class Python(msgspec.Struct, frozen=True):
    """A Python that homi can run in."""

    exe: str
    tag: str
    platform: str
    libc: str  # "glibc 2.36"; empty where there is another, or none

    def serves(self, other: "Python") -> bool:
        """Whether what was compiled for this one runs in other."""
        kind, version = _version(self.libc)
        other_kind, other_version = _version(other.libc)
        ours = (self.tag, self.platform, kind)
        theirs = (other.tag, other.platform, other_kind)
        return ours == theirs and version <= other_version


def install(ssh: Ssh) -> tuple[str, str]:
    """Put homi on the host: its path there, and how it came there; 69 with the
    command that does it by hand."""
    there = _python(ssh)
    here = _decode(_own_facts())
    if here.serves(there):
        data = parcel.archive()
        script, args = COPY, [there.exe]
        way = f"copied {len(data) / 1e6:.1f} MB to {FOLDER}/lib"
        hint = "with the reason gone, pair again"
    else:
        name, data = parcel.wheel()
        script, args = PIP, [there.exe, name]
        way = f"by pip, in {FOLDER}/venv"
        hint = f"there, and then pair again: {_by_hand(there.exe, name)}"
    try:
        done = ssh.run(script, *args, given=data, limit=LIMIT)
    except TimedOut as error:
        raise TimedOut(error.text, hint=hint) from error
    if done.status:
        raise Unavailable(
            f"homi could not be installed on {ssh.host}: {why(done)}", hint=hint
        )
    return done.out.decode().strip().splitlines()[-1], way


def why(done: Ran) -> str:
    """The line that tells why an installation failed: rarely the last one."""
    if needed := _DEBIAN.search(done.err):
        return f"the Python there makes no venv before: {needed[1]}"
    lines = [line.strip() for line in done.err.splitlines()]
    told = [line for line in lines if line.lower().startswith("error:")]
    return told[-1].partition(":")[2].strip() if told else done.last


def _by_hand(python: str, wheel: str) -> str:
    """The command that does what PIP does."""
    venv = f"{FOLDER}/venv"
    return (
        f"{shlex.quote(python)} -m venv {venv} &&"
        f" {venv}/bin/python -m pip install --force-reinstall {FOLDER}/{wheel} &&"
        f" ln -sf {venv}/bin/homi ~/.local/bin/homi"
    )


def _python(ssh: Ssh) -> Python:
    """The first Python there that is new enough; Unavailable (69)."""
    done = ssh.run(PYTHON, FACTS)
    if done.status:
        raise Unavailable(
            f"there is no Python 3.11 or newer on {ssh.host}",
            hint="install one there, for instance python3.11; then pair again",
        )
    return _decode(done.out)


def _own_facts() -> bytes:
    """What the Python that runs says of itself."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", FACTS],
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    return done.stdout


def _decode(said: bytes) -> Python:
    """What a Python said."""
    return msgspec.json.decode(said, type=Python)


def _version(libc: str) -> tuple[str, tuple[int, ...]]:
    """The kind of a libc and its version, to compare."""
    numbers = re.findall(r"\d+", libc)
    return libc.partition(" ")[0], tuple(int(number) for number in numbers)
