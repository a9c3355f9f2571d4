# run_configure.sh - what configure makes of --with-cuda-arch, with a compiler that only looks like
# nvcc; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"
mkdir -p cuda/bin cuda/lib64
ar cr cuda/lib64/libcudart_static.a
# It makes configure's trial file, whatever the architectures.
cat >cuda/bin/nvcc <<'X' && chmod +x cuda/bin/nvcc
#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" != -o ] || o=$2; shift; done
echo 'int f(int *p); int f(int *p) { return p != 0; }' | ${CC:-cc} -x c -c -o "$o" -
X

# flags LIST: those that nvcc gets
flags() {
	rm -rf made; mkdir made
	(cd made && unset NVCC NVCCFLAGS && "$KH_SRCDIR/configure" -q --without-nccl --with-cuda="$t/cuda" \
		--with-cuda-arch="$1") >.err 2>&1 || return
	sed -n 's/^CUDA_ARCH_FLAGS = *//p' made/Makefile
}
code() { flags "$1" | tr ' ' '\n' | sed -n 's/.*code=//p' | tr '\n' ' '; }
is() { code "$2" >got; echo "$3 " | tr -d '\n' >want; same want got "$1"; }
name="machine code of each, and PTX of the newest"
if [ -e "$KH_SRCDIR/config.status" ]; then skip "$name" "the source folder is configured itself"
else is "$name" "100 80,90" "sm_100 sm_80 sm_90 compute_100"; fi
plan
