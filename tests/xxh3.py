"""xxh3.py - XXH3's 64 bits of some bytes, by the library that kmerhash itself needs"""
import ctypes

XXH3 = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
XXH3.argtypes = ctypes.c_char_p, ctypes.c_size_t
XXH3.restype = ctypes.c_uint64


def xxh3(data):
    return XXH3(bytes(data), len(data))
