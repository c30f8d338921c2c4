#!/bin/sh
# Installs Pilothouse from an unpacked bundle, without a network: sh install.sh [PREFIX]. See docs/air-gapped.md.
set -eu
bundle=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=${1:-/usr/local}
modules=$prefix/lib/node_modules

command -v node >/dev/null || { echo 'Node.js is not installed. Install Node.js 20.19 or newer first.' >&2; exit 1; }
node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' ||
  { echo "Node.js $(node --version) is too old. Install 20.19 or newer." >&2; exit 1; }

mkdir -p "$modules" "$prefix/bin"
# the old version is replaced only when the new one is complete
rm -rf "$modules/.pilothouse-new" "$modules/.pilothouse-old"
cp -R "$bundle/pilothouse" "$modules/.pilothouse-new"
if [ -e "$modules/pilothouse" ]; then mv "$modules/pilothouse" "$modules/.pilothouse-old"; fi
mv "$modules/.pilothouse-new" "$modules/pilothouse"
rm -rf "$modules/.pilothouse-old"
ln -sf ../lib/node_modules/pilothouse/src/start/pilothouse.mjs "$prefix/bin/pilothouse"
echo "Installed $("$prefix/bin/pilothouse" --version) as $prefix/bin/pilothouse. Start it with: pilothouse serve"

if [ -f "$bundle/image.tar" ]; then
  for engine in podman docker; do
    if command -v $engine >/dev/null; then exec $engine load --input "$bundle/image.tar"; fi
  done
  echo "No podman or docker is installed here. Load $bundle/image.tar where the image is needed." >&2
fi
