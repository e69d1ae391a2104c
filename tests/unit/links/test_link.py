"""One link, with a far end, a loop and a network that a test plays."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from homi.address import Device
from homi.clock import SystemClock
from homi.links.book import Peering
from homi.links.exchange import Exchange
from homi.links.frames import End
from homi.links.link import Link, Means
from homi.links.pipe import Maker, Pipe
from homi.links.state import LinkState, Refusal, Verdict

SMALL = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43
LARGE = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" + "9" * 42
MINI = Peering(device=Device("mini"), key=LARGE, host="me@mini")


class Talk:
    """What a link sees of an exchange."""

    def __init__(self, scene: "Scene", *, dialled: bool) -> None:
        self.scene, self.dialled = scene, dialled
        self.closed: list[str] = []
        self.probed = 0

    def start(self) -> None: ...

    def line(self, line: bytes) -> None: ...

    def overlong(self, length: int) -> None: ...

    def lost(self) -> None: ...

    def probe(self, _within: float) -> None:
        self.probed += 1

    def close(self, reason: str, text: str = "") -> None:
        if not self.closed:
            self.closed.append(reason)
            self.scene.link.ended(cast(Exchange, self), reason, text)


class Scene:
    """A link, and all it works with."""

    def __init__(self, peering: Peering = MINI, public: str = SMALL) -> None:
        self.loop = asyncio.get_running_loop()
        self.asked = 0
        self.answer: Callable[[], Any] = lambda: None
        self.talks: list[Talk] = []
        self.states: list[LinkState] = []
        means = Means(
            loop=self.loop,
            clock=SystemClock(),
            public=public,
            dial=self.dial,
            exchange=self.exchange,
            draw=lambda: 0.0,
        )
        self.link = Link(peering, means, self.changed)

    def changed(self, link: Link) -> None:
        if not self.states or self.states[-1] is not link.state:
            self.states.append(link.state)

    def exchange(self, _pipe: Pipe, _peering: Peering) -> Exchange:
        self.talks.append(Talk(self, dialled=True))
        return cast(Exchange, self.talks[-1])

    async def dial(self, host: str, make: Maker) -> Pipe:
        assert host == "me@mini"
        self.asked += 1
        if (found := self.answer()) is not None:
            raise found
        return Pipe(make, self.loop)

    def meet(self, talk: Talk | None = None) -> bool:
        return self.link.met(cast(Exchange, talk or self.talks[-1]))

    async def turns(self, count: int = 20) -> None:
        for _ in range(count):
            await asyncio.sleep(0)


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scene())


def test_it_is_dialled_comes_up_and_is_dialled_again_when_lost() -> None:
    async def scene() -> None:
        seen = Scene()
        seen.link.start()
        assert seen.link.state is LinkState.CONNECTING
        await seen.turns()
        assert seen.meet()
        seen.talks[-1].close(End.CLOSED, "gone")
        await seen.turns()
        assert (seen.asked, len(seen.talks)) == (2, 2)
        assert seen.meet()
        assert seen.link.state is LinkState.UP
        seen.link.stop(End.STOPPING)
        assert seen.talks[-1].closed == [End.STOPPING]
        await seen.turns()
        assert seen.asked == 2

    play(scene)


def test_a_refused_dial_is_told_and_only_a_person_hurries_what_needs_one() -> None:
    async def scene() -> None:
        seen = Scene()
        verdict = Verdict(LinkState.HOST_KEY, "changed", "ssh-keygen -R mini")
        seen.answer = lambda: Refusal(verdict)
        seen.link.start()
        await seen.turns()
        assert (seen.link.verdict, seen.link.failures) == (verdict, 1)
        assert seen.link.next_try > 0
        seen.link.wake()
        await seen.turns()
        assert seen.asked == 1
        seen.answer = lambda: None
        seen.link.wake(person=True)
        await seen.turns()
        assert seen.asked == 2
        assert seen.meet()
        seen.link.stop(End.CLOSED)

    play(scene)


def test_a_person_who_hurries_a_try_under_way_gets_another_behind_it() -> None:
    """That one may meet what was before the mending; the control: the other alone."""

    async def scene() -> None:
        seen = Scene()

        def answer() -> Refusal:
            seen.link.wake(person=seen.asked == 1)
            return Refusal(Verdict(LinkState.AUTH, "not taken"))

        seen.answer = answer
        seen.link.start()
        await seen.turns()
        assert (seen.asked, seen.link.failures) == (2, 2)
        assert seen.link.dials
        seen.link.stop(End.CLOSED)

    play(scene)


def test_a_bug_in_the_dialling_is_told_and_tried_again() -> None:
    """Nothing a link does ends the daemon."""

    async def scene() -> None:
        seen = Scene()
        seen.answer = lambda: KeyError("oops")
        seen.link.start()
        await seen.turns(5)
        assert seen.link.failures >= 1
        assert "a bug of homi: KeyError" in seen.link.verdict.text
        seen.answer = lambda: None
        seen.link.wake()
        await seen.turns()
        assert seen.meet()
        seen.link.stop(End.CLOSED)

    play(scene)


def test_who_is_up_is_asked_behind_a_suspend_and_not_dialled() -> None:
    async def scene() -> None:
        seen = Scene()
        seen.link.start()
        await seen.turns()
        seen.meet()
        seen.link.wake()
        await seen.turns()
        assert (seen.talks[0].probed, seen.asked) == (1, 1)
        seen.link.stop(End.CLOSED)

    play(scene)


@pytest.mark.parametrize(("public", "stays"), [(SMALL, "ours"), (LARGE, "theirs")])
def test_of_two_crosswise_that_of_the_smaller_key_stays(
    public: str, stays: str
) -> None:
    """In either order of their proofs."""
    theirs_key = LARGE if public is SMALL else SMALL
    peering = Peering(device=Device("mini"), key=theirs_key, host="me@mini")

    async def scene() -> None:
        for ours_first in (True, False):
            seen = Scene(peering, public)
            seen.link.start()
            await seen.turns()
            ours, theirs = seen.talks[0], Talk(seen, dialled=False)
            order = [ours, theirs] if ours_first else [theirs, ours]
            for talk in order:
                seen.meet(talk)
            kept = ours if stays == "ours" else theirs
            other = theirs if kept is ours else ours
            assert seen.link.up is kept
            assert (kept.closed, other.closed) == ([], [End.SUPERSEDED])
            await seen.turns()
            assert seen.asked == 1
            seen.link.stop(End.CLOSED)

    play(scene)


def test_one_that_dials_us_is_waited_for_and_a_paused_one_is_refused() -> None:
    async def scene() -> None:
        seen = Scene(Peering(device=Device("mini"), key=LARGE))
        seen.link.start()
        await seen.turns()
        assert (seen.asked, seen.link.state) == (0, LinkState.UNREACHABLE)
        assert seen.meet(Talk(seen, dialled=False))
        assert seen.link.state is LinkState.UP
        paused = Scene(Peering(device=Device("mini"), key=LARGE, paused=True))
        paused.link.start()
        talk = Talk(paused, dialled=False)
        assert not paused.meet(talk)
        assert talk.closed == [End.PAUSED]
        assert paused.link.state is LinkState.PAUSED

    play(scene)


def test_a_dial_under_way_ends_with_the_link() -> None:
    async def scene() -> None:
        seen = Scene()
        seen.link.start()
        await seen.turns(2)
        seen.link.stop(End.CLOSED)
        await seen.turns()
        assert seen.link.up is None
        assert not seen.link.dials

    play(scene)
