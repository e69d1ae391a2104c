"""Devices that are paired, and break every rule, against a real daemon.

Beside each stands an honest one, whose link must not notice.
"""

import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from homi.dial import Dial
from homi.links.checks import PROBES, VERB
from homi.links.identity import Identity
from homi.links.known import NAMES_MAX
from tests.integration.linked import key_of, place
from tests.standin.place import PATIENCE, Place, until
from tests.standin.rogue import Json, Rogue, letter

MIB = 1 << 20
GROWTH = 96 * MIB  # of the daemon, by anything that a device says: a line may be 32

# Fields of a message, where it goes, and how it came.
REFUSED: list[tuple[Json, str, tuple[str, ...] | None]] = [
    ({"from": "../ada"}, "ada@mini", None),
    ({"from": "bob@laptop"}, "ada@mini", None),
    ({"from": "@laptop"}, "ada@mini", None),
    ({"from": ""}, "ada@mini", None),
    ({"id": "../../../x"}, "ada@mini", None),
    ({"id": "x" * 100_000}, "ada@mini", None),
    ({"kind": "bounce", "reply_to": str(uuid.uuid4())}, "ada@mini", None),
    ({"kind": "notice", "reply_to": str(uuid.uuid4())}, "ada@mini", None),
    ({"reply_to": "../x"}, "ada@mini", None),
    ({"text": 7}, "ada@mini", None),
    ({"ext": json.loads("[" * 40 + "]" * 40)}, "ada@mini", None),
    ({}, "../../ada@mini", None),
    ({}, "ada@../x", None),
    ({}, "ada@@evil", None),
    ({}, "@evil", None),
    ({}, "ada@nowhere", None),
    ({}, "nobody@mini", None),
    ({}, "x" * 1_000_000, None),
    ({}, "ada@mini", ()),
    ({}, "ada@mini", ("laptop",)),
    ({}, "ada@mini", ("evil", "laptop")),
    ({}, "ada@mini", ("../x", "evil")),
    ({}, "ada@mini", ("@laptop", "evil")),
    ({}, "ada@mini", ("evil",) * 100),
]


class Scene:
    """mini, which is paired with laptop and evil; laptop is there and honest."""

    def __init__(self, mini: Place, root: Path) -> None:
        """Both keys are pinned, and ada is a name on mini."""
        self.mini = mini
        self.keys = {}
        mini.state.mkdir(mode=0o700)
        key_of(mini)
        mini.start()
        mini.ok("claim", "ada")
        for device in ("laptop", "evil"):
            (root / device).mkdir(mode=0o700)
            self.keys[device] = Identity.load(root / device)
            key = self.keys[device].public
            mini.ok("link", "add", device, "--key", key)
        self.laptop = self.rogue("laptop")

    def rogue(self, device: str) -> Rogue:
        """That device, proven."""
        made = Rogue(self.mini, device, self.keys[device])
        assert not made.ended, made.ended
        return made

    def rss(self) -> int:
        """Bytes of memory of the daemon."""
        assert self.mini.daemon is not None
        return int(psutil.Process(self.mini.daemon.pid).memory_info().rss)

    def unharmed(self) -> None:
        """The honest one's mail is stored; mini has the folders it had."""
        msg = letter()
        assert self.laptop.mail(msg, "ada@mini").get("not") is None
        assert self.mini.lines("ada")[-1]["msg"]["id"] == msg["id"]
        for top, known in (("mail", {"ada", "owner", "postmaster"}), ("out", {"max"})):
            folder = self.mini.state / top
            found = [path.name for path in folder.iterdir()] if folder.exists() else []
            assert set(found) <= known, found


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """The daemon lives to the end."""
    with place("mini", 600) as mini:
        made = Scene(mini, tmp_path)
        yield made
        made.unharmed()
        made.laptop.close()
        assert mini.daemon is not None
        assert mini.daemon.poll() is None


@pytest.mark.parametrize("claims", [False, True])
def test_who_serves_anothers_name_without_its_key_gets_nothing(
    scene: Scene, claims: bool
) -> None:
    """Any program of this user can run `homi link serve`; the mail of max stays."""
    scene.mini.ok("link", "add", "max", "--key", scene.keys["laptop"].public)
    sent = scene.mini.send("bob@max", "for max alone", sender="ada")
    shown = scene.keys["laptop"].public if claims else ""
    with Rogue(scene.mini, "max", scene.keys["evil"], claims=shown) as other:
        assert other.ended["reason"] == ("auth" if claims else "device-key")
        assert other.line() == b""
    rows = {row["device"]: row for row in scene.mini.json("link", "ls", "--no-probe")}
    assert (rows["max"]["pending"], rows["laptop"]["state"]) == (1, "up")
    with Rogue(scene.mini, "max", scene.keys["laptop"]) as true:  # the control
        frame = true.frame("mail")
        assert frame["msg"]["id"] == sent
        true.say(b'{"f":"ack","after":0,"upto":1}')
        until(lambda: "relayed" in _rungs(scene.mini, sent), "it is relayed")


def test_mail_that_is_not_what_it_says_is_refused_for_good(scene: Scene) -> None:
    """Path tricks, forged senders and ways; the connection lives on."""
    with scene.rogue("evil") as evil:
        for fields, to, hops in REFUSED:
            told = evil.mail(letter(**fields), to, hops)
            case = (fields, to[:80], hops)
            assert told["f"] == "ack", case
            assert told["not"][0]["permanent"], case
            assert len(json.dumps(told)) < 5_000, case
            assert not scene.mini.lines("ada"), case
        good = evil.mail(letter(), "ada@mini")  # the control
        assert good["f"] == "ack"
        assert good.get("not") is None


def test_what_no_device_says_ends_its_link_alone(scene: Scene) -> None:
    """Each with its reason; it may come back."""
    for line, reason in (
        (b"[" * 100_000, "protocol"),
        (b'{"f":"mail","n":1,"msg":' + b"[" * 1_000_000, "protocol"),
        (b'{"f":"mail","n":%s}' % (b"9" * 5_000), "protocol"),
        (b'{"f":"mail","n":5,"to":"ada@mini","hops":[],"msg":{}}', "protocol"),
        (b'{"f":"ack","after":0,"upto":1}', "protocol"),
        (b'{"f":"hello"}', "protocol"),
        (b'{"f":"res","i":1,"ok":{}}', "protocol"),
        (b'{"f":"names","names":{"ada":1}}', "protocol"),
        (b"\xff\xfe\x00", "protocol"),
        (b" " * (33 * MIB), "busy"),
        (b"\n".join([b'{"f":"later"}'] * 10_001), "busy"),
    ):
        with scene.rogue("evil") as evil:
            evil.say(line)
            found = evil.frame("none")
            assert found.get("reason") == reason, (line[:40], found)
    scene.unharmed()


def test_floods_cost_no_memory_and_nobody_else_anything(scene: Scene) -> None:
    """Names by the hundred thousand, hints about nothing, questions whose answers are
    never read, lines as long as there may be."""
    scene.mini.ok("link", "add", "evil", "--mirror")
    before = scene.rss()
    tricks = ["../x", "@x", "a/b", "", "x" * 300, "owner", "postmaster", ".."]
    with scene.rogue("evil") as evil:
        for turn in range(3):
            names = [{"name": f"n{turn}-{n}", "generation": n} for n in range(100_000)]
            rows = [{"name": name, "generation": 10**30} for name in tricks]
            frame = {"f": "names", "all": turn == 0, "names": rows + names}
            evil.say(json.dumps(frame).encode())
        evil.say(b'{"f":"ping","t":5}')
        assert evil.frame("pong")["f"] == "pong"
        scene.unharmed()
        for _ in range(4):
            rungs = [
                b'{"f":"rung","id":"%s","rung":"answered"}' % str(uuid.uuid4()).encode()
                for _ in range(5_000)
            ]
            evil.say(*rungs)
        evil.say(b'{"f":"ping","t":6}')
        assert evil.frame("pong")["f"] == "pong"
        assert evil.mail(letter(text="x" * (3 * MIB)), "ada@mini")["not"]
        scene.unharmed()
    kept = until(lambda: _kept(scene.mini), "what was told is kept")
    assert len(kept) <= NAMES_MAX
    assert not set(tricks[:5]) & set(kept)
    grown = scene.rss() - before
    assert grown < GROWTH, f"{grown / MIB:.0f} MiB"


def test_answers_that_are_never_read_end_the_link(scene: Scene) -> None:
    """They are kept for who asks; so is nothing else here."""
    with Dial(str(scene.mini.state / "homi.sock")) as dial:
        for n in range(40):
            claim = {"verb": "claim", "i": n + 1, "name": f"{n}-{'x' * 55}"}
            dial.ask(json.dumps(claim).encode() + b"\n")
    before = scene.rss()
    with scene.rogue("evil") as evil:
        line = b'{"f":"req","i":%d,"verb":"ls"}'
        evil.say(*(line % i for i in range(1, 9_000)))
        scene.unharmed()
        found = evil.frame("none")
    assert found == {} or found["reason"] == "busy"
    grown = scene.rss() - before
    assert grown < GROWTH, f"{grown / MIB:.0f} MiB"


def test_a_device_that_keeps_some_probes_and_not_others_is_intermittent(
    scene: Scene,
) -> None:
    """Two of three are no health; three are."""
    for kept in (2, 3):
        with scene.rogue("evil") as evil, ThreadPoolExecutor(1) as pool:
            check = pool.submit(scene.mini.homi, "link", "check", "evil")
            for n in range(PROBES):
                asked = evil.frame("req")
                while asked["verb"] != VERB:
                    asked = evil.frame("req")
                res = {"f": "res", "i": asked["i"]}
                no = {"error": {"code": "io", "text": "the disk: full"}}
                evil.say(json.dumps(res | ({"ok": {}} if n < kept else no)).encode())
            done = check.result(PATIENCE)
        assert done.stdout.startswith(f"evil: {kept} of 3 probes in ")
        assert done.returncode == (0 if kept == PROBES else 1)
        assert ("evil: intermittent: there: the disk: full" in done.stderr) == (
            kept == 2
        )


def _kept(mini: Place) -> list[str]:
    """The names of evil, once they are written: a moment later, and whole."""
    file = mini.state / "known.json"
    known = json.loads(file.read_text()) if file.exists() else {"devices": {}}
    return list(known["devices"].get("evil", {}).get("names", ()))


def _rungs(mini: Place, message: str) -> list[str]:
    """What the ledger of an out queue says of it."""
    file = mini.state / "out" / "max" / "ledger.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return [
        row["rung"]
        for row in map(json.loads, filter(None, lines))
        if row["id"] == message
    ]
