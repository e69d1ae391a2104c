"""Admission and resolution: pure decisions over facts."""

import pytest

from homi import gate
from homi.address import Address, Device, Name
from homi.config import QUOTA_BYTES, QUOTA_PENDING
from homi.envelope import Kind, MessageId, Msg
from homi.errors import NoSuchDevice, NoSuchName
from homi.routing import resolve

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
    return resolve(
        Address(Name(text), Device(device) if device else None),
        Device("mini"),
        lambda name: name == "ada",
        lambda name: name in ("bob", "ada"),
        ["ada", "bob", "gds-agent"],
    )


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
