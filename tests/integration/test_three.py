"""Three real daemons in a row: laptop dials mini, mini dials attic, over real sshds.

What the two ends write to each other passes the one in the middle.
"""

import json
import uuid
from collections.abc import Iterator

import msgspec
import pytest

from homi.connection import Connection
from homi.reports import SendReport
from homi.requests import Send
from tests.integration.linked import Pair, key_of, place
from tests.standin import sshd
from tests.standin.place import Place, until


class Row(Pair):
    """The pair, and attic behind mini."""

    attic: Place

    def link_attic(self, attic: Place, server: sshd.Sshd) -> None:
        """mini dials it; the laptop and it know each other by mini alone."""
        self.attic = attic
        attic.state.mkdir(mode=0o700)
        key_of(attic)
        attic.start()
        server.reach(self.mini)
        server.authorize(self.forced(self.mini, at=attic))
        attic.ok("link", "add", "mini", "--key", key_of(self.mini))
        key = key_of(attic)
        self.mini.ok("link", "add", "attic", "--key", key, "--host", "attic")
        self.laptop.ok("link", "add", "attic", "--via", "mini")
        attic.ok("link", "add", "laptop", "--via", "mini")
        self.is_(self.mini, "attic", "up")

    def waiting(self) -> int:
        """How much any of them keeps for another."""
        ends = (self.laptop, self.mini, self.attic)
        found = [one.json("link", "ls", "--no-probe") for one in ends]
        rows = [row for each in found for row in each]
        return sum(int(row["pending"]) for row in rows)


@pytest.fixture
def row() -> Iterator[Row]:
    """bob is a name on the laptop, eve one on attic; all is up."""
    sshd.need()
    with Row() as made, place("attic") as attic, sshd.Sshd(attic) as server:
        made.link()
        made.link_attic(attic, server)
        made.both_up()
        made.laptop.ok("claim", "bob")
        attic.ok("claim", "eve")
        yield made


def test_what_two_devices_write_passes_a_third_as_it_was(row: Row) -> None:
    """With fields that no homi knows, byte for byte; it waits while the one in the
    middle is away, and the answer finds its way back."""
    body = {"id": str(uuid.uuid4()), "from": "bob", "to": "eve@attic", "text": "über"}
    text = json.dumps(body | {"ext": {"foo": [1, {"a": None}]}, "later": 7})
    with Connection(row.laptop.state) as client:
        client.call(Send(i=1, msg=msgspec.Raw(text.encode())), SendReport)
    row.attic.stored("eve", "über")
    line = (row.attic.state / "mail/eve/inbox.jsonl").read_bytes()
    assert text.encode() in line
    (came,) = row.attic.lines("eve")
    assert came["hops"] == ["laptop", "mini"]
    assert (came["via"]["device"], came["via"]["relay"]) == ("laptop", "mini")

    assert row.mini.stop() == 0
    row.is_(row.laptop, "mini", "unreachable")
    sent = [row.laptop.send("eve@attic", f"{n}", sender="bob") for n in range(3)]
    assert row.row(row.laptop, "attic")["pending"] == len(sent)
    row.mini.start()
    row.laptop.ok("link", "resume", "mini")
    row.attic.stored("eve", "2")
    assert [one["msg"]["id"] for one in row.attic.lines("eve")][1:] == sent
    row.attic.ok("send", "--from", "eve", "--reply-to", sent[0], "bob@laptop", "yes")
    answer = row.laptop.stored("bob", "yes")
    assert answer["hops"] == ["attic", "mini"]
    until(lambda: not row.waiting(), "nothing waits anywhere")
    until(lambda: "answered" in row.laptop.ok("trace", sent[0]), "it is answered")
    assert json.loads(row.laptop.ok("link", "check", "attic", "--json"))["kept"] == 3
