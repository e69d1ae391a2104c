"""Public keys of devices as text, in OpenSSH's own form.

Owns when two are the same and how one is named; signs nothing.
homi-protocol(7) says which kind is used.
"""

import base64
import binascii
import hashlib

KIND = "ssh-ed25519"
_HEAD = b"\0\0\0\x0bssh-ed25519\0\0\0\x20"  # of the 51 bytes behind the kind
_LENGTH = len(_HEAD) + 32


def blob(public: str) -> bytes | None:
    """The bytes of a public key, whatever comment follows; None: it is none."""
    kind, _, rest = public.strip().partition(" ")
    try:
        found = base64.b64decode(rest.partition(" ")[0], validate=True)
    except (binascii.Error, ValueError):
        return None
    if kind != KIND or len(found) != _LENGTH or not found.startswith(_HEAD):
        return None
    return found


def raw(public: str) -> bytes | None:
    """The 32 bytes an ed25519 signature is checked against; None: no such key."""
    found = blob(public)
    return None if found is None else found[len(_HEAD) :]


def same(one: str, other: str) -> bool:
    """Whether both texts are one key."""
    found = blob(one)
    return found is not None and found == blob(other)


def fingerprint(public: str) -> str:
    """SHA256:… as ssh-keygen(1) shows it; ValueError where public is no key."""
    found = blob(public)
    if found is None:
        raise ValueError("not an ed25519 public key")
    digest = base64.b64encode(hashlib.sha256(found).digest()).decode("ascii")
    return f"SHA256:{digest.rstrip('=')}"
