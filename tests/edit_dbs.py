#!/usr/bin/env python3
"""edit_dbs.py - a database with one field edited, its checksums made anew, many times

    edit_dbs.py GOOD.khdb FOLDER SEED

writes FOLDER/NUMBER-FIELD.khdb: each field of the header, of a record of each section, of lines and of the words of lists in turn, with a value at a limit of its type, near to the one that it had, or any. Whether the
result departs from kmerhash-db(5) is for others to say: run_db.sh asks the program and oracle_db.py.
"""
import os
import random
import struct
import sys

import oracle_db
from make_bad_dbs import HEADER, SECTIONS, extent, place_of, repaired

WIDTH = {"B": 1, "H": 2, "I": 4, "Q": 8}


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
    for name, kind in oracle_db.HEADER.items():
        if name != "tool":
            yield name, kind.replace("8s", "Q"), HEADER[name]
    yield "tool", "B", HEADER["tool"] + rng.randrange(32)
    yield "zeros", "B", rng.choice((448, 4087))
    yield "section", "Q", HEADER["section"] + 16 * len(SECTIONS)
    for name in SECTIONS:
        yield "at-" + name, "Q", place_of(name)
        yield "size-" + name, "Q", place_of(name) + 8

    def record(section, size, kinds):
        at, n = extent(data, section)
        at += size * rng.randrange(n // size)
        for number, kind in enumerate(kinds):
            yield "%s-%d" % (section, number), kind, at
            at += WIDTH[kind]
    yield from record("directory", 64, "QQ" + 12 * "I")
    yield from record("kept", 20, "IIIII")
    if extent(data, "strains")[1] > 0:
        yield from record("strains", 16, "IIII")
    yield from record("taxa", 24, "IIIIQ")
    yield from record("targets", 32, "IIQQQ")
    for section in ("names", "ids", "unmapped"):
        at, size = extent(data, section)
        if size:
            yield section, "B", at + rng.randrange(size)
            yield section + "-end", "B", at + size - 1
    yield from seeds(data, rng)
    at, size = extent(data, "text")
    stride, = struct.unpack_from("<I", data, HEADER["stride"])
    second, = struct.unpack_from("<I", data, extent(data, "kept")[0] + 20 + 8)
    yield "text-word", "I", at + 4 * rng.randrange(size // 4)
    yield "text-gap", "I", at + 4 * (stride // 16 * second - 1 - rng.randrange(stride // 16))
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
