"""Mail between two real daemons that no network joins; later a link does."""

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.integration.linked import Pair, key_of, place
from tests.standin import sshd
from tests.standin.place import PATIENCE, Place, homi_command, until


class Apart:
    """laptop and mini know each other's keys, and no way to each other."""

    def __init__(self, ends: ExitStack) -> None:
        self.laptop = ends.enter_context(place("laptop"))
        self.mini = ends.enter_context(place("mini"))
        for one, name in ((self.laptop, "bob"), (self.mini, "ada")):
            one.state.mkdir(mode=0o700)
            key_of(one)
            one.start()
            one.ok("claim", name)
        self.laptop.ok("link", "add", "mini", "--key", key_of(self.mini))
        self.mini.ok("link", "add", "laptop", "--key", key_of(self.laptop))


@pytest.fixture
def apart() -> Iterator[Apart]:
    """Two devices without a network."""
    with ExitStack() as ends:
        yield Apart(ends)


def read(one: Place, data: str) -> dict[str, object]:
    """What a bundle came to."""
    found: dict[str, object] = json.loads(
        one.homi("bundle", "read", "--json", given=data).stdout
    )
    return found


def pending(one: Place, device: str) -> int:
    """How much waits for a device."""
    return len(one.ok("queue", f"@{device}").splitlines())


def test_mail_goes_there_and_what_came_back_ends_it(apart: Apart) -> None:
    """Writing changes nothing; reading twice does nothing; a bundle back is proof."""
    laptop, mini = apart.laptop, apart.mini
    sent = [laptop.send("ada@mini", f"number {n}", sender="bob") for n in range(3)]
    ledger = laptop.state / "out" / "mini" / "ledger.jsonl"
    there = laptop.ok("bundle", "write", "mini")
    assert (pending(laptop, "mini"), ledger.exists()) == (3, False)
    assert read(mini, there)["stored"] == 3
    assert [line["msg"]["id"] for line in mini.lines("ada")] == sent
    assert mini.lines("ada")[0]["via"]["device"] == "laptop"
    again = read(mini, there)
    assert (again["stored"], again["known"]) == (0, 3)
    mini.ok("send", "--from", "ada", "bob@laptop", "thanks")
    mini.stop()
    back = mini.ok("bundle", "write", "laptop")  # with its daemon dead
    mini.start()
    came = read(laptop, back)
    assert (came["stored"], came["relayed"]) == (1, 3)
    assert pending(laptop, "mini") == 0
    assert laptop.lines("bob")[0]["msg"]["text"] == "thanks"
    assert read(laptop, back)["relayed"] == 0
    ends = [json.loads(line) for line in ledger.read_text().splitlines() if line]
    assert [(line["rung"], line["by"]) for line in ends] == [
        ("relayed", "bundle mini")
    ] * 3


def test_what_is_refused_is_counted_and_stays_where_it_was(apart: Apart) -> None:
    """For good, or for now; a changed one stores nothing at all."""
    laptop, mini = apart.laptop, apart.mini
    laptop.ok("send", "--from", "bob", "ada@mini", "good")
    laptop.ok("send", "--from", "bob", "nobody@mini", "bad")
    there = laptop.ok("bundle", "write", "mini")
    done = mini.homi("bundle", "read", given=there.replace("good", "evil"))
    assert (done.returncode, done.stdout) == (65, "")
    assert "changed on its way" in done.stderr
    assert mini.lines("ada") == []
    done = mini.homi("bundle", "read", given=there)
    assert (done.returncode, done.stdout) == (
        65,
        "stored 1 message from laptop, 1 refused (no-such-name)\n",
    )
    assert pending(laptop, "mini") == 2
    done = laptop.homi("bundle", "read", given=there)
    assert done.returncode == 65
    assert "this device is laptop" in done.stderr
    mini.stop()
    done = mini.homi("bundle", "read", given=there)
    assert (done.returncode, done.stderr.splitlines()[1]) == (
        69,
        "homi: hint: homi start",
    )


def test_what_a_person_holds_stays_with_what_is_behind_it(apart: Apart) -> None:
    """As on a link: nothing of its lane overtakes it, other lanes go."""
    laptop = apart.laptop
    laptop.ok("claim", "eve")
    first = laptop.send("ada@mini", "first", sender="bob")
    laptop.ok("send", "--from", "bob", "ada@mini", "second")
    laptop.ok("send", "--from", "eve", "ada@mini", "other")
    laptop.ok("queue", "hold", first)
    done = laptop.homi("bundle", "write", "mini")
    assert '"text":"other"' in done.stdout
    assert '"text":"second"' not in done.stdout
    assert "2 messages left out" in done.stderr
    laptop.ok("queue", "release", first)
    assert laptop.ok("bundle", "write", "mini").count('"f":"mail"') == 3


def test_what_a_bound_parked_stays_and_what_counts_says_so(apart: Apart) -> None:
    """The rest of its lane goes; the other device goes on with the count."""
    laptop, mini = apart.laptop, apart.mini
    with laptop.session("bob", "--auto") as bob:
        go = mini.send("bob@laptop", "go", sender="ada")
        read(laptop, mini.ok("bundle", "write", "laptop"))
        bob.letter("go")
        send = [*homi_command(), "send", "ada@mini"]
        for text in ("point 1", "never ends", "never ends", "never ends"):
            bob.tool(*send, "--reply-to", go, text)
            go = laptop.journal(laptop.state / "out/mini/queue.jsonl")[-1]["msg"]["id"]
        bob.tool(*send, "another thing")
    queue = laptop.journal(laptop.state / "out/mini/queue.jsonl")
    parked = [line for line in queue if "parked" in line["via"]]
    assert parked
    there = laptop.ok("bundle", "write", "mini")
    assert all(line["msg"]["id"] not in there for line in parked)
    assert "another thing" in there
    mails = [json.loads(line) for line in there.splitlines()]
    turns = [line["turn"]["n"] for line in mails if "turn" in line]
    assert turns[:2] == [1, 2]
    read(mini, there)
    known = [row for row in mini.json("limits") if row["kind"] == "chain"]
    assert max(row["used"] for row in known) >= 2


def test_a_death_of_the_daemon_while_it_reads_is_mended_by_reading_again(
    apart: Apart,
) -> None:
    """Each message is there once, in order, whenever it dies."""
    laptop, mini = apart.laptop, apart.mini
    wanted = [f"text {n}" for n in range(700)]
    lines = "".join(f"{text}\n" for text in wanted)
    laptop.ok("send", "--lines", "--from", "bob", "ada@mini", given=lines)
    laptop.ok("bundle", "write", "mini", "-o", "to-mini")
    file = str(laptop.work / "to-mini")
    assert mini.stop() == 0
    daemon = mini.start(HOMI_FAULT="mid-lines:2")
    assert mini.homi("bundle", "read", file).returncode == 69
    assert daemon.wait(PATIENCE) == -signal.SIGKILL
    mini.start()
    done = json.loads(mini.ok("bundle", "read", "--json", file))
    assert done["known"] > 0
    assert done["stored"] > 0
    assert done["stored"] + done["known"] == len(wanted)
    assert [line["msg"]["text"] for line in mini.lines("ada")] == wanted


def test_a_link_drops_what_a_bundle_brought() -> None:
    """And what it settles is settled: the queue is empty at the end."""
    sshd.need()
    with Pair() as pair:
        laptop, mini = pair.laptop, pair.mini
        mini.ok("claim", "ada")
        laptop.ok("claim", "bob")
        pair.book()  # nobody lets the laptop in yet
        sent = laptop.send("ada@mini", "by hand", sender="bob")
        assert read(mini, laptop.ok("bundle", "write", "mini"))["stored"] == 1
        pair.let_in()
        laptop.ok("link", "resume", "mini")
        pair.both_up()
        until(lambda: not pair.row(laptop, "mini")["pending"], "the queue is empty")
        assert [line["msg"]["id"] for line in mini.lines("ada")] == [sent]
        assert '"rung":"relayed"' in laptop.ok("trace", "--json", sent)
