#!/bin/bash
set -eu

options=(--without-cuda)
if [[ ${cuda_compiler_version:-None} != None ]]; then
	case $target_platform in
	linux-64) targets=$PREFIX/targets/x86_64-linux ;;
	linux-aarch64) targets=$PREFIX/targets/sbsa-linux ;;
	esac
	export CPPFLAGS="$CPPFLAGS -I$targets/include" LDFLAGS="$LDFLAGS -L$targets/lib"
	options=(--with-cuda="$BUILD_PREFIX")
fi
if [[ $build_platform != "$target_platform" ]]; then
	options+=(--host="$HOST")
fi
./configure --prefix="$PREFIX" --without-cmocka --with-isal "${options[@]}"
make -j"$CPU_COUNT"
make install
