#!/bin/sh
# Makes web/static/ort from npm's onnxruntime-web, or with --check says whether it is that: the files of one package whose
# SHA-512 stands here, the runtime for the processor alone, compressed. The licence is not in the package; it is that of
# github.com/microsoft/onnxruntime.
set -eu
version=1.30.0
integrity=q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ==
to=$(cd "$(dirname "$0")/../web/static/ort" && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
cd "$temp"
npm pack --silent "onnxruntime-web@$version" >/dev/null
got=$(openssl dgst -sha512 -binary "onnxruntime-web-$version.tgz" | openssl base64 -A)
[ "$got" = "$integrity" ] || { echo "onnxruntime-web $version has SHA-512 $got: want $integrity" >&2; exit 1; }
tar xzf "onnxruntime-web-$version.tgz" package/dist/ort.wasm.bundle.min.mjs package/dist/ort-wasm-simd-threaded.wasm
cd package/dist
if [ "${1-}" = --check ]; then
	gzip -dc "$to/ort.wasm.gz" | cmp - ort-wasm-simd-threaded.wasm
	cmp "$to/ort.js" ort.wasm.bundle.min.mjs
	echo "web/static/ort is onnxruntime-web $version"
	exit 0
fi
gzip -9nc ort-wasm-simd-threaded.wasm >"$to/ort.wasm.gz"
cp ort.wasm.bundle.min.mjs "$to/ort.js"
openssl dgst -sha256 ort-wasm-simd-threaded.wasm ort.wasm.bundle.min.mjs
