"""Messages of rtnetlink."""

import struct

import pytest

from homi.links.network import opens


def message(kind: int, body: bytes = b"") -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


@pytest.mark.parametrize(
    ("kind", "told"), [(16, 1), (20, 1), (24, 1), (17, 0), (21, 0)]
)
def test_what_came_is_told_and_what_went_is_not(kind: int, told: int) -> None:
    assert opens(message(kind)) == bool(told)
    assert opens(message(21, b"abcd") + message(kind)) == bool(told)


@pytest.mark.parametrize("data", [b"", b"short", message(21)[:-1], bytes(64)])
def test_what_cannot_be_read_is_nothing(data: bytes) -> None:
    assert not opens(data)
