#!/bin/sh
# Makes sure that there is ONNX Runtime, with which the tests compare exported models: npm installs it, once, in
# net/onnx/testdata. Where there is no npm it is installed if that can be done without asking; else the script says that
# the comparison is left out and fails.
cd "$(dirname "$0")/../net/onnx/testdata" || exit 1
[ node_modules/.package-lock.json -nt package-lock.json ] && exit 0
if ! command -v npm >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	apt-get -qq update && apt-get -qq install -y nodejs npm >/dev/null
fi
command -v npm >/dev/null && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && exit 0
echo "no ONNX Runtime, so the comparison with it is left out: install Node.js with npm" >&2
exit 1
