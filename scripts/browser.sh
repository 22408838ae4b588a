#!/bin/sh
# Makes sure that there is a browser and what drives it, with which the tests use the page: npm installs the one, once, in
# web/testdata/browser. Where there is no npm or no Chromium it is installed if that can be done without asking; else the
# script says that these tests are left out and fails.
cd "$(dirname "$0")/../web/testdata/browser" || exit 1
missing() { # the Debian packages of the programs that are not there
	command -v npm >/dev/null || echo nodejs npm
	for browser in "$BROWSER" chromium chromium-browser google-chrome; do
		command -v "$browser" >/dev/null && return
	done
	echo chromium
}
if [ -n "$(missing)" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	apt-get -qq update && apt-get -qq install -y --no-install-recommends $(missing) >/dev/null
fi
if [ -z "$(missing)" ]; then
	[ node_modules/.package-lock.json -nt package-lock.json ] && exit 0
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && exit 0
fi
echo "no browser to drive, so the tests of the page in one are left out: install Chromium and Node.js with npm" >&2
exit 1
