#!/bin/sh
# gpu_pack.sh BUILD FILE.tar.xz - what gpu.sh, gpus.sh and the like run, for a machine without the libraries
#
# BUILD is a build folder configured with CUDA (and --with-tables, for gpu_tables.sh).  The archive
# has the programs, their libraries but those of CUDA and NCCL, and a file `env`.  On the other machine, where the archive was unpacked:
#
#	. ./env; sh .../tests/bench/gpu.sh unit equal-S; ./rates data gz table
#
# SIMGEN names the generator of references and reads.
[ $# -eq 2 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
set -e
build=$(cd "$1" && pwd)
units="tests/test_backend tests/make_kraken tests/kmerhash_faults tests/preload_fail.so
	tests/library_check tests/library_example" bench=
! grep -q "HAVE_TABLES_TRUE=''" "$build/config.log" || {
	bench=kmerhash-bench
	for u in gpu_comm tables tables_ops tables_multi; do units="$units cuda/tables/tests/test_$u"; done
}
t=$(mktemp -d "${TMPDIR:-/tmp}/kh-pack.XXXXXX") && trap 'rm -rf "$t"' EXIT
mkdir "$t/tests" "$t/lib"
for u in kmerhash $bench $units; do
	make -s -C "$build" "$u" >&2
	strip -o "$t/${u#cuda/tables/}" "$build/$u"
done
cc=${CC:-cc} here=$(dirname "$0")/gpu
$cc -O2 -pthread -o "$t/draw" "$here/draw.c" -lz
cp "$here"/* "$t/"
[ -z "${SIMGEN:-}" ] || cp "$(command -v "$SIMGEN")" "$t/simgen"
for u in kmerhash tests/test_backend; do ldd "$build/$u"; done | awk '$2 == "=>" && $3 != "not" { print $3 }' | sort -u |
	grep -vE '/lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|cuda[a-z]*|nccl|udev)\.so' |
	while read -r f; do cp -L "$f" "$t/lib/"; done
cat >"$t/env" <<'X'
R=$PWD
export LD_LIBRARY_PATH="$R/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" KMERHASH="$R/kmerhash" SIMGEN="$R/simgen" BENCH="$R/kmerhash-bench"
export DRAW="$R/draw" MAKE_KRAKEN="$R/tests/make_kraken"
export TESTS="$R/tests" KH_FAULTS="$R/tests/kmerhash_faults"
X
# the same kernels are in many of them: a dictionary that sees several at once
XZ_OPT=${XZ_OPT:---lzma2=dict=64MiB} tar -cJf "$2" -C "$t" .
