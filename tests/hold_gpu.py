"""hold_gpu.py MB: takes all memory of the first GPU but MB megabytes, says so, and keeps it
until standard input ends."""
import ctypes
import sys


def main():
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    for call, args in (
        (cuda.cuInit, (0,)),
        (cuda.cuDeviceGet, (ctypes.byref(device), 0)),
        (cuda.cuDevicePrimaryCtxRetain, (ctypes.byref(context), device)),
        (cuda.cuCtxSetCurrent, (context,)),
    ):
        if call(*args):
            sys.exit(f"{call.__name__} failed")
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    size = 1 << 34
    while size >= 1 << 20:
        cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        at = ctypes.c_uint64()
        if free.value < (int(sys.argv[1]) << 20) + size or cuda.cuMemAlloc_v2(
            ctypes.byref(at), ctypes.c_size_t(size)
        ):
            size //= 2
    cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    print(f"{free.value >> 20} MB are free", flush=True)
    sys.stdin.read()


main()
