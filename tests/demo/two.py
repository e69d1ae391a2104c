"""Two devices on one machine, over a real sshd on loopback: pair, send, cut, heal."""

from tests.demo.scene import Scene, short
from tests.standin.place import Place, until
from tests.standin.sshd import Sshd

NAME = "reviewer"


class TwoDevices:
    """The second part; each step asserts what it shows."""

    def __init__(self, scene: Scene, laptop: Place, mini: Place, server: Sshd) -> None:
        """The laptop's postmaster runs; mini has nothing but a homi and an sshd."""
        self.scene = scene
        self.laptop = laptop
        self.mini = mini
        self.server = server
        server.reach(laptop)

    def tell(self) -> None:
        """All of it; both postmasters still run at the end."""
        self.pair()
        first = self.send()
        second = self.cut()
        self.heal(first, second)
        self.answer(second)

    def pair(self) -> None:
        """Once, by the person's own ssh."""
        self.scene.say(
            "A second device, mini: a home and an sshd of its own.  Pair the two, once,"
            " by your own ssh."
        )
        self.scene.homi(self.laptop, "pair", "mini")

    def send(self) -> str:
        """To a name of the other device."""
        self.scene.say("Claim a name there, and send to it from here.")
        self.scene.homi(self.mini, "claim", NAME)
        first = self.scene.send(self.laptop, f"{NAME}@mini", "is alpha fit to merge?")
        self.mini.stored(NAME, "is alpha fit")
        self.scene.homi(self.laptop, "ls", "mini")
        return first

    def cut(self) -> str:
        """Mail waits here, and the queue says why."""
        self.scene.say("Cut the link: the next mail waits here, and says what for.")
        self.server.down()
        self.server.cut()
        until(lambda: self.state() != "up", "the link is down")
        second = self.scene.send(self.laptop, f"{NAME}@mini", "and beta?")
        shown = self.scene.homi(self.laptop, "queue", "@mini")
        assert "link-down" in shown, "the queue says why"
        self.scene.homi(self.laptop, "link", "ls")
        return second

    def heal(self, first: str, second: str) -> None:
        """It goes by itself; a session has both, in order."""
        self.scene.say("Heal it: what waited goes by itself, and a session has it all.")
        self.server.up()
        self.mini.stored(NAME, "and beta?")
        agent = self.scene.session(self.mini, NAME, "--auto")
        agent.letter("and beta?")
        for letter in agent.letters():
            self.scene.show(letter["text"])
        told = [letter["msg_id"] for letter in agent.letters()]
        assert told == [first, second], told

    def answer(self, second: str) -> None:
        """Back to the person, by the session's own tool."""
        self.scene.say("Its answer, sent by its own tool, comes back to you.")
        agent = self.mini.sessions[-1]
        asked = agent.letter("and beta?")
        assert agent.send(asked["from"], "alpha is, beta lacks a test")["ok"]
        answer = self.laptop.stored("owner", "beta lacks a test")
        assert answer["via"]["device"] == "mini", answer
        self.scene.homi(self.laptop, "inbox", "--brief")
        self.scene.homi(self.laptop, "trace", short(second))
        agent.exit()

    def state(self) -> str:
        """How the link is, by the word of the laptop."""
        return str(self.laptop.json("link", "ls", "--no-probe")["state"])
