#!/bin/sh
# Brings OpenSSH's server and sudo, which tests of the access kind ssh log in on,
# and busybox, which is all that the nodes of other tests have.
set -eu

missing() {
	list=
	[ -x /usr/sbin/sshd ] || list="openssh-server"
	command -v sudo >/dev/null 2>&1 || list="$list sudo"
	command -v busybox >/dev/null 2>&1 || list="$list busybox"
	echo "$list"
}

need=$(missing)
[ -n "$need" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "for tests: installing$(printf ' %s' $need)" >&2
	export DEBIAN_FRONTEND=noninteractive
	# The distribution's own server is not to run; tests start theirs.
	# shellcheck disable=SC2086 # a list of package names
	{ apt-get update -q && apt-get install -q -y --no-install-recommends $need; } >&2 ||
		echo "for tests: apt-get could not install$(printf ' %s' $need)" >&2
fi
need=$(missing)
[ -z "$need" ] || {
	echo "for tests: missing (package names of Debian and Ubuntu):$(printf ' %s' $need)" >&2
	exit 1
}
