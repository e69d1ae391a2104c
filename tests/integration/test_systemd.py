"""The service under a real systemd of a user, in namespaces of its own."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.standin.place import homi_command

SYSTEMD = Path("/lib/systemd/systemd")
UNSHARE = ["unshare", "-m", "-p", "-C", "--fork", "--mount-proc"]
# Nothing of the machine's /run is seen, and what systemd needs to start stands there.
SCRIPT = r"""
set -u
mount -t tmpfs none /run
mkdir -p /run/systemd/system /run/user "$HOME/.claude"
mkdir -m 700 "$XDG_RUNTIME_DIR"
mount -t tmpfs none /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || exit 75
cd /
"$SYSTEMD" --user >/run/log 2>&1 &
manager=$!
trap 'kill $manager; wait $manager' EXIT
tries=0
until systemctl --user show-environment >/dev/null 2>&1; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] && kill -0 $manager 2>/dev/null || { cat /run/log; exit 75; }
	sleep 0.1
done
homi() { "$HOMI" "$@"; }
unit="$HOME/.config/systemd/user/homi.service"
is() { systemctl --user show -p "$1" --value homi.service; }
becomes() { # the property $1 is no more $2
	for _ in $(seq 150); do
		[ "$(is "$1")" != "$2" ] && homi status >/dev/null 2>&1 && return
		sleep 0.1
	done
	echo "$1 is still $2"
}
homi setup service >/dev/null || exit
pid=$(is MainPID)
echo "up $(is ActiveState) $([ "$pid" -gt 0 ] && echo pid)"
homi claim ada >/dev/null && homi claim svc >/dev/null
homi send --from svc ada hello >/dev/null
systemctl --user reload homi.service
echo "reloaded $(is ActiveState) $([ "$(is MainPID)" = "$pid" ] && echo same)"
homi restart >/dev/null
echo "restarted $(is ActiveState) $([ "$(is MainPID)" = "$pid" ] && echo same)"
kill -9 "$pid"
becomes NRestarts 0
echo "killed $(is ActiveState) $(is NRestarts)"
sed -i 's/^WatchdogSec=.*/WatchdogSec=2/' "$unit"
systemctl --user daemon-reload
systemctl --user restart homi.service
pid=$(is MainPID)
homi restart >/dev/null
sleep 4
echo "watched $(is ActiveState) $([ "$(is MainPID)" = "$pid" ] && echo same)"
kill -STOP "$pid"
becomes MainPID "$pid"
echo "hung $(is ActiveState)"
homi stop >/dev/null
systemctl --user is-active homi.service
systemctl --user start homi.service
sed -i 's/^WatchdogSec=.*/WatchdogSec=60/' "$unit"
homi setup service --remove >/dev/null 2>&1
echo "removed $? $(is ActiveState) $([ -e "$unit" ] || echo gone)"
homi inbox ada --json | grep -c '"from":"svc"'
"""


@pytest.mark.soak
@pytest.mark.timeout(180)
def test_a_real_systemd_starts_watches_reloads_and_ends_it(tmp_path: Path) -> None:
    """A reload and a restart keep the process; a kill and a loop that stands still are
    answered by a new one; a stop is none; the mail stays."""
    if os.geteuid() or not SYSTEMD.exists() or not shutil.which("unshare"):
        pytest.skip("needs root, systemd and unshare")
    env = {
        "PATH": os.environ["PATH"],
        "HOME": "/run/ho me%h$x",
        "XDG_RUNTIME_DIR": "/run/user/0",
        "HOMI": homi_command()[0],
        "SYSTEMD": str(SYSTEMD),
    }
    done = subprocess.run(
        [*UNSHARE, "bash", "-c", SCRIPT],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    if done.returncode == os.EX_TEMPFAIL:
        pytest.skip(f"no systemd of a user runs here: {done.stdout[-200:]}")
    assert done.stdout.splitlines() == [
        "up active pid",
        "reloaded active same",
        "restarted active same",
        "killed active 1",
        "watched active same",
        "hung active",
        "inactive",
        "removed 0 inactive gone",
        "1",
    ], done.stderr
