"""Links between two real daemons over a real sshd."""

import contextlib
import json
import socket
from collections.abc import Iterator

import pytest

from tests.integration.linked import Pair, key_of, linked_pair
from tests.standin import sshd
from tests.standin.place import Place, until


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two daemons and an ssh server; whatever happens to their link, they live."""
    sshd.need()
    with Pair() as made:
        yield made
        for one in (made.laptop, made.mini):
            assert one.daemon is None or one.daemon.poll() in (None, 0)


@pytest.fixture(scope="module")
def kept() -> Iterator[Pair]:
    """Two devices for all that leave their link as it was."""
    yield from linked_pair()


@pytest.fixture
def linked(kept: Pair) -> Iterator[Pair]:
    """Their link is up, and their daemons live to the end."""
    kept.both_up()
    yield kept
    for one in (kept.laptop, kept.mini):
        assert one.daemon is not None
        assert one.daemon.poll() is None


def test_a_link_comes_up_is_measured_and_heals(linked: Pair) -> None:
    """Both ends know who is there; a cut is dialled over, a stopped daemon is waited
    for, and its end is told in words."""
    pair = linked
    for one, other in ((pair.laptop, "mini"), (pair.mini, "laptop")):
        row = json.loads(one.ok("link", "ls", "--json"))
        assert row["ms"] >= 0
        assert row["software"].startswith("homi ")
        found = json.loads(one.ok("link", "check", "--json", other))
        assert (found["kept"], len(found["ms"]), found["state"]) == (3, 3, "up")
    since = pair.row(pair.laptop, "mini")["since"]
    assert pair.sshd.cut() == 1
    until(lambda: pair.row(pair.laptop, "mini")["since"] > since, "the cut was noticed")
    pair.both_up()

    assert pair.mini.stop() == 0
    row = pair.is_(pair.laptop, "mini", "unreachable")
    assert row["failures"] >= 1
    # There is none while a try is under way.
    until(lambda: pair.row(pair.laptop, "mini")["next_try"], "a next try is planned")
    done = pair.laptop.homi("link", "check", "mini")
    assert (done.returncode, done.stdout) == (1, "mini: 0 of 3 probes\n")
    assert "no daemon answers" in done.stderr
    pair.mini.start()
    pair.laptop.ok("link", "resume", "mini")
    pair.both_up()

    assert pair.laptop.stop() == 0
    row = pair.is_(pair.mini, "laptop", "unreachable")
    assert row["text"] == "it dials this device; its daemon stopped"
    pair.laptop.start()


def test_a_changed_host_key_is_told_with_the_fix_and_works_behind_it(
    linked: Pair,
) -> None:
    """It is never taken by itself."""
    pair = linked
    pair.sshd.change_host_key()
    pair.sshd.cut()
    row = pair.is_(pair.laptop, "mini", "host-key")
    assert "another key is in known_hosts" in row["text"]
    assert f"ssh-keygen -R '[127.0.0.1]:{pair.sshd.port}'" in row["fix"]
    pair.sshd.trust(pair.laptop)
    pair.laptop.ok("link", "resume", "mini")
    pair.both_up()


def test_a_host_nobody_met_is_not_met_by_a_daemon() -> None:
    """The control: the same host, once a person met it."""
    sshd.need()
    with Pair(trust=False) as pair:
        pair.link()
        row = pair.is_(pair.laptop, "mini", "host-key")
        assert "ssh mini true" in row["fix"]
        known = pair.laptop.home / ".ssh" / "known_hosts"
        assert not known.exists() or known.read_text() == ""
        pair.sshd.trust(pair.laptop)
        pair.laptop.ok("link", "resume", "mini")
        pair.both_up()


def test_a_key_the_sshd_does_not_take_is_told_and_no_other_is_tried(
    pair: Pair,
) -> None:
    """The person's own key would be let in: the daemon has no use of it."""
    pair.book()
    row = pair.is_(pair.laptop, "mini", "auth")
    assert row["fix"] == "homi pair mini"
    pair.let_in()
    pair.laptop.ok("link", "resume", "mini")
    pair.both_up()


def test_a_device_with_another_key_than_the_pinned_one_gets_nothing(
    linked: Pair,
) -> None:
    """Set up anew, or somebody else by that name: a person decides."""
    pair = linked
    assert pair.mini.stop() == 0
    for file in (pair.mini.state / "keys").iterdir():
        file.unlink()
    pair.mini.start()
    pair.laptop.ok("link", "resume", "mini")
    row = pair.is_(pair.laptop, "mini", "device-key")
    assert "homi pair mini" in row["fix"]
    pair.laptop.ok("link", "add", "mini", "--key", key_of(pair.mini))
    pair.both_up()


def test_a_paused_link_rests_on_both_sides(linked: Pair) -> None:
    """Whoever paused it."""
    pair = linked
    pair.mini.ok("link", "pause", "laptop")
    row = pair.is_(pair.laptop, "mini", "unreachable")
    assert "paused" in row["text"]
    pair.mini.ok("link", "resume", "laptop")
    pair.laptop.ok("link", "resume", "mini")
    pair.both_up()
    pair.laptop.ok("link", "pause", "mini")
    pair.is_(pair.laptop, "mini", "paused")
    pair.is_(pair.mini, "laptop", "unreachable")
    pair.laptop.ok("link", "rm", "mini")
    assert pair.laptop.ok("link", "ls") == ""
    pair.book()
    pair.both_up()


def test_noise_and_a_banner_are_passed_over_and_kept_as_words(linked: Pair) -> None:
    """Up to a bound; none of it is taken for why anything failed."""
    pair = linked
    pair.sshd.noisy('{"motd":"Welcome to mini!"}\nlast line without an end')
    pair.sshd.banner("Authorised use only\n")
    pair.sshd.cut()
    noise = '2 lines before the first frame: {"motd":"Welcome to mini!"}'
    until(lambda: noise in pair.row(pair.laptop, "mini").get("said", ""), "it is kept")
    pair.both_up()
    assert "Authorised use only" in pair.row(pair.laptop, "mini")["said"]
    pair.sshd.noisy("x" * 100_000)
    pair.sshd.cut()
    until(
        lambda: "rc files" in pair.row(pair.laptop, "mini").get("fix", ""),
        "the noise is named",
    )
    pair.sshd.noisy("")
    pair.sshd.configure()
    pair.laptop.ok("link", "resume", "mini")
    pair.both_up()


def test_a_far_end_that_stands_still_is_noticed_and_dialled_anew() -> None:
    """The connection is there and nobody answers on it."""
    sshd.need()
    with Pair(keepalive=0.3) as pair:
        pair.link()
        pair.both_up()
        since = pair.row(pair.laptop, "mini")["since"]
        pair.sshd.stall()
        until(
            lambda: pair.row(pair.laptop, "mini")["since"] > since,
            "the silence was noticed",
        )
        pair.both_up()
        found = json.loads(pair.laptop.ok("link", "check", "--json", "mini"))
        assert found["kept"] == 3


def test_of_two_connections_dialled_crosswise_one_stays(pair: Pair) -> None:
    """The same one on both ends, and neither dials again."""
    with sshd.Sshd(pair.laptop) as other:
        other.reach(pair.mini)
        other.authorize(pair.forced(pair.mini, at=pair.laptop))
        pair.let_in()
        pair.book()
        pair.mini.ok("link", "add", "laptop", "--host", "laptop")
        pair.both_up()
        dialled, accepted = ("dialled", "accepted"), ("accepted", "dialled")

        def one_stays() -> bool:
            ways = (
                pair.row(pair.laptop, "mini")["way"],
                pair.row(pair.mini, "laptop")["way"],
            )
            there = (bool(pair.sshd.pids()), bool(other.pids()))
            return (ways, there) in (
                (dialled, (True, False)),
                (accepted, (False, True)),
            )

        until(one_stays, "one connection stays")
        for one, name in ((pair.laptop, "mini"), (pair.mini, "laptop")):
            assert json.loads(one.ok("link", "check", "--json", name))["kept"] == 3


def test_dead_refusing_and_silent_links_leave_the_others_alone(linked: Pair) -> None:
    """One that refuses, one that takes the connection and says nothing, one that is
    no host at all."""
    pair = linked
    key = key_of(pair.mini)
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]
        for name, host in (
            ("refusing", "127.0.0.1:1"),
            ("silent", f"127.0.0.1:{port}"),
            ("nowhere", "no-such-host.invalid"),
        ):
            pair.laptop.ok("link", "add", name, "--host", host, "--key", key)
        pair.is_(pair.laptop, "refusing", "unreachable")
        pair.is_(pair.laptop, "silent", "connecting")
        found = json.loads(pair.laptop.ok("link", "check", "--json", "mini"))
        assert found["kept"] == 3
        assert len(pair.laptop.ok("link", "ls").splitlines()) == 4
        for name in ("refusing", "silent", "nowhere"):
            pair.laptop.ok("link", "rm", name)


def test_the_state_root_of_a_device_that_was_removed_knows_it_no_more(
    pair: Pair,
) -> None:
    """Its connection ends, and it is not let in again."""
    pair.link()
    pair.both_up()
    pair.mini.ok("link", "rm", "laptop")
    row = pair.is_(pair.laptop, "mini", "auth")
    assert "not paired" in row["text"]
    assert row["fix"] == "homi pair mini"
    away = pair.is_(pair.mini, "laptop", "turned-away")
    assert away["turned"]["origin"] == "127.0.0.1"
    assert away["text"] in row["text"]


def test_links_come_back_with_the_daemon(linked: Pair) -> None:
    """They are on disk."""
    pair = linked
    for one in (pair.laptop, pair.mini):
        one.kill()
    for one in (pair.mini, pair.laptop):
        one.start()
    pair.both_up()
    assert _devices(pair.laptop) == ["mini"]


def _devices(one: Place) -> list[str]:
    """The linked devices."""
    return [line.split("\t")[0] for line in one.ok("link", "ls").splitlines()]


def test_a_jump_host_is_passed_with_the_device_key_alone(pair: Pair) -> None:
    """A jump that does not take that key is told as what it is."""
    with Place(device="jump") as jump, sshd.Sshd(jump) as between:
        between.reach(pair.laptop)
        config = pair.laptop.home / ".ssh" / "config"
        config.write_text(f"Host mini\n    ProxyJump jump\n{config.read_text()}")
        pair.link()
        row = pair.is_(pair.laptop, "mini", "auth")
        assert between.log.read_text().count("Connection from") == 1
        between.authorize(f"restrict,port-forwarding {key_of(pair.laptop)}\n")
        pair.laptop.ok("link", "resume", "mini")
        pair.both_up()
        assert between.pids(), row
        between.cut()
        pair.both_up()


def test_a_device_that_is_behind_another_here_is_told_so(pair: Pair) -> None:
    """It dials this one, and is paired: the truth is that its mail goes another way."""
    hub = key_of(pair.laptop)[:-4] + "AAAA"
    pair.let_in()
    pair.mini.ok("link", "add", "hub", "--key", hub)
    pair.mini.ok("link", "add", "laptop", "--key", key_of(pair.laptop), "--via", "hub")
    mini = key_of(pair.mini)
    pair.laptop.ok("link", "add", "mini", "--key", mini, "--host", "mini")
    row = pair.is_(pair.laptop, "mini", "auth")
    assert "mini has laptop behind hub, not linked directly" in row["text"]
    pair.mini.ok("link", "add", "laptop", "--via", "")
    pair.laptop.ok("link", "resume", "mini")
    pair.both_up()
