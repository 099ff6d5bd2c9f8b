#!/bin/sh
# Brings the jars of one Kafka version, of the ZooKeeper that comes with it and
# of a logging binding into DEST/libs. Usage: jars.sh VERSION DEST
# DEST appears whole or not at all; when it is there already nothing happens.
set -eu

version=${1:?usage: jars.sh VERSION DEST}
dest=${2:?usage: jars.sh VERSION DEST}
case $dest in
/*) ;;
*) dest=$PWD/$dest ;; # Maven takes a relative one from its own folder
esac

# Kafka 3.x logs through reload4j and brings slf4j-api alone: without a binding
# a node logs nothing. Kafka 4.x logs through log4j2 (KIP-653).
case $version in
3.*) bindings="org.slf4j:slf4j-reload4j:1.7.36" ;;
4.*) bindings="org.apache.logging.log4j:log4j-slf4j-impl:2.24.3 org.apache.logging.log4j:log4j-core:2.24.3" ;;
*)
	echo "jars: Kafka version '$version' is not one of 3.x and 4.x" >&2
	exit 2
	;;
esac

complete() { [ -f "$dest/complete" ]; }

if complete; then
	echo "jars: $dest is complete" >&2
	exit 0
fi

have_java() {
	java=${JAVA_HOME:+$JAVA_HOME/bin/}java
	major=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
	[ -n "$major" ] && [ "$major" -ge 17 ]
}

missing() {
	list=
	have_java || list="openjdk-17-jdk-headless"
	command -v mvn >/dev/null 2>&1 || list="$list maven"
	echo "$list"
}

need=$(missing)
if [ -n "$need" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "jars: installing$(printf ' %s' $need)" >&2
	export DEBIAN_FRONTEND=noninteractive
	# shellcheck disable=SC2086 # a list of package names
	{ apt-get update -q && apt-get install -q -y --no-install-recommends $need; } >&2 ||
		echo "jars: apt-get could not install$(printf ' %s' $need)" >&2
fi

have_java || {
	echo "jars: missing: java of version 17 or later (Debian and Ubuntu: openjdk-17-jdk-headless); set JAVA_HOME or PATH to it" >&2
	lacking=1
}
command -v mvn >/dev/null 2>&1 || {
	echo "jars: missing: mvn, Apache Maven (Debian and Ubuntu: maven)" >&2
	lacking=1
}
[ -z "${lacking:-}" ] || exit 1

mkdir -p "$(dirname "$dest")"
# Two runs at once: the second waits and then finds the folder complete.
if command -v flock >/dev/null 2>&1; then
	exec 9>"$dest.lock"
	flock 9
	complete && exit 0
fi

aside=$(mktemp -d "$dest.XXXXXX")
trap 'rm -rf "$aside"' EXIT
trap 'exit 1' HUP INT TERM

dependency() {
	printf '    <dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n' "$1" "$2" "$3"
}

{
	echo '<project xmlns="http://maven.apache.org/POM/4.0.0">'
	echo '  <modelVersion>4.0.0</modelVersion>'
	echo '  <groupId>migrator.lab</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>'
	echo '  <dependencies>'
	dependency org.apache.kafka kafka_2.13 "$version"
	for binding in $bindings; do
		# shellcheck disable=SC2046 # three words without blanks
		dependency $(echo "$binding" | tr ':' ' ')
	done
	echo '  </dependencies>'
	echo '</project>'
} >"$aside/pom.xml"

echo "jars: getting Kafka $version through Maven into $dest" >&2
mvn -q -B -Dstyle.color=never -f "$aside/pom.xml" dependency:copy-dependencies \
	-DincludeScope=runtime -DoutputDirectory="$aside/libs" >&2 || {
	echo "jars: mvn could not copy the jars of Kafka $version (its messages are above)" >&2
	exit 1
}

for jar in "kafka_2.13-$version.jar" "kafka-clients-$version.jar" "kafka-metadata-$version.jar"; do
	[ -f "$aside/libs/$jar" ] || {
		echo "jars: missing: Maven gave no $jar" >&2
		exit 1
	}
done

touch "$aside/complete"
chmod 755 "$aside"
rm -rf "$dest"
mv -T "$aside" "$dest"
trap - EXIT
echo "jars: $(ls "$dest/libs" | wc -l) jars in $dest/libs" >&2
