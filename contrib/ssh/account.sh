#!/bin/sh
# Make the account homi for devices that come in by ssh.  Run it as root; a second
# time it changes nothing.
set -eu
id homi >/dev/null 2>&1 ||
	useradd --system --create-home --home-dir /var/lib/homi --shell /bin/sh homi
install -d -o homi -g homi -m 0700 /var/lib/homi /var/lib/homi/state
install -d -m 0755 /etc/ssh/homi
[ -e /etc/ssh/homi/authorized_keys ] ||
	install -m 0644 /dev/null /etc/ssh/homi/authorized_keys
echo "next: sshd_config.d/homi.conf, then as homi: homi --home /var/lib/homi/state run"
