#!/bin/sh
# Runs every fuzz target of every package for the given time each: scripts/fuzz.sh 20s
set -eu
time=${1:-20s}
for package in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "$package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
	done
done
