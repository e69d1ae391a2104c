"""Admission and resolution: pure decisions over facts."""

import msgspec
import pytest

from homi import gate
from homi.address import Address, Device, Name, parse_address
from homi.config import QUEUE_BYTES, QUEUE_PENDING, QUOTA_BYTES, QUOTA_PENDING
from homi.envelope import Kind, MessageId, Msg
from homi.errors import NoSuchDevice, NoSuchName, Usage
from homi.hops import is_loop, onward
from homi.routing import ALIASES_MAX, Facts, Place, check_alias, live_name, resolve

MIB = 1 << 20


def msg(kind: Kind = Kind.MAIL, *, auto: bool = False) -> Msg:
    return Msg(id=MessageId("x"), from_="a", to="b", text="t", kind=kind, auto=auto)


@pytest.mark.parametrize("kind", [Kind.BOUNCE, Kind.NOTICE, Kind.WAKE])
def test_system_kinds_come_from_a_postmaster_only(kind: Kind) -> None:
    """An agent that could mint a bounce could end another's mail."""
    refused = gate.kind_refused(msg(kind), "control")
    assert refused is not None
    assert refused.exit_status == 65
    assert gate.kind_refused(msg(kind), "homi") is None


@pytest.mark.parametrize("kind", [Kind.MAIL, Kind.ASK, Kind.REPLY])
def test_agents_send_mail_asks_and_replies(kind: Kind) -> None:
    """The control for the refusal above; auto stays the postmaster's word."""
    assert gate.kind_refused(msg(kind), "peer") is None
    assert gate.kind_refused(msg(kind, auto=True), "peer") is not None


def test_a_full_mailbox_refuses_the_newest_with_the_numbers() -> None:
    """Never the oldest dropped in silence."""
    refused = gate.no_room(QUOTA_PENDING, 0, 10, 1 << 40, 64 * MIB)
    assert refused is not None
    assert refused.reason == "quota"
    assert str(QUOTA_PENDING) in refused.text
    assert gate.no_room(QUOTA_PENDING - 1, 0, 10, 1 << 40, 64 * MIB) is None
    assert gate.no_room(1, QUOTA_BYTES - 5, 10, 1 << 40, 64 * MIB) is not None
    assert gate.no_room(1, QUOTA_BYTES - 10, 10, 1 << 40, 64 * MIB) is None


def test_the_disk_reserve_refuses_before_the_disk_is_full() -> None:
    """Draining and the ledger still need room."""
    refused = gate.no_room(0, 0, 10, 63 * MIB, 64 * MIB)
    assert refused is not None
    assert (refused.reason, refused.exit_status) == ("quota", 75)
    assert "63 MiB" in refused.text
    assert gate.no_room(0, 0, 10, 65 * MIB, 64 * MIB) is None


def where(text: str, device: str | None = None) -> tuple[str, str]:
    address = Address(Name(text), Device(device) if device else None)
    return resolve(address, facts())[:2]


def facts(aliases: dict[str, str] | None = None) -> Facts:
    """ada is claimed, behind the front of eve runs eve-live, bob lives."""
    known = ["ada", "bob", "gds-agent", *(aliases or {})]
    return Facts(
        device=Device("mini"),
        claimed=lambda name: name in ("ada", "eve"),
        fronted=lambda name: name == "eve",
        live=lambda name: name in ("bob", "ada", "eve-live"),
        alias=(aliases or {}).get,
        known=lambda: known,
    )


def led(text: str, aliases: dict[str, str]) -> tuple[str, str]:
    return resolve(parse_address(text), facts(aliases))[:2]


def test_a_claim_comes_before_a_live_session() -> None:
    """The mailbox is the durable one."""
    assert where("ada") == ("mailbox", "ada")
    assert where("bob") == ("unclaimed", "bob")
    assert where("owner") == ("mailbox", "owner")
    assert where("ada", "mini") == ("mailbox", "ada")
    assert where("ada", "self") == ("mailbox", "ada")


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    """No phantom mailbox for a typo."""
    with pytest.raises(NoSuchName) as caught:
        where("gds-agnet")
    assert "gds-agent" in caught.value.hint
    with pytest.raises(NoSuchDevice):
        where("ada", "laptop")


def test_an_alias_leads_on_after_claims_and_live_sessions() -> None:
    """Local claim, live local session, alias, in that order."""
    aliases = {"a": "b", "b": "ada@mini", "ada": "bob", "bob": "ada", "c": "bob@self"}
    assert led("a", aliases) == ("mailbox", "ada")
    assert led("A@self", aliases) == ("mailbox", "ada")
    assert led("ada", aliases) == ("mailbox", "ada")
    assert led("bob", aliases) == ("unclaimed", "bob")
    assert led("c", aliases) == ("unclaimed", "bob")
    assert led("o", {"o": "owner"}) == ("mailbox", "owner")


def test_an_alias_that_leads_nowhere_says_how_it_got_there() -> None:
    """The control: the same end without an alias does not name one."""
    with pytest.raises(
        NoSuchName, match="the alias a leads to adda: no name adda"
    ) as no:
        led("a", {"a": "b", "b": "adda"})
    assert no.value.hint == "did you mean ada?"
    with pytest.raises(NoSuchName, match="no name adda"):
        led("adda", {})
    with pytest.raises(NoSuchDevice):
        led("a", {"a": "ada@mars"})


def test_aliases_in_a_circle_or_too_many_are_refused() -> None:
    """A file edited by hand must not hang the daemon."""
    with pytest.raises(NoSuchName, match="leads back to itself"):
        led("a", {"a": "b", "b": "a"})
    chain = {f"n{i}": f"n{i + 1}" for i in range(ALIASES_MAX - 1)}
    chain[f"n{ALIASES_MAX - 1}"] = "ada"
    assert led("n0", chain) == ("mailbox", "ada")
    with pytest.raises(NoSuchName, match="more than 8"):
        led("x", {**chain, "x": "n0"})


def test_a_new_alias_is_checked_before_it_is_kept() -> None:
    """64 for itself, a circle and a chain too long; the control passes."""
    chain = {f"n{i}": f"n{i + 1}" for i in range(ALIASES_MAX - 1)}
    check_alias(Name("x"), Address(Name("n1")), chain.get)
    for name, to in (("x", "x"), ("x", "x@self"), ("n7", "n0"), ("n9", "n7")):
        aliases = {**chain, "n7": "n8", "n8": "n9"}
        with pytest.raises(Usage):
            check_alias(Name(name), parse_address(to), aliases.get)
    with pytest.raises(Usage, match="more than 8"):
        check_alias(Name("x"), Address(Name("n0")), {**chain, "n7": "ada"}.get)


def test_the_session_behind_a_front_is_the_name_before_it() -> None:
    """Whatever number it has; a claim of just that name comes first."""
    assert led("eve-live", {}) == ("mailbox", "eve")
    assert led(live_name(Name("eve"), 2), {}) == ("mailbox", "eve")
    with pytest.raises(NoSuchName):
        led("eve-live-x", {})
    with pytest.raises(NoSuchName):
        led("ada-live", {})


def linked(text: str, aliases: dict[str, str] | None = None) -> Place:
    known = facts(aliases)._replace(
        devices=lambda: [Device("pi"), Device("lab")],
        mirror={"reviewer": "reviewer@lab", "ada": "ada@lab"}.get,
    )
    return resolve(parse_address(text), known)


def test_an_address_on_a_linked_device_leads_to_its_queue() -> None:
    """The queue is of the final device, and the address stays whole."""
    assert linked("gds@lab") == ("queue", "@lab", "gds@lab")
    assert linked("owner@lab") == ("queue", "@lab", "owner@lab")
    assert linked("ada@mini") == ("mailbox", "ada", "ada")
    with pytest.raises(NoSuchDevice, match="no device lap is linked") as refused:
        linked("gds@lap")
    assert refused.value.hint == "did you mean gds@lab?"
    with pytest.raises(NoSuchDevice) as refused:
        linked("gds@elsewhere")
    assert "homi pair" in refused.value.hint


def test_an_alias_may_lead_to_another_device_and_its_own_name_there() -> None:
    """What is called so elsewhere is another one: that is no circle."""
    assert linked("r", {"r": "reviewer@lab"}) == ("queue", "@lab", "reviewer@lab")
    assert linked("gds", {"gds": "gds@lab"}) == ("queue", "@lab", "gds@lab")
    check_alias(Name("gds"), parse_address("gds@lab"), {}.get, Device("mini"))
    with pytest.raises(Usage, match="leads back to itself"):
        check_alias(Name("gds"), parse_address("gds@mini"), {}.get, Device("mini"))


def test_a_mirror_comes_after_everything_local() -> None:
    """A claim of that name keeps its mail."""
    assert linked("reviewer") == ("queue", "@lab", "reviewer@lab")
    assert linked("ada") == ("mailbox", "ada", "ada")
    assert linked("reviewer", {"reviewer": "ada"}) == ("mailbox", "ada", "ada")


def test_a_full_queue_is_refused_with_its_device_named() -> None:
    """A queue holds more than a mailbox, and its owner is not there to read it."""
    held = gate.no_room(QUEUE_PENDING - 1, 0, 10, 1 << 40, 64 * MIB, "lab")
    assert held is None
    for pending, size in ((QUEUE_PENDING, 0), (1, QUEUE_BYTES)):
        refused = gate.no_room(pending, size, 10, 1 << 40, 64 * MIB, "lab")
        assert refused is not None
        assert (refused.reason, refused.exit_status) == ("quota", 75)
        assert "device lab" in refused.text
        assert "homi queue @lab" in refused.hint


@pytest.mark.parametrize("kind", [Kind.BOUNCE, Kind.NOTICE])
def test_a_device_may_send_back_only_what_is_about_mail_of_ours(kind: Kind) -> None:
    """A forged bounce would end a wait or mislead a sender."""
    back = msg(kind, auto=True)
    assert gate.link_refused(back, "lab", ours=True) is None
    refused = gate.link_refused(back, "lab", ours=False)
    assert refused is not None
    assert refused.reason == "policy"


def test_a_device_sends_as_an_agent_does_and_under_a_name() -> None:
    """Wakes, auto and odd senders are no other device's to make."""
    for name in ("ada", "owner"):
        fine = msgspec.structs.replace(msg(), from_=name)
        assert gate.link_refused(fine, "lab", ours=False) is None
    for bad in (
        msg(Kind.WAKE),
        msg(auto=True),
        msgspec.structs.replace(msg(), from_="../ada"),
        # What looks like word from the system, and is about nothing.
        msgspec.structs.replace(msg(), from_="postmaster"),
        msgspec.structs.replace(msg(Kind.REPLY), from_="postmaster"),
    ):
        refused = gate.link_refused(bad, "lab", ours=True)
        assert refused is not None
        assert refused.reason == "policy"
    assert gate.link_refused(msg(), None, ours=True) is not None
    assert gate.link_refused(msg(), "../x", ours=True) is not None


def test_hops_end_where_a_message_goes_in_a_circle() -> None:
    """Once more at the same device is a move, three times a loop."""
    assert not is_loop(("mini",))
    assert not is_loop(("mini", "lab", "mini"))
    assert is_loop(("mini", "lab", "mini", "lab", "mini"))
    many = tuple(f"d{n}" for n in range(8))
    assert not is_loop(many)
    assert is_loop(onward(many, "mini"))
