#!/bin/sh
# One rehearsal on a staging cluster, for a CI job. The job files beside this one
# call it and nothing else. Its exit code is that of `migrator rehearse`:
# 0 every promise held; 1 one did not, or it was cut short; 2 configuration;
# 3 a gate or a failed step held it.
#
#   REHEARSAL_CONFIG  migrations.yaml; the entry says rehearsal: true   (staging.yaml)
#   REHEARSAL_NAME    the migration in it                               (staging)
#   REHEARSAL_OUT     what the job keeps and shows: junit.xml,
#                     rehearsal.json, evidence/, service.log            (rehearsal)
#   REHEARSAL_DATA    journal and file contents. It can hold secrets: never
#                     publish it. On a path that outlives the job, the next
#                     job goes on where a held or cancelled one stopped  (rehearsal-data)
#
# Arguments go to `migrator rehearse`, such as --then-revert, after which the
# staging cluster runs on ZooKeeper again and needs no rebuilding.
set -eu

config=${REHEARSAL_CONFIG:-staging.yaml}
name=${REHEARSAL_NAME:-staging}
out=${REHEARSAL_OUT:-rehearsal}
data=${REHEARSAL_DATA:-rehearsal-data}

command -v migrator >/dev/null || { echo "migrator is not on the PATH of this runner" >&2; exit 2; }
migrator validate --config "$config"

# A cancelled job sends SIGTERM: nodes of the open batch come back before the end.
migrator rehearse --config "$config" --name "$name" --out "$out" --data "$data" --junit "$out/junit.xml" "$@" &
child=$!
trap 'kill -TERM "$child" 2>/dev/null || true' TERM INT HUP
code=0
wait "$child" || code=$?
while kill -0 "$child" 2>/dev/null; do # a signal ended the wait, not the rehearsal
  code=0
  wait "$child" || code=$?
done

# A rehearsal that came to its end leaves nothing to go on with.
if [ "$code" = 0 ]; then
  rm -rf "$data"
fi
exit "$code"
