"""The Python interface against a real daemon: what it promises, and after a loss."""

import asyncio
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import homi
import homi.aclient
import homi.client
from homi import AsyncClient, Client, Outgoing, ids
from homi.errors import (
    BadMessage,
    HomiError,
    NoInput,
    NoSuchName,
    NotAllowed,
    NotReached,
    StorageFailed,
    TimedOut,
    Unavailable,
    Usage,
)
from homi.reports import SendReport
from tests.standin.place import Place, until


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A daemon with the name ada; who loses it waits until it is back."""
    for module in (homi.client, homi.aclient):
        monkeypatch.setattr(module, "PATIENCE", 60.0)
    with Place() as made:
        made.start()
        made.ok("claim", "ada")
        made.ok("claim", "svc")
        yield made


@pytest.fixture(scope="module")
def shared() -> Iterator[Place]:
    """A daemon that no test ends, with the name svc."""
    with Place() as made:
        made.start()
        made.ok("claim", "svc")
        yield made


@pytest.fixture
def ada(shared: Place) -> str:
    """A name that nobody has written to."""
    name = f"ada-{ids.new()[-8:]}"
    shared.ok("claim", name)
    return name


def msgs(place: Place, name: str) -> list[dict[str, Any]]:
    """What stands in a mailbox, in order."""
    return [line["msg"] for line in place.lines(name)]


def hard_restart(place: Place) -> None:
    """The daemon dies and another comes up."""
    place.kill()
    place.start()


async def connected(client: AsyncClient, count: int) -> None:
    """Wait until the daemon has so many connections."""
    async with asyncio.timeout(60):
        while (await client.status()).connections != count:
            pass


def test_mail_goes_in_is_listed_waited_for_and_acked(shared: Place, ada: str) -> None:
    """Each answer is the typed one of the page."""
    with Client(shared.state) as client:
        sent = client.send(ada, "hello", sender="svc")
        assert (sent.rung, sent.to, sent.duplicate) == ("stored", ada, False)
        assert [row.id for row in client.inbox(ada)] == [sent.id]
        assert client.wait(ada, timeout=5).ids == [sent.id]
        with pytest.raises(TimedOut):
            client.wait(ada, after=sent.seq, timeout=0.05)
        assert client.ack([sent.id], ada) == [sent.id]
        assert client.inbox(ada) == []
        client.send("svc", "done", sender=ada, reply_to=sent.id)
    assert msgs(shared, "svc")[-1]["kind"] == "reply"


def test_names_are_claimed_listed_and_released(shared: Place, ada: str) -> None:
    """fresh tells whether it was new; a second release is an error."""
    with Client(shared.state) as client:
        names = client.status().names
        assert client.claim("bob").fresh
        assert not client.claim("bob").fresh
        assert client.status().names == names + 1
        assert {ada, "bob"} <= {row.name for row in client.names()}
        assert client.release("bob").pending == 0
        with pytest.raises(NoSuchName):
            client.release("bob")
        assert client.status().names == names
        assert client.whoami().caller == "service"


def test_failures_are_the_exceptions_of_the_house(shared: Place, ada: str) -> None:
    """With the same words as on the command line."""
    with Client(shared.state) as client:
        with pytest.raises(NoSuchName, match="no name nobody") as caught:
            client.send("nobody", "x", sender="svc")
        assert caught.value.exit_status == os.EX_NOUSER
        with pytest.raises(BadMessage, match="empty"):
            client.send(ada, "", sender="svc")
        with pytest.raises(BadMessage, match="half a character"):
            client.send(ada, "\ud800", sender="svc")
        with pytest.raises(Usage, match="who writes"):
            client.send(ada, "x")
        with pytest.raises(NotAllowed):
            client.send(ada, "x", sender="owner")
        with pytest.raises(Usage, match="no rung"):
            client.send(ada, "x", sender="svc", wait_for="yesterday")
        with pytest.raises(NoInput):
            client.ack(["7c10"], ada)
        with pytest.raises(NotReached):
            client.send(ada, "x", sender="svc", wait_for="seen", timeout=0.05)
        assert client.send(ada, "x", sender="svc").rung == "stored"


def test_a_key_makes_one_message_of_two_sends(shared: Place, ada: str) -> None:
    """The command line makes the same id of it."""
    with Client(shared.state) as client:
        first = client.send(ada, "x", sender="svc", key="k")
        again = client.send(f"{ada.capitalize()}@self", "x", sender="SVC", key="k")
    assert (again.id, again.duplicate) == (first.id, True)
    assert shared.send(ada, "x", "--key", "k") == first.id


def test_without_a_daemon_it_is_told_at_once_and_used_again_when_one_runs(
    place: Place,
) -> None:
    """A client outlives daemons; nothing is waited for at its first call."""
    place.kill()
    client = Client(place.state)
    with pytest.raises(Unavailable, match="no daemon answers"):
        client.status()
    place.start()
    assert client.status().pid > 0
    client.close()
    assert client.status().pid > 0
    client.close()


def test_a_lost_connection_is_made_again_and_nothing_is_stored_twice(
    place: Place,
) -> None:
    """A daemon was killed between two calls, and while one waited."""
    with Client(place.state) as client:
        before = client.status().pid
        hard_restart(place)
        assert client.status().pid != before
        found: list[list[str]] = []

        def wait() -> None:
            with Client(place.state) as other:
                found.append(other.wait("ada").ids)

        waiter = threading.Thread(target=wait)
        waiter.start()
        until(lambda: client.status().connections == 2, "it waits")
        hard_restart(place)
        sent = client.send("ada", "after it", sender="svc")
        waiter.join(60)
        assert found == [[sent.id]]


def test_many_messages_are_told_in_their_order_whatever_becomes_of_each(
    shared: Place, ada: str
) -> None:
    """One that is refused, here or there, spoils no other."""
    texts = [f"number {i}" for i in range(300)]
    messages = [Outgoing(ada, text, "svc") for text in texts]
    messages[7] = Outgoing("nobody", "x", "svc")
    messages[8] = Outgoing(ada, "", "svc")
    with Client(shared.state) as client:
        results = list(client.send_many(messages, window=32))
        assert isinstance(results[7], NoSuchName)
        assert isinstance(results[8], BadMessage)
        stored = [one for one in results if isinstance(one, SendReport)]
        assert [one.id for one in stored] == [
            m.id for i, m in enumerate(messages) if i not in (7, 8)
        ]
        assert list(client.send_many([])) == []
    assert [row["text"] for row in msgs(shared, ada)] == [
        text for i, text in enumerate(texts) if i not in (7, 8)
    ]


def test_a_daemon_killed_among_many_loses_none_and_doubles_none(place: Place) -> None:
    """What had no answer is written again under the same ids."""
    messages = [Outgoing("ada", f"number {i}", "svc") for i in range(400)]
    with Client(place.state) as client:
        flow = client.send_many(messages, window=50)
        results = [next(flow) for _ in range(100)]
        hard_restart(place)
        results += flow
    assert all(isinstance(one, SendReport) for one in results)
    assert [row["id"] for row in msgs(place, "ada")] == [m.id for m in messages]


def test_a_run_given_up_leaves_the_client_usable(shared: Place, ada: str) -> None:
    """The answers nobody took must not be taken for those of the next call."""
    with Client(shared.state) as client:
        flow = client.send_many((Outgoing(ada, "x", "svc") for _ in range(100)), 20)
        assert isinstance(next(flow), SendReport)
        flow.close()  # type: ignore[attr-defined]
        assert client.whoami().caller == "service"


def test_an_async_client_does_many_things_on_one_connection(
    shared: Place, ada: str
) -> None:
    """Calls made at once do not wait for each other."""

    async def story() -> None:
        async with AsyncClient(shared.state) as client:
            await client.claim("bob")
            sends = [client.send("bob", f"{i}", sender="svc") for i in range(200)]
            ids = [one.id for one in await asyncio.gather(*sends)]
            assert len(set(ids)) == 200
            await connected(client, 1)
            assert len(await client.inbox("bob")) == 200
            assert set((await client.wait("bob", timeout=5)).ids) == set(ids)
            assert await client.ack(ids, "bob") == ids
            assert (await client.release("bob")).pending == 0
            assert (await client.whoami()).caller == "service"
            with pytest.raises(NoSuchName):
                await client.send("nobody", "x", sender="svc")
            with pytest.raises(NotReached):
                await client.send(ada, "x", sender="svc", wait_for="seen", timeout=0.05)
            many = [Outgoing(ada, f"{i}", "svc") for i in range(100)]
            found = [one async for one in client.send_many(many, window=16)]
            assert [getattr(one, "id", one) for one in found] == [m.id for m in many]

    asyncio.run(story())


def test_a_cancelled_call_harms_no_other_and_the_daemon_waits_for_nobody(
    shared: Place, ada: str
) -> None:
    """A task that is given up is as if it had never asked."""

    async def story() -> None:
        async with AsyncClient(shared.state) as client:
            await client.whoami()
            waiting = asyncio.create_task(client.wait(ada))
            await connected(client, 2)
            sending = asyncio.create_task(client.send(ada, "given up", sender="svc"))
            await asyncio.sleep(0)
            for task in (waiting, sending):
                task.cancel()
            await asyncio.gather(waiting, sending, return_exceptions=True)
            assert waiting.cancelled()
            await connected(client, 1)
            assert (await client.send(ada, "kept", sender="svc")).rung == "stored"

    asyncio.run(story())


def test_a_question_is_answered_by_who_was_asked_and_then_counts_as_read(
    shared: Place, ada: str
) -> None:
    """Of several at once each gets its own; one that is open is asked again by id."""

    async def story() -> None:
        async with AsyncClient(shared.state) as client:
            late = ids.new()
            with pytest.raises(TimedOut, match=late):
                await client.ask(ada, "?", sender="svc", id=late, timeout=0)
            texts = ["one", "two"]
            asks = [
                asyncio.create_task(client.ask(ada, text, sender="svc", id=one))
                for text, one in (("?", late), *zip(texts, texts_ids, strict=True))
            ]
            for one in (late, *texts_ids):
                await asyncio.to_thread(until, lambda one=one: known(one), one)
            for one in (*texts_ids, late):
                sent = await client.reply(one, f"to {one}", sender=ada)
                assert sent.to == "svc"
            found = await asyncio.gather(*asks)
            assert [x.text for x in found] == [f"to {x}" for x in (late, *texts_ids)]
            assert {shared.rungs("svc", x.answer)[-1] for x in found} == {"seen"}
            with pytest.raises(NotAllowed, match=f"was sent to {ada}"):
                await client.reply(late, "me!", sender="svc")

    texts_ids = [ids.new(), ids.new()]

    def known(one: str) -> bool:
        return any(one == msg["id"] for msg in msgs(shared, ada))

    asyncio.run(story())
    with Client(shared.state) as client:
        with pytest.raises(TimedOut):
            client.ask(ada, "and now?", sender="svc", timeout=0.05)
        ask = msgs(shared, ada)[-1]["id"]
        client.reply(ask[-12:], "yes", sender=ada)
        found = client.ask(ada, "and now?", sender="svc", id=ask, timeout=5)
        assert (found.text, found.from_, found.verified) == ("yes", ada, False)
        assert shared.rungs("svc", found.answer)[-1] == "seen"


def test_an_async_client_finds_the_daemon_again(place: Place) -> None:
    """Calls on their way and those that wait are asked again, each once."""

    async def story() -> None:
        async with AsyncClient(place.state) as client:
            await client.whoami()
            waiting = asyncio.create_task(client.wait("ada", timeout=30))
            await connected(client, 2)
            await asyncio.to_thread(hard_restart, place)
            sends = [client.send("ada", f"{i}", sender="svc") for i in range(20)]
            sent = await asyncio.gather(*sends)
            found = await waiting
            assert set(found.ids) <= {one.id for one in sent}
            assert found.ids
            await asyncio.to_thread(place.kill)
            with pytest.raises(Unavailable, match="no daemon answers"):
                await AsyncClient(place.state).status()

    asyncio.run(story())


def test_a_daemon_that_stays_away_leaves_a_send_unknown_not_failed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be stored: the id tells, and only it makes a second send safe."""
    monkeypatch.setattr(homi.client, "PATIENCE", 0.0)
    monkeypatch.setattr(homi.aclient, "PATIENCE", 0.0)

    async def later() -> None:
        async with AsyncClient(place.state) as other:
            await other.whoami()
            await asyncio.to_thread(place.kill)
            with pytest.raises(HomiError, match="did not come back"):
                await other.send("ada", "x", sender="svc")

    with Client(place.state) as client:
        client.whoami()
        place.kill()
        with pytest.raises(StorageFailed, match="not known to be stored"):
            client.send("ada", "x", sender="svc")
        place.start()
        assert client.whoami().caller == "service"
    asyncio.run(later())


def test_importing_homi_alone_imports_nothing_of_it(place: Place) -> None:
    """Every command pays for what the package imports."""
    probe = "import sys, homi; print(sorted(m for m in sys.modules if 'homi.' in m))"

    def said(code: str) -> str:
        run = [sys.executable, "-c", code]
        return subprocess.check_output(run, env=place.env(), text=True, timeout=60)

    assert said(probe).strip() == "[]"
    assert "homi.client" in said(f"import homi; homi.Client; {probe}")
    with pytest.raises(AttributeError):
        homi.Nothing  # type: ignore[attr-defined]  # noqa: B018


def examples() -> list[str]:
    """The programs of the page, as they stand there."""
    page = (Path(__file__).parents[2] / "man" / "homi-python.3").read_text()
    text = page.partition(".Sh EXAMPLES")[2].partition("\n.Sh ")[0]
    return re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", text, re.M | re.S)


def test_the_examples_of_the_page_run_as_they_stand(place: Place) -> None:
    """Who copies one must not have to mend it."""
    for name in ("gds-agent", "ci"):
        place.ok("claim", name)
    found = examples()
    assert len(found) >= 3
    for program in found:
        done = subprocess.run(
            [sys.executable, "-c", program.replace("\\e", "\\")],
            env=place.env(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, (program, done.stderr)
    assert len(place.lines("gds-agent")) == 7
