#!/usr/bin/env python3
"""make_bad_dbs.py - bad databases from a good one

    make_bad_dbs.py GOOD.khdb FOLDER [KIND]

(KIND: a function below, whose cases alone are made) writes FOLDER/bad-*.khdb and FOLDER/list: a line each, file and what the message must have
(an extended regular expression). Those named bad-x-* have right checksums, so that they
reach the checks behind these.
"""
import struct
import sys
from itertools import accumulate

import oracle_db
from oracle_db import SECTIONS
from xxh3 import xxh3

# where each field is
HEADER = dict(zip(oracle_db.HEADER, accumulate(map(struct.calcsize, oracle_db.HEADER.values()), initial=0)))
HEADER.update(section=184, sums=440)


def place_of(name):
    """Where the header says where a section is"""
    return HEADER["section"] + 16 * SECTIONS.index(name)


def extent(data, name):
    return struct.unpack_from("<QQ", data, place_of(name))


def repaired(data):
    """Right checksums for what is there, as far as the table of them lies in the file."""
    data = bytearray(data)
    at, size = extent(data, "checksums")
    if 4096 <= at and at + size <= len(data):
        blocks = range(4096, at, 1 << 24)
        for i, begin in enumerate(blocks):
            if 8 * i + 8 <= size:
                struct.pack_into("<Q", data, at + 8 * i, xxh3(data[begin:min(begin + (1 << 24), at)]))
        struct.pack_into("<Q", data, HEADER["sums"], xxh3(data[at:at + size]))
    struct.pack_into("<Q", data, 4088, xxh3(data[:4088]))
    return data


def truncations(good):
    for name in SECTIONS:
        at, size = extent(good, name)
        if size == 0:
            continue
        yield "cut-before-" + name, good[:at], "truncated|few for a database"
        yield "cut-in-" + name, good[:at + size // 2], "truncated"
    yield "cut-1", good[:-1], "truncated"
    yield "cut-header", good[:100], "too few"
    yield "empty", b"", "too few"
    yield "longer", good + b"\0", "truncated or extended"


def flips(good):
    for name in SECTIONS:
        at, size = extent(good, name)
        for where, offset in (("first", at), ("last", at + size - 1), ("middle", at + size // 2)):
            if size:
                bad = bytearray(good)
                bad[offset] ^= 16
                want = "table of checksums is damaged" if name == "checksums" else "checksum of bytes 4096 to"
                yield "flip-%s-%s" % (name, where), bad, want
    for offset in (9, 100, 2000, 4090):
        bad = bytearray(good)
        bad[offset] ^= 1
        yield "flip-header-%d" % offset, bad, "a database of format|checksum of its header"


def plain(good):
    yield "magic", b"KHDB" + good[4:], "does not begin"
    yield "zeros", bytes(len(good)), "never completed"
    for version in (0, 1, 2, 3, 5, 4294967295):
        yield "version-%d" % version, good[:8] + struct.pack("<I", version) + good[12:], \
            "a database of format %d, and this program reads format 4: build it again from its references .kmerhash build" % version
    yield from truncations(good)
    yield from flips(good)


def put(good, fmt, offset, *values):
    bad = bytearray(good)
    struct.pack_into("<" + fmt, bad, offset, *values)
    return bad


def headers(good):
    huge32, huge64 = (1 << 32) - 1, (1 << 64) - 1
    for field, fmt, values in (
            ("header_bytes", "I", (0, 8192)), ("byte_order", "Q", (0x0807060504030201,)),
            ("file_bytes", "Q", (0, huge64)), ("scheme", "I", (2, huge32)), ("k", "I", (0, 7, 32, huge32)),
            ("s", "I", (0, 1, 31, huge32)), ("stride", "I", (0, 1, 111, 112, 1024, huge32)),
            ("bins", "Q", (0, 1, 1 << 32, huge64)), ("features", "Q", (0, huge64)), ("over", "Q", (1, huge64)),
            ("n_targets", "I", (0, 1, huge32)), ("n_taxa", "I", (0, 1, huge32)), ("word_bits", "I", (0, 8, 22, 24, 32, huge32)),
            ("max_bytes", "Q", (1,)), ("no_repeats", "I", (2, huge32)), ("zero", "I", (1, 1 << 31))):
        for value in values:
            yield "%s-%d" % (field, value), put(good, fmt, HEADER[field], value), ""
    yield "tool", put(good, "32s", HEADER["tool"], b"x" * 32), ""
    yield "sections", put(good, "Q", HEADER["section"] + 16 * len(SECTIONS), 4096), "sections that this program does not know"
    yield "zeros", put(good, "B", 4087, 1), "must be zero"
    for name in SECTIONS:
        at, size = extent(good, name)
        for what, pair in (("at-odd", (at + 1, size)), ("at-0", (0, size)), ("at-huge", (huge64 - 4095, size)),
                           ("size-huge", (at, huge64)), ("size-wraps", (at, huge64 - at + 1)),
                           ("size-less", (at, size - 1)), ("size-0", (at, 0)), ("behind", (len(good) + 4096, size)),
                           ("overlaps", (extent(good, "taxa" if name != "taxa" else "ids")[0], size))):
            if size > 0:
                yield "%s-%s" % (name, what), put(good, "QQ", place_of(name), *pair), ""


def trees(good):
    at, size = extent(good, "taxa")
    n, names = size // 24, extent(good, "names")
    for i in (0, 1, n - 1):
        for field, values in ((0, (0, 1 if i else 2)), (1, (i + 1, (1 << 32) - 1)), (2, (0, n + 1, (1 << 32) - 1)),
                              (3, (52, (1 << 32) - 1))):
            for value in values:
                yield "taxon-%d-%d-%d" % (i, field, value), put(good, "I", at + 24 * i + 4 * field, value), ""
        yield "taxon-%d-name" % i, put(good, "Q", at + 24 * i + 16, names[1]), ""
        yield "taxon-%d-name-huge" % i, put(good, "Q", at + 24 * i + 16, (1 << 64) - 1), ""
    taxa = list(struct.iter_unpack("<IIIIQ", good[at:at + size]))
    i, j = next((i, j) for j in range(1, n) for i in range(1, j) if taxa[i][1] == taxa[j][1])
    yield "siblings", put(put(good, "I", at + 24 * i, taxa[j][0]), "I", at + 24 * j, taxa[i][0]), "behind that of its sibling"
    yield "cycle", put(put(good, "I", at + 24 + 4, 2), "I", at + 48 + 4, 1), ""
    yield "names-no-end", put(good, "B", sum(names) - 1, 65), ""
    yield "names-control", put(good, "B", names[0] + 7, 10), ""
    at, _ = extent(good, "targets")
    for name, fmt, offset, value in (("bin", "I", 0, 1), ("taxon", "I", 4, n), ("bases", "Q", 8, (1 << 64) - 1),
                                     ("bases-0", "Q", 8, 0), ("id", "Q", 24, 1 << 40), ("id-inside", "Q", 24, 3)):
        yield "target-" + name, put(good, fmt, at + 32 + offset, value), ""
    ids = extent(good, "ids")
    yield "ids-no-end", put(good, "B", sum(ids) - 1, 65), ""


def text(good):
    at, size = extent(good, "text")
    huge = (1 << 64) - 1
    for what, pair in (("size-less", (at, size - 4)), ("size-more", (at, size + 4)), ("none", (0, 0))):
        yield "text-" + what, put(good, "QQ", place_of("text"), *pair), ""
    stride = struct.unpack_from("<I", good, HEADER["stride"])[0]
    second = struct.unpack_from("<I", good, extent(good, "targets")[0] + 32)[0]
    at_kept, size_kept = extent(good, "kept")
    for what, pair in (("size-less", (at_kept, size_kept - 20)), ("none", (0, 0))):
        yield "text-kept-" + what, put(good, "QQ", place_of("kept"), *pair), ""
    target, begins, first, bins, _ = struct.unpack_from("<5I", good, at_kept + 20)
    alleles = [(i, of[3]) for i, of in enumerate(struct.iter_unpack("<5I", good[at_kept:at_kept + size_kept])) if of[4]]
    for what, offset, values in (("target", 0, (huge >> 32, target + 1, 0)), ("begins", 4, (huge >> 32, begins + 1 << 20)),
                                 ("first", 8, (first + 1, 0, huge >> 32)), ("bins", 12, (bins + 1, 0, huge >> 32))):
        for value in values:
            yield "text-kept-%s-%d" % (what, value), put(good, "I", at_kept + 20 + offset, value), "kept|targets|bins"
    for i, value in [(i, value) for i, _ in alleles[:2] for value in (0, 3, huge >> 32)]:
        yield "text-kept-alleles-%d-%d" % (i, value), put(good, "I", at_kept + 20 * i + 16, value), "kept is damaged|text does not fit|alleles are damaged"
    with_alleles = sum(bins for _, bins in alleles)
    behind = struct.unpack_from("<Q", good, HEADER["bins"])[0] * stride // 16 + 64
    few = at + 4 * (behind + (with_alleles * stride // 16 + 64 if alleles else 0))
    for i, kind, value in [x for x in ((4, "B", 0), (4, "I", 4 * stride + 1), (0, "I", huge >> 32)) if few < at + size]:
        yield "text-few-%d-%d" % (i, value), put(good, kind, few + i, value), "alleles are damaged"
    for name, word in (("gap", second * stride // 16 - 1), ("behind", behind - 1)):
        yield "text-" + name, put(good, "I", at + 4 * word, 1), "text goes on behind a target"
    bases = struct.unpack_from("<Q", good, extent(good, "targets")[0] + 8)[0]
    if bases % 16:
        yield "text-end", put(good, "B", at + 4 * (bases // 16) + 3, 192), "text goes on behind a target"


def strains(good):
    """of a database with such a section"""
    at, size = extent(good, "strains")
    if size == 0:
        return
    huge = (1 << 32) - 1
    for what, pair in (("at-odd", (at + 1, size)), ("at-0", (0, size)), ("size-0", (at, 0)), ("size-odd", (at, size - 1)),
                       ("overlaps", (extent(good, "kept")[0], size)), ("behind", (len(good) + 4096, size))):
        yield "strains-" + what, put(good, "QQ", place_of("strains"), *pair), ""
    bin, bins, same, other = struct.unpack_from("<4I", good, at)
    last = struct.unpack_from("<4I", good, at + size - 16)
    for what, offset, values in (("bin", 0, (huge, last[0] + 1)), ("bins", 4, (0, huge, last[0] + last[1] - bin + 1)),
                                 ("same", 8, (0, huge)), ("other", 12, (0, huge))):
        for value in values:
            yield "strains-%s-%d" % (what, value), put(good, "I", at + offset, value), "strains is damaged"
    yield "strains-order", put(good, "I", at + size - 16, bin), "strains is damaged"


def seeds(good):
    """of a database that has lists"""
    directory, index = extent(good, "directory")[0], extent(good, "index")[0]
    bits = struct.unpack_from("<I", good, HEADER["word_bits"])[0]
    lists = [struct.unpack_from("<I", good, directory + 64 * r + 20)[0] for r in range(256)]
    if not any(lists):
        return
    slots, r = 512 // (bits + 9), next(r for r in range(256) if lists[r])
    at = directory + 64 * r
    first, first_word, words, lists, n, _, used, lines = struct.unpack_from("<QQIIIIII", good, at)
    for name, offset, kind, value in (
            ("line", 0, "Q", first + 1), ("line-huge", 0, "Q", (1 << 64) - 1), ("word", 8, "Q", first_word + 1),
            ("words", 16, "I", words + 16), ("words-huge", 16, "I", (1 << 32) - 1), ("lists", 20, "I", lists + 1),
            ("seeds", 24, "I", n + 1), ("over", 28, "I", 1), ("slots", 32, "I", used + 1), ("lines", 36, "I", lines + 1), ("lines-0", 36, "I", 0),
            ("lines-huge", 36, "I", (1 << 32) - 1), ("level", 60, "I", 1)):
        yield "seeds-" + name, put(good, kind, at + offset, value), "range %d|directory|locations" % r

    def line_with(value):
        """The line of the first level with the first slot's value, and spare bits, replaced"""
        line = good[index + 64 * first:index + 64 * first + 64]
        number, shift = int.from_bytes(line, "little"), 8 * slots
        number = number & ~(((1 << bits + 1) - 1) << shift) | value << shift
        return good[:index + 64 * first] + number.to_bytes(64, "little") + good[index + 64 * first + 64:]

    yield "seeds-free", line_with(0), "free is not zero"
    yield "seeds-behind", line_with(1 << bits), "behind the text"
    yield "seeds-list", line_with((1 << bits) + 1 + words), "does not begin where a seed says"
    # a line with a second tag
    places = [(of[0], of[7]) for of in struct.iter_unpack("<QQ12I", good[directory:directory + 256 * 64])]
    two = next(at for of, n in places for at in range(index + 64 * of, index + 64 * (of + n), 64) if 0 < good[at + 1] < 255)
    yield "seeds-tag", put(good, "B", two, 255), "not ascending"
    word = index + 4 * first_word
    second = struct.unpack_from("<I", good, word + 4)[0]
    yield "seeds-word", put(good, "I", word, (1 << 32) - 1), "ascending bins"
    yield "seeds-word-equal", put(good, "I", word, second | 1 << 31), "ascending bins"
    yield "seeds-short", put(good, "I", word, second & 1), "too short"
    end = index + 4 * (first_word + words - 1)
    yield "seeds-end", put(good, "I", end, struct.unpack_from("<I", good, end)[0] | 1 << 31), "no end"


def translated(good):
    """of a database with translated seeds"""
    at, size = extent(good, "translated")
    if size == 0:
        return
    for what, pair in (("at-0", (0, size)), ("size-0", (at, 0)), ("size-less", (at, size - 4)),
                       ("overlaps", (extent(good, "taxa")[0], size))):
        yield "translated-" + what, put(good, "QQ", place_of("translated"), *pair), ""
    genera, lines, behind = struct.unpack_from("<III", good, at + 4)
    places, codons, width = struct.unpack_from("<QQI", good, at + 16)
    for what, fmt, offset, value in (("k", "I", 0, 9), ("genera", "I", 4, genera + 4), ("lines", "I", 8, lines + 1),
                                     ("no-lines", "I", 8, 0), ("places", "Q", 16, 1 << 63), ("codons", "Q", 24, 1 << 33),
                                     ("codons-odd", "Q", 24, codons + 1), ("bits", "I", 32, width + 1), ("zero", "I", 60, 1)):
        yield "translated-" + what, put(good, fmt, at + offset, value), "translated seeds"
    genus = at + 64
    line = genus + 64 * -(-genera // 4)
    place = line + 64 * (lines + behind)
    short = next(at for at in range(line, place, 64) if good[at + 60] < 28)
    for what, fmt, offset, value in (("taxon", "I", genus, 1 << 31), ("family", "I", genus + 4, 1 << 30), ("threshold", "I", genus + 8, 0), ("called", "I", genus + 12, 1 << 30),
                                     ("order", "I", genus + 16, 0), ("base", "I", line + 120, 0), ("many", "B", line + 60, 29),
                                     ("line-zero", "B", line + 61, 1), ("later", "H", short + 62, 1),
                                     ("last-later", "H", place - 2, 1), ("place", "I", place, 0xffffffff)):
        yield "translated-" + what, put(good, fmt, offset, value), "translated seeds are damaged"


def main(path, folder, only=""):
    with open(path, "rb") as f:
        good = f.read()
    made = [] if only else [("bad-" + name, data, want) for name, data, want in plain(good)]
    makers = [make for make in (headers, trees, text, strains, seeds, translated) if only in ("", make.__name__)]
    for name, data, want in (case for make in makers for case in make(good)):
        made.append(("bad-x-" + name, repaired(data), want))
    with open(folder + "/list", "w") as out:
        for name, data, want in made:
            with open("%s/%s.khdb" % (folder, name), "wb") as f:
                f.write(data)
            out.write("%s.khdb\t%s\n" % (name, want or "."))


if __name__ == "__main__":
    main(*sys.argv[1:])
