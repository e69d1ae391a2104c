"""Lines of authorized_keys: ours are put in, replaced and taken out, no other."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homi.address import Device
from homi.pairing import authorized

MINI = Device("mini")
HEAD = b"\0\0\0\x0bssh-ed25519\0\0\0\x20"


def key(seed: int) -> str:
    """A public key that nobody has."""
    return "ssh-ed25519 " + base64.b64encode(HEAD + bytes([seed]) * 32).decode()


def ours(seed: int = 1, exe: str = "/usr/bin/homi", device: Device = MINI) -> bytes:
    """A line as admit writes it."""
    return authorized.line_for(device, key(seed), exe, "/root/s")


def test_the_line_is_confined_to_the_link_of_its_device() -> None:
    """No shell, no forwarding: nothing but the one command."""
    assert ours().decode() == (
        'restrict,command="/usr/bin/homi --home /root/s link serve --peer mini" '
        f"{key(1)} homi:mini"
    )


def test_paths_with_blanks_and_quotes_survive_both_readers() -> None:
    """sshd takes off the backslash, the shell the quotes; it stays one line of ours."""
    line = ours(exe='/a b/"x"/homi')
    found = authorized.parse(1, line)
    assert found is not None
    assert found.options.endswith(b'--peer mini"')
    assert b"'/a b/\\\"x\\\"/homi' --home" in found.options
    assert authorized.expel(line + b"\n", MINI).data == b""


def test_a_second_time_changes_nothing() -> None:
    """Not a byte."""
    once = authorized.admit(b"# mine\n", MINI, ours())
    assert once.changed
    assert once.data == b"# mine\n" + ours() + b"\n"
    assert authorized.admit(once.data, MINI, ours()) == (once.data, False, [])


def test_another_key_of_the_device_takes_the_place_of_the_old() -> None:
    """Where it stood, and what was written twice becomes one."""
    before = ours(1) + b"\n# end\n" + ours(1, "/opt/homi") + b"\n"
    made = authorized.admit(before, MINI, ours(2))
    assert made.data == ours(2) + b"\n# end\n"


def test_the_last_line_without_an_end_gets_one() -> None:
    """Two keys on one line would be none."""
    made = authorized.admit(b"# no newline", MINI, ours())
    assert made.data == b"# no newline\n" + ours() + b"\n"


def test_a_file_of_carriage_returns_keeps_them() -> None:
    """And a line of ours is known with one."""
    text = b"# a\r\n" + ours() + b"\r\n# b\r\n"
    assert not authorized.admit(text, MINI, ours()).changed
    assert authorized.expel(text, MINI).data == b"# a\r\n# b\r\n"


@pytest.mark.parametrize(
    "line",
    [
        key(1),
        f"{key(1)} homi:mini",
        f'command="x y" {key(1)} homi:mini',
        f'no-pty,environment="A=\\"b c\\"" {key(1)} me@desk',
        f"   {key(1)} me@desk",
    ],
)
def test_the_same_key_elsewhere_is_left_alone_and_told(line: str) -> None:
    """A person put it there; sshd takes whichever comes first."""
    before = f"# first\n{line}\n".encode()
    made = authorized.admit(before, MINI, ours())
    assert made.data == before + ours() + b"\n"
    assert made.foreign == [2]
    assert authorized.expel(made.data, MINI).data == before


@pytest.mark.parametrize(
    "line",
    [
        b"# " + ours(),
        ours(device=Device("mini2")),
        ours(device=Device("gemini")),
        ours() + b" and more",
        ours().replace(b"restrict,", b""),
        ours().replace(b"homi:mini", b"homi:Mini"),
    ],
)
def test_what_only_looks_like_ours_stays(line: bytes) -> None:
    """The whole line decides, no part of it."""
    assert authorized.expel(ours() + b"\n", MINI).changed
    assert not authorized.expel(line + b"\n", MINI).changed


LINES = st.one_of(
    st.binary(max_size=40).filter(lambda raw: b"\n" not in raw),
    st.sampled_from(
        [
            b"",
            b"# a comment",
            f"{key(3)} me@desk".encode(),
            f'from="10.0.0.1",command="echo \\"hi\\"" {key(4)} x'.encode(),
            ours(5, device=Device("lab")),
            b'restrict,command="unfinished',
        ]
    ),
)


@given(st.lists(LINES, max_size=8), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_in_and_out_again_leaves_every_other_byte(
    lines: list[bytes], end: bytes, ended: bool
) -> None:
    """Whatever stands there; but a missing last line feed is not taken back."""
    before = end.join(lines) + (end if ended else b"")
    there = authorized.admit(before, MINI, ours())
    assert ours() in there.data.split(b"\n")
    assert not authorized.admit(there.data, MINI, ours()).changed
    after = authorized.expel(there.data, MINI).data
    assert after == before or after == before + b"\n"
