"""SIGKILL in the middle of changes of authorized_keys.

Whatever is there is a whole file: the lines of others as they were, ours once or not
at all.  A person who is locked out by a half file cannot mend it.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.standin.place import PATIENCE, until

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFhx0HwWJU+IcXtlnINzaiXxmkU2ltLE/XMwX9OK6iRJ"
CHILD = """
import sys
from pathlib import Path
from homi.pairing import keyfile
from homi.pairing.authorized import admit, expel, line_for
file, key = Path(sys.argv[1]), sys.argv[2]
line = line_for("laptop", key, "/opt/homi", "/var/homi")
print(flush=True)
while True:
    keyfile.rewrite(file, lambda data: admit(data, "laptop", line))
    keyfile.rewrite(file, lambda data: expel(data, "laptop"))
"""
KILLS = 6
LOOKS = 40


def test_the_file_is_whole_at_every_moment_and_after_every_death(
    tmp_path: Path,
) -> None:
    """Old or new, mode and all; the next one is not kept from its change."""
    os.chmod(tmp_path, 0o700)
    file = tmp_path / "authorized_keys"
    others = b"".join(b"ssh-ed25519 AAAA%05d other\n" % n for n in range(2000))
    file.write_bytes(others)
    file.chmod(0o640)
    seen: set[bytes] = set()
    for _ in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(file), KEY], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        try:
            child.stdout.readline()  # it has begun
            before = file.stat().st_ino
            until(lambda was=before: file.stat().st_ino != was, "it is written")
            seen |= {file.read_bytes() for _ in range(LOOKS)}
        finally:
            child.kill()
            child.wait(PATIENCE)
            child.stdout.close()
        seen.add(file.read_bytes())
        assert file.stat().st_mode & 0o777 == 0o640
    assert others in seen
    ours = {data.removeprefix(others) for data in seen} - {b""}
    assert len(ours) == 1
    (line,) = ours
    assert line.startswith(b"restrict,command=")
    assert line.endswith(KEY.encode() + b" homi:laptop\n")
