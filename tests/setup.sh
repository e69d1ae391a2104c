#!/bin/sh
# Set up what a make target needs.
#   setup.sh venv DIR     a virtual environment with homi and its tools, editable
#   setup.sh tools NAME…  these commands; installed by apt when we are root
set -eu

package() { # the Debian package that brings the command $1
	case $1 in
	cc) echo gcc libc6-dev ;;
	ip) echo iproute2 ;;
	unshare | nsenter) echo util-linux ;;
	sshd) echo openssh-server ;;
	ssh) echo openssh-client ;;
	*) echo "$1" ;;
	esac
}

apt() { # install the packages, or say which are missing
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -qq && apt-get install -qq -y "$@" >/dev/null && return
	fi
	echo "homi: missing: please install $*" >&2
	exit 69
}

tools() {
	missing=
	for name; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$name" >/dev/null ||
			missing="$missing $(package "$name")"
	done
	# Word splitting is meant: one package a word.
	# shellcheck disable=SC2086
	[ -z "$missing" ] || apt $missing
}

python() { # a Python that is new enough
	for name in python3 python3.14 python3.13 python3.12 python3.11; do
		if command -v "$name" >/dev/null && "$name" -c \
			'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
			echo "$name"
			return
		fi
	done
	echo "homi: needs Python 3.11 or newer" >&2
	exit 69
}

venv() {
	python=$(python)
	if ! [ -x "$1/bin/python" ]; then
		"$python" -c 'import ensurepip, venv' 2>/dev/null || apt python3-venv
		"$python" -m venv "$1"
	fi
	"$1/bin/python" -m pip install -q --disable-pip-version-check -e '.[dev]'
}

"$@"
