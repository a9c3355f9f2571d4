#!/usr/bin/env python3
"""make_bad_dbs.py - bad databases from a good one

    make_bad_dbs.py GOOD.khdb FOLDER [KIND]

(KIND: a function below, whose cases alone are made) writes FOLDER/bad-*.khdb and FOLDER/list: a line each, file and what the message must have
(an extended regular expression). Those named bad-x-* have right checksums, so that they
reach the checks behind these; they need the module xxhash.
"""
import struct
import sys

try:
    from xxhash import xxh3_64_intdigest as xxh3
except ImportError:
    xxh3 = None

SECTIONS = "index directory taxa names targets ids unmapped checksums".split()
HEADER = {"magic": 0, "version": 8, "header_bytes": 12, "byte_order": 16, "file_bytes": 24, "scheme": 32,
          "k": 36, "s": 40, "stride": 44, "max_span": 48, "gap": 52, "bins": 56, "locations": 64,
          "features": 72, "entries": 80, "over": 88, "n_targets": 136, "n_taxa": 140, "minima": 144,
          "section": 272, "tool": 400, "sums": 432, "max_locations": 440, "n_species": 444,
          "word_bits": 448, "least": 452, "max_bytes": 456, "no_repeats": 464,
          "runs": 468, "zero": 472}


def extent(data, name):
    if name == "keys":
        return struct.unpack_from("<QQ", data, 512)
    if name == "kept":
        return struct.unpack_from("<QQ", data, 560)
    if name == "translated":
        return struct.unpack_from("<QQ", data, 576)
    if name == "strains":
        return struct.unpack_from("<QQ", data, 608)
    if name == "text":
        return struct.unpack_from("<QQ", data, 544)
    return struct.unpack_from("<QQ", data, 272 + 16 * SECTIONS.index(name))


def repaired(data):
    """Right checksums for what is there, as far as the table of them lies in the file."""
    data = bytearray(data)
    at, size = extent(data, "checksums")
    if 4096 <= at and at + size <= len(data):
        blocks = range(4096, at, 1 << 24)
        for i, begin in enumerate(blocks):
            if 8 * i + 8 <= size:
                struct.pack_into("<Q", data, at + 8 * i, xxh3(bytes(data[begin:min(begin + (1 << 24), at)])))
        struct.pack_into("<Q", data, 432, xxh3(bytes(data[at:at + size])))
    struct.pack_into("<Q", data, 4088, xxh3(bytes(data[:4088])))
    return data


def truncations(good):
    for name in SECTIONS:
        at, size = extent(good, name)
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
        yield "flip-header-%d" % offset, bad, "database version|checksum of its header"


def plain(good):
    yield "magic", b"KHDB" + good[4:], "does not begin"
    yield "zeros", bytes(len(good)), "never completed"
    for version in (0, 1, 4, 4294967295):
        yield "version-%d" % version, good[:8] + struct.pack("<I", version) + good[12:], \
            "version %d, this program reads versions 2 and 3: build it anew from its references .kmerhash build" % version
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
            ("s", "I", (0, 1, 31, huge32)), ("stride", "I", (0, 1, 111, 113, huge32)),
            ("max_span", "I", (0, 111, 1 << 21, huge32)), ("gap", "I", (0, 9, huge32)),
            ("bins", "Q", (0, 1, 1 << 32, huge64)), ("features", "Q", (0, huge64)),
            ("entries", "Q", (0, huge64)), ("over", "Q", (1, huge64)),
            ("n_targets", "I", (0, 1, huge32)), ("n_taxa", "I", (0, 1, huge32)), ("minima", "I", (0,)),
            ("max_locations", "I", (0, 255, huge32)), ("n_species", "I", (0, 1, 3, huge32)), ("word_bits", "I", (0, 8, 10, 32, huge32)),
            ("least", "I", (1, huge32)), ("max_bytes", "Q", (1,)), ("no_repeats", "I", (2, huge32)), ("runs", "I", (2, huge32)), ("zero", "I", (1, 1 << 31))):
        for value in values:
            yield "%s-%d" % (field, value), put(good, fmt, HEADER[field], value), ""
    yield "tool", put(good, "32s", 400, b"x" * 32), ""
    for i, name in enumerate(SECTIONS):
        at, size = extent(good, name)
        for what, pair in (("at-odd", (at + 1, size)), ("at-0", (0, size)), ("at-huge", (huge64 - 4095, size)),
                           ("size-huge", (at, huge64)), ("size-wraps", (at, huge64 - at + 1)),
                           ("size-less", (at, size - 1)), ("size-0", (at, 0)), ("behind", (len(good) + 4096, size)),
                           ("overlaps", (extent(good, "taxa" if name != "taxa" else "ids")[0], size))):
            if size > 0:
                yield "%s-%s" % (name, what), put(good, "QQ", 272 + 16 * i, *pair), ""


def directories(good):
    """of a database of version 2"""
    if extent(good, "text")[1]:
        return
    at, _ = extent(good, "directory")
    index, image = extent(good, "index")
    record = struct.unpack_from("<QQQIIII", good, at + 40 * 7)
    for field, values in ((0, (record[0] + 1, record[0] + (1 << 58), (1 << 64) - 1)),
                          (1, (record[1] + 1, record[1] + (1 << 62), (1 << 64) - 1)),
                          (2, (record[2] + 1, 1 << 62, (1 << 64) - 1, (1 << 64) - 16, 0)),
                          (3, (0, record[3] + 1, 1 << 24, (1 << 32) - 1)), (4, (0, (1 << 32) - 1)),
                          (5, (0, record[5] + 1, (1 << 32) - 1)), (6, (1, (1 << 32) - 1))):
        for value in values:
            changed = record[:field] + (value,) + record[field + 1:]
            yield "range-%d-%d" % (field, value), put(good, "QQQIIII", at + 40 * 7, *changed), ""
    bucket, words = index + 64 * record[0], index + 4 * record[1]
    yield "bucket-base", put(good, "B", bucket + 5, 255), "range 7, bucket 0: a bucket's base"
    yield "bucket-flags", put(good, "B", bucket + 6, 64), "range 7, bucket 0: a bucket's flags"
    yield "bucket-carried", put(good, "B", bucket + 6, 19), "range 7, bucket 0: a bucket's flags"
    yield "bucket-length", put(good, "B", bucket + 7, 254), "range 7, bucket"
    yield "bucket-tags", put(good, "HH", bucket + 26, 2, 1), "range 7, bucket 0: tags"
    yield "bin-huge", put(good, "I", words, (1 << 32) - 1), "range 7, bucket .*locations"
    yield "last-bucket", put(good, "B", bucket + 64 * record[3] + 7, 1), "range 7, bucket"


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
    """of a database of version 3"""
    at, size = extent(good, "text")
    if size == 0:
        return
    huge = (1 << 64) - 1
    for what, pair in (("at-odd", (at + 1, size)), ("at-0", (0, size)), ("at-huge", (huge - 4095, size)),
                       ("size-0", (at, 0)), ("size-less", (at, size - 4)), ("size-odd", (at, size - 1)),
                       ("size-more", (at, size + 4)), ("behind", (len(good) + 4096, size)),
                       ("overlaps", (extent(good, "taxa")[0], size)), ("none", (0, 0))):
        yield "text-" + what, put(good, "QQ", 544, *pair), ""
    yield "text-version-2", put(good, "I", 8, 2), "version does not say whether it has text"
    yield "text-keys", put(good, "QQ", 512, extent(good, "taxa")[0], 0), ""
    stride = struct.unpack_from("<I", good, HEADER["stride"])[0]
    second = struct.unpack_from("<I", good, extent(good, "targets")[0] + 32)[0]
    at_kept, size_kept = extent(good, "kept")
    for what, pair in (("at-odd", (at_kept + 1, size_kept)), ("at-0", (0, size_kept)), ("size-less", (at_kept, size_kept - 20)),
                       ("size-odd", (at_kept, size_kept - 1)), ("overlaps", (at, size_kept)), ("none", (0, 0))):
        yield "text-kept-" + what, put(good, "QQ", 560, *pair), ""
    target, begins, first, bins, _ = struct.unpack_from("<5I", good, at_kept + 20)
    alleles = [(i, of[3]) for i, of in enumerate(struct.iter_unpack("<5I", good[at_kept:at_kept + size_kept])) if of[4]]
    for what, offset, values in (("target", 0, (huge >> 32, target + 1, 0)), ("begins", 4, (huge >> 32, begins + 1 << 20)),
                                 ("first", 8, (first + 1, 0, huge >> 32)), ("bins", 12, (bins + 1, 0, huge >> 32))):
        for value in values:
            yield "text-kept-%s-%d" % (what, value), put(good, "I", at_kept + 20 + offset, value), "kept|targets|bins"
    for i, value in [(i, value) for i, _ in alleles[:2] for value in (0, 3, huge >> 32)]:
        yield "text-kept-alleles-%d-%d" % (i, value), put(good, "I", at_kept + 20 * i + 16, value), "kept is damaged|text does not fit"
    with_alleles = sum(bins for _, bins in alleles)
    behind = struct.unpack_from("<Q", good, HEADER["bins"])[0] * stride // 16 + 64
    few = at + 4 * (behind + (with_alleles * stride // 16 + 64 if alleles else 0))
    for i, kind, value in [x for x in ((4, "B", 0), (4, "I", 4 * stride + 1), (0, "I", huge >> 32)) if few < at + size]:
        yield "text-few-%d-%d" % (i, value), put(good, kind, few + i, value), "alleles are damaged"
    for name, word in (("gap", second * stride // 16 - 1), ("species", behind - 1)):
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
        yield "strains-" + what, put(good, "QQ", 608, *pair), ""
    bin, bins, same, other = struct.unpack_from("<4I", good, at)
    last = struct.unpack_from("<4I", good, at + size - 16)
    for what, offset, values in (("bin", 0, (huge, last[0] + 1)), ("bins", 4, (0, huge, last[0] + last[1] - bin + 1)),
                                 ("same", 8, (0, huge)), ("other", 12, (0, huge))):
        for value in values:
            yield "strains-%s-%d" % (what, value), put(good, "I", at + offset, value), "strains is damaged"
    yield "strains-order", put(good, "I", at + size - 16, bin), "strains is damaged"


def seeds(good):
    """of a database of version 3"""
    if extent(good, "text")[1] == 0:
        return
    directory, index = extent(good, "directory")[0], extent(good, "index")[0]
    bits = struct.unpack_from("<I", good, HEADER["word_bits"])[0]
    lists = [struct.unpack_from("<I", good, directory + 64 * r + 20)[0] for r in range(256)]
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
    yield "seeds-tag", put(good, "B", index + 64 * first, 255), "not ascending"
    word = index + 4 * first_word
    second = struct.unpack_from("<I", good, word + 4)[0]
    yield "seeds-word", put(good, "I", word, (1 << 32) - 1), "ascending bins"
    yield "seeds-word-equal", put(good, "I", word, second | 1 << 31), "ascending bins"
    yield "seeds-short", put(good, "I", word, second & 1), "too short"
    end = index + 4 * (first_word + words - 1)
    yield "seeds-end", put(good, "I", end, struct.unpack_from("<I", good, end)[0] | 1 << 31), "no end"


def keys(good):
    """of a database that genomes can be added to"""
    at, size = extent(good, "keys")
    if size == 0:
        return
    directory, _ = extent(good, "directory")
    huge = (1 << 64) - 1
    for what, pair in (("at-odd", (at + 1, size)), ("at-0", (0, size)), ("at-huge", (huge - 4095, size)),
                       ("size-0", (at, 0)), ("size-less", (at, size - 4)), ("size-odd", (at, size - 1)), ("behind", (len(good) + 4096, size)),
                       ("overlaps", (extent(good, "taxa")[0], size))):
        yield "keys-" + what, put(good, "QQ", 512, *pair), ""
    counts = struct.unpack_from("<256Q", good, at)
    for value in (counts[7] + 1, huge, 1 << 62):
        yield "keys-count-%d" % value, put(good, "Q", at + 56, value), "keys are not as many"
    first = at + 2048 + 4 * struct.unpack_from("<Q", good, 112)[0]
    for r in range(256):
        buckets, _, entries = struct.unpack_from("<III", good, directory + 40 * r + 24)
        rests = -(-entries * max(1, (-(-(1 << 24) // buckets) - 1).bit_length()) // 32)
        if r == 7:
            yield "keys-rest", put(good, "Q", first, huge), "the keys of range 7: they are not in order"
        if counts[r]:
            full = first + 4 * rests
            number, n = struct.unpack_from("<II", good, full)
            for name, offset, value in (("number", 0, entries), ("number-less", 0, number - 1), ("count", 4, n + 1), ("count-0", 4, 0),
                                        ("count-1", 4, 1), ("rest", 8, 1 << 24), ("rest-huge", 8, (1 << 32) - 1), ("length-0", 12, 0),
                                        ("length", 12, (1 << 32) - 1), ("bin", 16, (1 << 32) - 1)):
                yield "keys-full-" + name, put(good, "I", full + offset, value % (1 << 32)), "the keys of range %d: " % r
            counts = (0,) * 256 if r > 7 else counts[:r] + (0,) + counts[r + 1:]
        first += 4 * rests + 4 * struct.unpack_from("<Q", good, at + 8 * r)[0]


def excerpts(good):
    """of a database that genomes can be added to"""
    at, size = struct.unpack_from("<QQ", good, 592)
    if size < 2 * 144:
        return
    for what, pair in (("at-odd", (at + 1, size)), ("at-0", (0, size)), ("size-less", (at, size - 8)),
                       ("behind", (len(good) + 4096, size)), ("overlaps", (extent(good, "taxa")[0], size))):
        yield "excerpts-" + what, put(good, "QQ", 592, *pair), ""
    yield "excerpts-alone", put(put(good, "QQ", 512, 0, 0), "QQ", 528, 0, 0), "without keys"
    yield "excerpts-untold", put(good, "QQ", 528, 0, 0), "without keys, or nothing is told"
    sequences, = struct.unpack_from("<Q", good, 104)
    for what, fmt, offset, value in (("seq", "Q", 0, sequences), ("seq-huge", "Q", size - 144, (1 << 64) - 1), ("known", "I", 12, 511),
                                     ("order", "Q", 0, 1), ("number", "I", 144 + 8, struct.unpack_from("<I", good, at + 8)[0])):
        yield "excerpts-" + what, put(good, fmt, at + offset, value), "excerpts are damaged"


def translated(good):
    """of a database with translated seeds"""
    at, size = extent(good, "translated")
    if size == 0:
        return
    for what, pair in (("at-0", (0, size)), ("size-0", (at, 0)), ("size-less", (at, size - 4)),
                       ("overlaps", (extent(good, "taxa")[0], size))):
        yield "translated-" + what, put(good, "QQ", 576, *pair), ""
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
    for what, fmt, offset, value in (("taxon", "I", genus, 1 << 31), ("first", "I", genus + 4, 32), ("threshold", "I", genus + 8, 0), ("called", "I", genus + 12, 1 << 30),
                                     ("order", "I", genus + 16, 0), ("base", "I", line + 120, 0), ("many", "B", line + 60, 29),
                                     ("line-zero", "B", line + 61, 1), ("later", "H", short + 62, 1),
                                     ("last-later", "H", place - 2, 1), ("place", "I", place, 0xffffffff)):
        yield "translated-" + what, put(good, fmt, offset, value), "translated seeds are damaged"


def main(path, folder, only=""):
    with open(path, "rb") as f:
        good = f.read()
    made = [] if only else [("bad-" + name, data, want) for name, data, want in plain(good)]
    makers = [make for make in (headers, directories, trees, keys, excerpts, text, strains, seeds, translated) if only in ("", make.__name__)]
    if xxh3:
        for name, data, want in (case for make in makers for case in make(good)):
            made.append(("bad-x-" + name, repaired(data), want))
    with open(folder + "/list", "w") as out:
        for name, data, want in made:
            with open("%s/%s.khdb" % (folder, name), "wb") as f:
                f.write(data)
            out.write("%s.khdb\t%s\n" % (name, want or "."))


if __name__ == "__main__":
    main(*sys.argv[1:])
