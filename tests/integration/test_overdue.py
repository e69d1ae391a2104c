"""A queue that does not move, with clocks of seconds: a notice, a bounce, an expiry."""

from homi.connection import Connection
from homi.outgoing import Outgoing
from homi.reports import SendReport
from tests.integration.linked import key_of
from tests.standin.place import Place, until

SETTINGS = """device = "laptop"
ring = 8
reserve = 1
delay_after = 0.00001
bounce_after = {}
"""


def test_a_sender_hears_that_mail_waits_and_then_has_it_back() -> None:
    """Each once, over a death in between; what it wanted no longer expires."""
    settings = SETTINGS.format(1)
    with Place(settings, device="laptop") as laptop, Place(device="mini") as mini:
        for one in (laptop, mini):
            one.state.mkdir(mode=0o700)
        laptop.start()
        laptop.ok("claim", "bob")
        laptop.ok("claim", "eve")
        laptop.ok("link", "add", "mini", "--key", key_of(mini))
        sent = laptop.send("ada@mini", "hello", sender="bob")
        quick = Outgoing(to="ada@mini", text="quick", sender="eve", ttl=1)
        with Connection(laptop.state) as client:
            client.call(quick.request(1, None), SendReport)

        def kinds(name: str) -> list[str]:
            heads = [line["msg"] for line in laptop.lines(name)]
            return [f"{head['kind']} {head['text'].split()[-1]}" for head in heads]

        def expired() -> bool:
            texts = [line["msg"]["text"] for line in laptop.lines("eve")]
            return any("expired" in text for text in texts)

        until(expired, "what is wanted no longer comes back")
        until(lambda: kinds("bob"), "it is told of")
        laptop.kill()
        config = laptop.home / ".config" / "homi" / "homi.toml"
        config.write_text(SETTINGS.format(0.000002))
        laptop.start()
        until(lambda: len(kinds("bob")) > 1, "it came back")
        notice, bounce = (line["msg"] for line in laptop.lines("bob"))
        assert (notice["kind"], bounce["kind"]) == ("notice", "bounce")
        assert notice["reply_to"] == bounce["reply_to"] == sent
        assert "mini is unreachable" in notice["text"]
        assert "was not delivered: it waited" in bounce["text"]
        until(lambda: laptop.ok("queue", "@mini") == "", "nothing waits any more")
        ends = laptop.journal(laptop.state / "out" / "mini" / "ledger.jsonl")
        rungs = {line["rung"]: line.get("reason") for line in ends}
        assert rungs == {"bounced": "link-down", "expired": None}
