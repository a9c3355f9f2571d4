#!/usr/bin/env python3
"""edit_dbs.py - a database with one field edited, its checksums made anew, many times

    edit_dbs.py GOOD.khdb FOLDER SEED

writes FOLDER/NUMBER-FIELD.khdb: each field of the header, of a record of each section, of a bucket, of the words of lists and of
the keys in turn, with a value at a limit of its type, near to the one that it had, or any. Whether the
result departs from kmerhash-db(5) is for others to say: run_db.sh asks the program and oracle_db.py.
"""
import os
import random
import struct
import sys

from make_bad_dbs import HEADER, SECTIONS, extent, repaired

WIDTH = {"B": 1, "H": 2, "I": 4, "Q": 8}
WIDE = "magic byte_order file_bytes bins locations features entries over bases sequences unmapped unmapped_bases digest max_bytes".split()
MORE = {"bases": 96, "sequences": 104, "unmapped": 112, "unmapped_bases": 120, "digest": 128}


def buckets(data, rng):
    directory, _ = extent(data, "directory")
    index, _ = extent(data, "index")
    first, loc, n_locs, buckets = struct.unpack_from("<QQQI", data, directory + 40 * rng.randrange(256))
    bucket = index + 64 * (first + rng.randrange(buckets + 1))
    yield "bucket-base", "B", bucket + rng.randrange(6)
    yield "bucket-flags", "B", bucket + 6
    yield "bucket-length", "B", bucket + 7 + rng.randrange(19)
    yield "bucket-tag", "H", bucket + 26 + 2 * rng.randrange(19)
    yield "word", "H", index + 4 * loc + 2 * rng.randrange(max(1, n_locs // 2))


def seeds(data, rng):
    directory, _ = extent(data, "directory")
    index, _ = extent(data, "index")
    for _ in range(8):
        first, word, words, *_, lines = struct.unpack_from("<QQIIIIII", data, directory + 64 * rng.randrange(256))
        if lines:
            yield "line", "I", index + 64 * (first + rng.randrange(lines)) + 4 * rng.randrange(16)
        if words:
            yield "word", "I", index + 4 * (word + rng.randrange(words))


def fields(data, rng):
    """(name, type, offset) of each"""
    for name, at in {**HEADER, **MORE}.items():
        if name not in ("section", "minima", "tool", "sums", "zero"):
            yield name, "Q" if name in WIDE else "I", at
    yield "minima", "I", 144 + 4 * rng.randrange(32)
    yield "tool", "B", 400 + rng.randrange(32)
    yield "zero", "B", rng.choice((472, 511, 624, 4087))
    for i, name in enumerate(SECTIONS + ["keys", "told", "text", "kept", "translated", "excerpts", "strains"]):
        place = {"keys": 512, "told": 528, "text": 544, "kept": 560, "translated": 576, "excerpts": 592, "strains": 608}.get(name, 272 + 16 * i)
        yield "at-" + name, "Q", place
        yield "size-" + name, "Q", place + 8

    def record(section, size, kinds):
        at, n = extent(data, section)
        at += size * rng.randrange(n // size)
        for number, kind in enumerate(kinds):
            yield "%s-%d" % (section, number), kind, at
            at += WIDTH[kind]
    text = extent(data, "text")[1] > 0
    yield from record("directory", *((64, "QQ" + 12 * "I") if text else (40, "QQQIIII")))
    if text:
        yield from record("kept", 16, "IIII")
        if extent(data, "strains")[1] > 0:
            yield from record("strains", 16, "IIII")
    yield from record("taxa", 24, "IIIIQ")
    yield from record("targets", 32, "IIQQQ")
    for section in ("names", "ids", "unmapped"):
        at, size = extent(data, section)
        if size:
            yield section, "B", at + rng.randrange(size)
            yield section + "-end", "B", at + size - 1
    yield from (seeds if text else buckets)(data, rng)
    at, size = extent(data, "keys")
    if size:
        yield "keys-count", "Q", at + 8 * rng.randrange(256)
        yield "keys-word", "I", at + 2048 + 4 * rng.randrange((size - 2048) // 4)
    at, size = struct.unpack_from("<QQ", data, 592)
    if size:
        at += 144 * rng.randrange(size // 144)
        yield from (("excerpt-seq", "Q", at), ("excerpt-number", "I", at + 8), ("excerpt-known", "I", at + 12))
    at, size = extent(data, "text")
    if size:
        stride, _, gap = struct.unpack_from("<III", data, 44)
        second, = struct.unpack_from("<I", data, extent(data, "targets")[0] + 32)
        yield "text-word", "I", at + 4 * rng.randrange(size // 4)
        yield "text-gap", "I", at + 4 * (stride // 16 * second - 1 - rng.randrange(stride // 16 * gap))
    at, size = extent(data, "translated")
    if size:
        genera, lines = struct.unpack_from("<II", data, at + 4)
        for word in range(8):
            yield "translated-head", "I", at + 4 * word
        yield "translated-genus", "I", at + 64 + 4 * rng.randrange(4 * genera)
        line = at + 64 + 64 * (-(-genera // 4) + rng.randrange(lines))
        yield "translated-tag", "H", line + 2 * rng.randrange(28)
        yield "translated-line", "I", line + 56
        yield "translated-line", "B", line + 60 + rng.randrange(4)
    for name in SECTIONS[:-1]:
        at, size = extent(data, name)
        if (at + size) % 4096:
            yield "hole-" + name, "B", at + size


def edited(data, kind, at, rng):
    """at most once in a few it has the value that it had"""
    most = (1 << 8 * WIDTH[kind]) - 1
    old, = struct.unpack_from("<" + kind, data, at)
    value = rng.choice((0, 1, most, most >> 1, old + 1, old - 1, old ^ 1 << rng.randrange(8 * WIDTH[kind]), rng.randrange(most + 1)))
    bad = bytearray(data)
    struct.pack_into("<" + kind, bad, at, value & most)
    return bad


def main(path, folder, seed):
    rng = random.Random(int(seed))
    with open(path, "rb") as f:
        good = f.read()
    number = 0
    for turn in range(2):
        for name, kind, at in fields(good, rng):
            with open(os.path.join(folder, "%03d-%s.khdb" % (number, name)), "wb") as f:
                f.write(repaired(edited(good, kind, at, rng)))
            number += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
