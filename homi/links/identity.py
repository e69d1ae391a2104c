"""The key of this device: made once, kept in keys/, never shown.

Owns the private key file and the one use of a cryptographic library.
homi-protocol(7) says what is signed, homi-mailbox(5) where the files are.
"""

import os
import shlex
import stat
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)

from homi.errors import BadConfig, StorageFailed
from homi.links import keys
from homi.paths import make_private
from homi.store.disk import Disk, RealDisk
from homi.store.whole import read_whole, write_whole

fingerprint = keys.fingerprint
_SIGNATURE = 64  # bytes


class Identity:
    """The private key of this device.  Its file is OpenSSH's, mode 0600."""

    def __init__(self, key: Ed25519PrivateKey, path: str) -> None:
        """path is where key is kept."""
        self._key = key
        self.path = path
        self.public = _public_text(key)
        self.fingerprint = keys.fingerprint(self.public)

    @classmethod
    def load(cls, root: Path, disk: Disk | None = None) -> "Identity":
        """The key in root; made, durably, where there is none.

        Never replaced: BadConfig (78) where it is unreadable or open to others,
        StorageFailed (74) where the disk fails.
        """
        disk = disk or RealDisk()
        path = os.fspath(make_private(root / "keys") / "device")
        try:
            data = read_whole(disk, path)
            if data is None:
                data = _fresh()
                write_whole(disk, path, data)
                disk.sync_dir(os.fspath(root))
            elif (mode := stat.S_IMODE(os.stat(path).st_mode)) & 0o077:
                raise BadConfig(
                    f"{path} is open to others (mode {mode:04o})",
                    hint=f"chmod 600 {path}",
                )
            identity = cls(_private(data, path), path)
            identity._publish(disk)
        except OSError as error:
            raise StorageFailed(f"cannot keep {path}: {error.strerror}") from error
        return identity

    def sign(self, data: bytes) -> bytes:
        """The ed25519 signature of data."""
        return self._key.sign(data)

    def verify(self, public: str, sig: bytes, data: bytes) -> bool:
        """As the function verify, for those who are handed an identity."""
        return verify(public, sig, data)

    def _publish(self, disk: Disk) -> None:
        """Let the public key stand beside the private one."""
        line = self.public.encode("ascii") + b"\n"
        if read_whole(disk, self.path + ".pub") != line:
            write_whole(disk, self.path + ".pub", line)


def verify(public: str, sig: bytes, data: bytes) -> bool:
    """Whether the holder of public signed data; False for anything malformed."""
    raw = keys.raw(public)
    if raw is None or len(sig) != _SIGNATURE:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(sig, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def _fresh() -> bytes:
    """A new private key as its file holds it."""
    return Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
    )


def _private(data: bytes, path: str) -> Ed25519PrivateKey:
    """The key in data; BadConfig where it is none of ours."""
    try:
        key = load_ssh_private_key(data, None)
    except TypeError as error:  # it wants a password
        raise BadConfig(
            f"{path} has a passphrase, which nobody could type for a daemon",
            hint=f"ssh-keygen -p -N '' -f {shlex.quote(path)} takes it off",
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadConfig(f"{path} is no usable private key", hint=_LOST) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise BadConfig(f"{path} is no ed25519 key", hint=_LOST)
    return key


_LOST = "restore it from a backup, or move it away and pair every device again"


def _public_text(key: Ed25519PrivateKey) -> str:
    """The public half as authorized_keys has it, without a comment."""
    return (
        key.public_key()
        .public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        .decode("ascii")
    )
