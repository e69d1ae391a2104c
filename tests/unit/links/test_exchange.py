"""What two ends of a link make of each other's lines."""

from homi.links.frames import mail_tail
from tests.unit.links.kit import Pair

MAIL = mail_tail(
    "ada@mini", ("laptop",), "", b'{"id":"x", "y" : 1}', verified=True, first=False
)


def test_two_paired_devices_meet_and_know_each_other() -> None:
    pair = Pair()
    assert pair.laptop.port.peers[0].device == "mini"
    assert pair.mini.port.peers[0].device == "laptop"
    assert pair.mini.port.peers[0].fingerprint.startswith("SHA256:")


def test_mail_crosses_byte_for_byte_and_is_acked_when_it_is_stored() -> None:
    pair = Pair()
    pair.mini.port.at_once = False
    assert pair.laptop.exchange.mail(MAIL) == 1
    pair.carry()
    (mail,) = pair.mini.port.mail
    assert bytes(mail.msg) == b'{"id":"x", "y" : 1}'
    assert pair.laptop.port.acks == []
    pair.mini.port.answers[0](None)
    pair.carry()
    assert pair.laptop.port.acks == [(1, [])]
