#!/bin/sh
# Writes the secrets of compose.yaml into the folder secrets next to it. Existing files stay.
set -eu
cd "$(dirname "$0")"
# the folder keeps other accounts out; containers see only the files, with an account of their own
mkdir -p -m 700 secrets
cd secrets

random() { od -An -N "$1" -tx1 /dev/urandom | tr -d ' \n'; }
write() {
  [ -e "$1" ] || printf '%s\n' "$2" >"$1"
  chmod 444 "$1"
}

write postgres-password "$(random 24)"
write database-url "postgresql://pilothouse:$(cat postgres-password)@postgres/pilothouse"
write secrets-keys "first:$(head -c 32 /dev/urandom | base64)"
write api-key "cpk_$(random 24)"
echo "The admin key is in $PWD/api-key."
