#!/usr/bin/env python3
"""Makes the files of this folder and EXPECT: file, bytes and CRC-32 of what it holds, and
for a bad one how the message begins behind the name."""
import os
import struct
import sys
import zlib

TEXT = b"".join(b"@read%d\nACGTTGCA%s\n+\nIIIIIIII%s\n" % (i, b"ACGT"[i % 4:], b"IIII"[i % 4:])
                for i in range(40))
HALF = len(TEXT) // 2


def deflated(data, level=6, strategy=zlib.Z_DEFAULT_STRATEGY):
    z = zlib.compressobj(level, zlib.DEFLATED, -15, 8, strategy)
    return z.compress(data) + z.flush()


def trailer(data):
    return struct.pack("<II", zlib.crc32(data), len(data))


def gz(data, flags=0, extra=b"", **how):
    return b"\x1f\x8b\x08" + bytes([flags]) + b"\0\0\0\0\0\xff" + extra + deflated(data, **how) \
        + trailer(data)


def with_hcrc(data, wrong=0):
    head = b"\x1f\x8b\x08\x1e\0\0\0\0\0\xff\x05\0xy\1\0zname\0a comment\0"
    return head + struct.pack("<H", (zlib.crc32(head) ^ wrong) & 0xffff) + deflated(data) \
        + trailer(data)


def block(data, before=b"", after=b"", off=0, isize=None):
    body = deflated(data) + trailer(data)
    if isize is not None:
        body = body[:-4] + struct.pack("<I", isize)
    n = 12 + len(before) + 6 + len(after) + len(body)
    extra = before + b"BC\2\0" + struct.pack("<H", n - 1 + off) + after
    return b"\x1f\x8b\x08\4\0\0\0\0\0\xff" + struct.pack("<H", len(extra)) + extra + body


def bgzf(data, step=300):
    return b"".join(block(data[i:i + step]) for i in range(0, len(data), step))


EOF = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
BG = bgzf(TEXT)
FIRST = len(block(TEXT[:300]))

GOOD = {
    "plain.txt": (TEXT, TEXT),
    "empty.txt": (b"", b""),
    "one.gz": (TEXT, gz(TEXT)),
    "no-suffix": (TEXT, gz(TEXT)),
    "two-members.gz": (TEXT, gz(TEXT[:HALF]) + gz(TEXT[HALF:])),
    "empty-member.gz": (b"", gz(b"")),
    "empty-members.gz": (TEXT, gz(b"") + gz(TEXT) + gz(b"")),
    "stored.gz": (TEXT, gz(TEXT, level=0)),
    "fixed-codes.gz": (TEXT, gz(TEXT, strategy=zlib.Z_FIXED)),
    "all-header-fields.gz": (TEXT, with_hcrc(TEXT)),
    "name.gz": (TEXT, gz(TEXT, 8, b"reads.fq\0")),
    "zeros-behind.gz": (TEXT, gz(TEXT) + b"\0" * 600),
    "bgzf.gz": (TEXT, BG + EOF),
    "bgzf-one-block.gz": (TEXT, block(TEXT) + EOF),
    "bgzf-only-end.gz": (b"", EOF),
    "bgzf-end-in-the-middle.gz": (TEXT + TEXT, BG + EOF + BG + EOF),
    "bgzf-other-end.gz": (TEXT, BG + block(b"")),
    "bgzf-more-fields.gz": (TEXT, block(TEXT, b"XX\1\0x", b"YY\0\0") + EOF),
    "bgzf-zeros-behind.gz": (TEXT, BG + EOF + b"\0" * 100),
    "bgzf-then-gzip.gz": (TEXT + TEXT, BG + gz(TEXT)),
    "bgzf-end-then-gzip.gz": (TEXT + TEXT, BG + EOF + gz(TEXT)),
    "gzip-then-bgzf.gz": (TEXT + TEXT, gz(TEXT) + BG + EOF),
    "bgzf-then-gzip-then-bgzf.gz": (TEXT * 3, BG + gz(TEXT) + BG + EOF),
}
CUT = ": gzip data end early at byte %d: the file was cut off"
DAMAGED = ": damaged: gzip member at byte %d: "
NO_EOF = ": BGZF without its end-of-file block: the file was cut off"
BEHIND = ": at byte %d something that is not gzip follows the last gzip member"


def flip(data, at, bit=1):
    return data[:at] + bytes([data[at] ^ bit]) + data[at + 1:]


ONE = gz(TEXT)
BAD = {
    "empty.gz": (": empty, but its name says gzip", b""),
    "cut-in-magic.gz": (CUT % 1, ONE[:1]),
    "cut-in-header.gz": (CUT % 9, ONE[:9]),
    "cut-in-name.gz": (CUT % 14, gz(TEXT, 8, b"reads.fq\0")[:14]),
    "cut-in-data.gz": (CUT % (len(ONE) // 2), ONE[:len(ONE) // 2]),
    "cut-before-trailer.gz": (CUT % (len(ONE) - 8), ONE[:-8]),
    "cut-in-trailer.gz": (CUT % (len(ONE) - 4), ONE[:-4]),
    "crc.gz": (DAMAGED % 0 + "CRC-32 differs", flip(ONE, len(ONE) - 7)),
    "length.gz": (DAMAGED % 0 + "its length differs", flip(ONE, len(ONE) - 2)),
    "bit.gz": (DAMAGED % 0, flip(ONE, len(ONE) // 2, 4)),
    "block-type.gz": (DAMAGED % 0 + "its data cannot be inflated", flip(gz(TEXT, level=0), 10, 6)),
    "garbage-behind.gz": (BEHIND % len(ONE), ONE + b"garbage"),
    "one-byte-behind.gz": (BEHIND % len(ONE), ONE + b"\n"),
    "zeros-and-garbage.gz": (BEHIND % (len(ONE) + 100), ONE + b"\0" * 100 + b"x"),
    "zeros-and-member.gz": (BEHIND % (len(ONE) + 5), ONE + b"\0" * 5 + ONE),
    "second-header-cut.gz": (CUT % (len(ONE) + 3), ONE + ONE[:3]),
    "second-magic-cut.gz": (CUT % (len(ONE) + 1), ONE + ONE[:1]),
    "second-crc.gz": (DAMAGED % len(ONE) + "CRC-32 differs", ONE + flip(ONE, len(ONE) - 7)),
    "method.gz": (DAMAGED % 0 + "its header has an unknown method or flag", flip(ONE, 2)),
    "reserved-flag.gz": (DAMAGED % 0 + "its header has an unknown method or flag",
                         flip(ONE, 3, 0x20)),
    "header-crc.gz": (DAMAGED % 0 + "its header has a wrong checksum", with_hcrc(TEXT, 1)),
    "bgzf-no-end.gz": (NO_EOF, BG),
    "bgzf-cut-at-block.gz": (NO_EOF, BG[:FIRST]),
    "bgzf-cut-in-block.gz": (CUT % (FIRST + 40), (BG + EOF)[:FIRST + 40]),
    "bgzf-cut-in-header.gz": (CUT % (FIRST + 11), (BG + EOF)[:FIRST + 11]),
    "bgzf-cut-in-end.gz": (CUT % (len(BG) + 20), (BG + EOF)[:len(BG) + 20]),
    "bgzf-crc.gz": (DAMAGED % FIRST + "CRC-32 differs",
                    BG[:FIRST] + flip(block(TEXT[300:]), len(block(TEXT[300:])) - 7) + EOF),
    "bgzf-length.gz": (DAMAGED % FIRST, BG[:FIRST] + block(TEXT, isize=len(TEXT) - 1) + EOF),
    "bgzf-length-huge.gz": (DAMAGED % 0, block(TEXT, isize=1 << 20) + EOF),
    "bgzf-size-small.gz": (DAMAGED % 0, block(TEXT, off=-3) + EOF),
    "bgzf-size-large.gz": (DAMAGED % 0, block(TEXT, off=7) + EOF),
    "bgzf-size-impossible.gz": (DAMAGED % 0 + "its BGZF size is impossible",
                                block(TEXT, off=16 - len(block(TEXT))) + EOF),
    "bgzf-bit.gz": (DAMAGED % 0, flip(BG, FIRST // 2, 4) + EOF),
    "bgzf-garbage-behind.gz": (BEHIND % (len(BG) + 28), BG + EOF + b"garbage"),
    "bgzf-then-cut-gzip.gz": (CUT % (len(BG) + len(ONE) - 20), BG + ONE[:-20]),
    "gzip-then-bgzf-no-end.gz": (NO_EOF, ONE + BG),
    "zstd.zst": (": zstd-compressed; only plain text and gzip are read", b"\x28\xb5\x2f\xfd\x04\0"),
    "bzip2.bz2": (": bzip2-compressed; only plain text and gzip are read", b"BZh91AY&SY"),
    "xz.xz": (": xz-compressed; only plain text and gzip are read", b"\xfd7zXZ\0\0\4"),
    "lz4.lz4": (": lz4-compressed; only plain text and gzip are read", b"\x04\x22\x4d\x18d@"),
    "zip.zip": (": a zip archive; only plain text and gzip are read", b"PK\3\4\x14\0"),
    "compress.Z": (": compressed by compress(1); only plain text and gzip are read", b"\x1f\x9d\x90"),
    "utf16.txt": (": UTF-16 text; only plain text and gzip are read", b"\xff\xfe>\0a\0\n\0"),
}

os.chdir(os.path.dirname(os.path.abspath(sys.argv[0])))
with open("EXPECT", "w") as out:
    for name, (text, data) in GOOD.items():
        open("good-" + name, "wb").write(data)
        out.write("good-%s\t%d\t%08x\t\n" % (name, len(text), zlib.crc32(text)))
    for name, (message, data) in BAD.items():
        open("bad-" + name, "wb").write(data)
        out.write("bad-%s\t0\t0\t%s\n" % (name, message))
