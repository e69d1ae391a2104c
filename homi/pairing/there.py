"""homi on the other machine: found, started and asked, by the user's own ssh.

Owns where it is looked for and how its answers are read.  homi-pair(1).
"""

from typing import NamedTuple, TypeVar

import msgspec

from homi.errors import BY_CODE, HomiError, Unavailable, VersionMismatch
from homi.linked import Checked
from homi.pairing.admission import Admitted, Expelled
from homi.pairing.card import Card
from homi.pairing.ssh import Ran, Ssh

Answer = TypeVar("Answer", bound=msgspec.Struct)
# $@: where to look first.  Prints the machine, then a line a homi: path, version.
LOOK = r"""
uname -sm
for one in "$@" "$(command -v homi)" "$HOME/.local/bin/homi"; do
	[ -n "$one" ] && [ -x "$one" ] && [ ! -d "$one" ] || continue
	printf '%s\t%s\n' "$one" "$("$one" --version 2>&1 | head -n 1)"
done
exit 0
"""
RUN = 'exec "$@"'
# $1: the device's name.  A homi.toml that is there is its owner's.
NAME = r"""
file=${XDG_CONFIG_HOME:-$HOME/.config}/homi/homi.toml
[ ! -e "$file" ] || exit 0
mkdir -p "${file%/*}" && printf 'device = "%s"\n' "$1" > "$file"
"""


class Look(NamedTuple):
    """What was found on a machine."""

    machine: str  # as uname has it
    exe: str  # empty: no homi
    version: str


class Running(msgspec.Struct, frozen=True):
    """What homi start says."""

    fresh: bool
    pid: int


class There:
    """The homi of one host."""

    def __init__(self, ssh: Ssh) -> None:
        """ssh: the way to it."""
        self._ssh = ssh
        self.host = ssh.host
        self.exe = ""
        self.home = ""  # its state root, once it is known

    def look(self, exe: str | None) -> Look:
        """The first homi there that tells its version; exe: where else than usual."""
        done = self._ssh.run(LOOK, *([exe] if exe else []))
        machine, *lines = done.out.decode("utf-8", "replace").splitlines() or [""]
        for line in lines:
            path, _, said = line.partition("\t")
            if said.startswith("homi ") and (exe is None or path == exe):
                self.exe = path
                return Look(machine, path, said.removeprefix("homi "))
        if exe is not None:
            why = next((line for line in lines if line.startswith(f"{exe}\t")), "")
            said = f": it says {why.partition(chr(9))[2]}" if why else ""
            raise Unavailable(
                f"{exe} on {self.host} is no homi that runs{said}",
                hint=f"ssh {self._ssh.typed} {exe} --version",
            )
        return Look(machine, "", "")

    def name(self, device: str) -> None:
        """Give a machine without a homi.toml one that names it."""
        if self._ssh.run(NAME, device).status:
            raise Unavailable(
                f"cannot write homi.toml on {self.host}",
                hint=f'there: device = "{device}" in ~/.config/homi/homi.toml',
            )

    def start(self) -> Running:
        """Its daemon runs when this returns."""
        return self._ask(Running, "start")

    def card(self) -> Card:
        """Who it is."""
        card = self._ask(Card, "link", "card")
        self.home = card.home
        return card

    def admit(self, mine: Card) -> Admitted:
        """Let this device in there."""
        return self._ask(
            Admitted, "link", "admit", "--exe", self.exe, mine.device, mine.key
        )

    def check(self, device: str) -> Checked:
        """Three probes from there to device; a check that failed is an answer too."""
        done = self._homi("link", "check", device, "--json")
        return self._answer(Checked, done, "link check", failed=1)

    def expel(self, device: str) -> Expelled:
        """Let device in no more."""
        return self._ask(Expelled, "link", "expel", device)

    def _homi(self, *argv: str) -> Ran:
        """One command of its homi."""
        home = ("--home", self.home) if self.home else ()
        return self._ssh.run(RUN, self.exe, *home, *argv)

    def _ask(self, kind: type[Answer], *argv: str) -> Answer:
        """The answer of a command of its homi, with its failure as ours."""
        what = " ".join(argv[:2] if argv[0] == "link" else argv[:1])
        return self._answer(kind, self._homi(*argv, "--json"), what)

    def _answer(
        self, kind: type[Answer], done: Ran, what: str, failed: int = 0
    ) -> Answer:
        """What a command printed."""
        if done.status not in (0, failed):
            raise self._failure(done, what)
        try:
            return msgspec.json.decode(done.out, type=kind)
        except msgspec.DecodeError as error:
            raise VersionMismatch(
                f"homi {what} on {self.host} answers what this homi cannot read",
                hint=f"install the same homi on both; there it is {self.exe}",
            ) from error

    def _failure(self, done: Ran, what: str) -> HomiError:
        """The failure of a command there, with the status it has there."""
        lines = [line.removeprefix("homi: ") for line in done.err.splitlines()]
        said = [line for line in lines if line and not line.startswith("hint: ")]
        hints = [line.removeprefix("hint: ") for line in lines if "hint: " in line]
        text = f"homi {what} on {self.host}: " + (said[-1] if said else "failed")
        hint = (
            f"there: {hints[-1]}"
            if hints
            else f"ssh {self._ssh.typed} {self.exe} {what}"
        )
        kinds = {kind.exit_status: kind for kind in BY_CODE.values()}
        return kinds.get(done.status, Unavailable)(text, hint=hint)
