#!/usr/bin/env python3
"""oracle_db.py - reads a database by kmerhash-db(5) alone, and checks all that the page says

    oracle_db.py DATABASE.khdb GENOME.fa.gz...    speaks TAP

compares its index with the features that oracle_sampling.py finds in the genomes.

    oracle_db.py --sound DATABASE.khdb...         a line each: sound, or bad; and why, behind a tab

checks what can be without the genomes.
"""
import random
import struct
import sys
from itertools import accumulate

from oracle_sampling import CODE, M64, features, fmix64, key_of, records

try:
    from xxhash import xxh3_64_intdigest as xxh3
except ImportError:
    xxh3 = None

HEADER = ("magic version header_bytes byte_order file_bytes scheme k s stride max_span gap bins locations "
          "features entries over bases sequences unmapped unmapped_bases digest n_targets n_taxa").split()
SPECIES = 38            # rank
SECTIONS = "index directory taxa names targets ids unmapped checksums".split()


class Database:
    def __init__(self, path, trusted=True):
        with open(path, "rb") as f:
            self.data = data = f.read()
        self.__dict__.update(zip(HEADER, struct.unpack_from("<8sIIQQ6I10QII", data)))
        self.minima = struct.unpack_from("<32I", data, 144)
        extents = struct.unpack_from("<16Q", data, 272)
        self.at = dict(zip(SECTIONS, zip(extents[::2], extents[1::2])))
        self.tool, self.sums, self.max_locations, self.n_species, self.word_bits, self.least, self.max_bytes, self.no_repeats, self.runs = \
            struct.unpack_from("<32sQIIIIQII", data, 400)
        self.at["keys"] = struct.unpack_from("<QQ", data, 512)
        self.at["told"] = struct.unpack_from("<QQ", data, 528)
        self.at["text"] = struct.unpack_from("<QQ", data, 544)
        self.at["kept"] = struct.unpack_from("<QQ", data, 560)
        self.at["translated"] = struct.unpack_from("<QQ", data, 576)
        self.at["excerpts"] = struct.unpack_from("<QQ", data, 592)
        self.at["strains"] = struct.unpack_from("<QQ", data, 608)
        self.image = self.section("index")
        self.seeded = self.version == 3
        self.dir = list(struct.iter_unpack("<QQ4II7I" if self.seeded else "<QQQIIII", self.section("directory")))
        self.slots = 512 // (self.word_bits + 9)
        self.taxa = list(struct.iter_unpack("<IIIIQ", self.section("taxa")))
        self.targets = list(struct.iter_unpack("<IIQQQ", self.section("targets")))
        self.kept = list(struct.iter_unpack("<IIIII", self.section("kept")))
        self.strains = list(struct.iter_unpack("<IIII", self.section("strains")))
        self.told = list(struct.iter_unpack("<10H", self.section("told"))) or None
        self.names = [self.string("names", t[4]) for t in self.taxa]
        self.ids = [self.string("ids", t[4]) for t in self.targets]
        if trusted:
            self.place_species()

    def place_species(self):
        """species: the bin that each taxon with targets votes in, by taxon; voters: by bin, its species"""
        self.own = {}
        # (first bin, taxon, bases) of what has bins
        self.stretches = [(first, taxon, bases) for first, taxon, bases, _, _ in self.targets]
        if self.seeded:
            self.stretches = [(first, self.targets[target][1],
                               min(n * self.stride, self.targets[target][2] - at * self.stride))
                              for target, at, first, n, _ in self.kept]
            each = self.stride // 16
            # by stretch: the words where its text begins, and its alleles, if it has some; and its bases
            self.placed = [(each * first, each * (self.bins + has - 1) + 64 if has else None, bases)
                           for (first, _, bases), (*_, has) in zip(self.stretches, self.kept)]
        for _, taxon, *_ in self.targets:
            up = taxon
            while up and self.taxa[up][3] != SPECIES:
                up = self.taxa[up][1]
            self.own[taxon] = up if self.taxa[up][3] == SPECIES else taxon
        # by species: the LCA of its targets' taxa, which is what it is called
        of = {}
        for _, taxon, *_ in self.targets:
            of.setdefault(self.own[taxon], []).append(taxon)
        self.called = {species: self.lca(min(taxa), max(taxa)) for species, taxa in of.items()}
        self.target_bins = 0
        for first, _, bases in self.stretches:
            self.target_bins = first + max(1, -(-bases // self.stride)) + self.gap
        known = sorted({self.own[taxon] for _, taxon, _ in self.stretches})
        bins = [self.target_bins + i * (1 + self.gap) for i in range(len(known))]
        self.voters, self.vote_bin = dict(zip(bins, known)), dict(zip(known, bins))
        self.all_bins = self.target_bins + len(known) * (1 + self.gap)

    def unpacked(self, word, n):
        """n bases of the text, from a word on, as numbers"""
        words = self.section("text")[4 * word:4 * word + 4 * -(-n // 16)]
        return [byte >> 2 * i & 3 for byte in words for i in range(4)][:n]

    def few(self):
        """(number among all bases, XOR) of the alleles that reads do not ask for"""
        alleles = sum(bins for *_, bins, has in self.kept if has)
        words = self.stride // 16 * (self.bins + alleles) + 64 + (64 if alleles else 0)
        return [(self.stride * number + (base >> 2), base & 3)
                for number, base in struct.iter_unpack("<II", self.section("text")[4 * words:])]

    def section(self, name):
        at, size = self.at[name]
        return self.data[at:at + size]

    def string(self, name, offset):
        text = self.section(name)
        return text[offset:text.index(b"\0", offset)].decode("latin-1")

    def bucket(self, number):
        """base, carried, goes on, lengths, tags"""
        raw = self.image[64 * number:64 * number + 64]
        base, flags = int.from_bytes(raw[:6], "little"), raw[6]
        return base, flags & 31, flags >> 5 & 1, raw[7:26], struct.unpack_from("<19H", raw, 26)

    def words(self, r, first, n):
        """of the lists of a range"""
        bits, at = self.word_bits, self.dir[r][1] * 32 + first * self.word_bits
        lists = int.from_bytes(self.image[at // 8:(at + n * bits + 7) // 8], "little") >> at % 8
        return [lists >> i * bits & (1 << bits) - 1 for i in range(n)]

    def listing(self, r, bucket, position):
        """(bins, None) or ([], taxon) of an entry"""
        words = [1 if n == 255 else n for n in bucket[3]]
        got = self.words(r, bucket[0] + sum(words[:position]), words[position])
        return ([], got[0]) if bucket[3][position] == 255 else (got, None)

    def place(self, key):
        r = key >> 40
        z = (key & (1 << 40) - 1) * self.dir[r][3]
        return r, z >> 40, z >> 24 & 65535

    def line(self, number):
        """[(tag, value)] of the slots in use"""
        raw = self.image[64 * number:64 * number + 64]
        packed, bits = int.from_bytes(raw, "little") >> 8 * self.slots, self.word_bits + 1
        values = [packed >> i * bits & (1 << bits) - 1 for i in range(self.slots)]
        used = self.slots if 0 not in values else values.index(0)
        assert not any(raw[used:self.slots]) and packed >> used * bits == 0
        return list(zip(raw, values))[:used]

    def bins_of(self, r, value):
        """of a slot that is in use; None if there are too many"""
        if value == (2 << self.word_bits) - 1:
            return None
        if value <= 1 << self.word_bits:
            return [value - 1]
        at, bins = 4 * self.dir[r][1] + 4 * (value - (1 << self.word_bits) - 1), []
        while not bins or bins[-1] >> 31:
            bins += struct.unpack_from("<I", self.image, at + 4 * len(bins))
        return [b & (1 << 31) - 1 for b in bins]

    def find_seed(self, key):
        """(bins, None) of slots in which it may be, (bins, 0) if these are not all, or None"""
        r, y, found, over = key >> 40, key % 2**40, [], None
        first = self.dir[r][0]
        for lines in self.dir[r][7:]:
            if lines == 0:
                break
            line, tag = self.line(first + (y * lines >> 40)), (y * lines >> 32) % 256
            lists = [self.bins_of(r, value) for slot, value in line if slot == tag]
            found += [b for bins in lists for b in bins or []]
            over = 0 if None in lists else over
            if len(line) < self.slots or line[-1][0] > tag:
                break
            first, y = first + lines, y * 0x9e3779b97f % 2**40
        return (found, over) if found or over is not None else None

    def find(self, key):
        if self.seeded:
            return self.find_seed(key)
        r, home, tag = self.place(key)
        here = self.bucket(self.dir[r][0] + home)
        used = [i for i in range(19) if here[3][i]]
        for i in used:
            if i >= here[1] and here[4][i] == tag:
                return self.listing(r, here, i)
        if here[2] and (here[1] == 19 or tag > here[4][18]):
            behind = self.bucket(self.dir[r][0] + home + 1)
            for i in range(behind[1]):
                if behind[4][i] == tag:
                    return self.listing(r, behind, i)
        return None

    def lca(self, low, high):
        while high >= self.taxa[low][2]:
            low = self.taxa[low][1]
        return low

    def stretch_of(self, number):
        return max(i for i, s in enumerate(self.stretches) if s[0] <= number)

    def target_of(self, number):
        at = self.stretch_of(number)
        return self.kept[at][0] if self.seeded else at

    def species_of(self, number):
        """of the target that a bin is in"""
        return self.own[self.targets[self.target_of(number)][1]]


def check_frame(db):
    data = db.data
    assert db.magic == b"\x89KHDB\r\n\x1a" and db.header_bytes == 4096
    assert db.version == (3 if db.at["text"][0] else 2)
    assert db.byte_order == 0x0102030405060708 and db.file_bytes == len(data)
    assert 1 <= db.max_locations <= 254 and db.n_species == len(db.voters)
    assert db.word_bits == (max(23, (db.bins - 1).bit_length()) if db.seeded else
                            max(1, (max(db.bins, db.n_taxa) - 1).bit_length()))
    assert db.gap == (1 if db.seeded else 1 + -(-db.max_span // db.stride))
    assert db.file_bytes <= db.max_bytes if db.max_bytes else db.least == 0 or db.version == 3
    assert db.no_repeats in (0, 1) and db.runs in (0, 1)
    assert not any(data[472:512]) and not any(data[624:4088]) and sum(db.at["checksums"]) == len(data)
    holes = bytearray(data[4096:])
    for name, (at, size) in db.at.items():
        if name in ("keys", "told", "text", "kept", "translated", "excerpts", "strains") and (at, size) == (0, 0):
            continue
        assert at % 4096 == 0 and at >= 4096
        holes[at - 4096:at - 4096 + size] = bytes(size)
    assert not any(holes)
    check_section_strains(db)


def packed_numbers(packed, n, width):
    """n numbers of so many bits each"""
    for i in range(0, n, 64):           # a long number is shifted seldom
        some = packed >> width * i & (1 << 64 * width) - 1
        for j in range(min(64, n - i)):
            yield some >> width * j & (1 << width) - 1


def check_translated(db):
    """What can be seen without the genomes."""
    if db.at["translated"] == (0, 0):
        return
    data = db.section("translated")
    k, genera, lines, behind, places, codons, width, *zero = struct.unpack_from("<IIIIQQ8I", data)
    end = 2 * db.bins * db.stride if db.seeded else codons
    assert k in (8, 10) and lines > 0 and codons < 2**32 and codons % 32 == 0 and not (db.seeded and codons) and not any(zero)
    assert places <= end and places < 2**32 and width == max(1, (end - 1).bit_length()) <= 56
    genus_at, line_at = 64, 64 + 64 * -(-genera // 4)
    place_at = line_at + 64 * (lines + behind)
    text_at = place_at + 64 * -(-places * width // 512)
    assert len(data) == text_at + 4 * (3 * codons // 16 + 64) and (genera > 0 or codons == 0)
    last, first = -1, 0
    for i in range(genera):
        taxon, at, threshold, called = struct.unpack_from("<IIII", data, genus_at + 16 * i)
        assert last < taxon < db.n_taxa and at % 32 == 0 and threshold > 0 and called <= taxon
        assert at == 0 if i == 0 or db.seeded else first < at
        last, first = taxon, at
    assert genera == 0 or db.seeded or first < codons
    assert places == 0 or (db.kept if db.seeded else genera)
    seen = 0
    for i in range(lines + behind):
        *tags, base, n, zero, later = struct.unpack_from("<28HIBBH", data, line_at + 64 * i)
        assert base == seen and n <= 28 and (n == 28 or not later) and zero == 0
        assert not any(tags[n:]) and (i < lines + behind - 1 or not later)
        seen += n
    packed = int.from_bytes(data[place_at:text_at], "little")
    assert seen == places and all(place < end for place in packed_numbers(packed, places, width))


def check_sums(db):
    end = db.at["checksums"][0]
    blocks = [db.data[at:min(at + (1 << 24), end)] for at in range(4096, end, 1 << 24)]
    assert db.section("checksums") == struct.pack("<%dQ" % len(blocks), *map(xxh3, blocks))
    assert xxh3(db.section("checksums")) == db.sums
    assert xxh3(db.data[:4088]) == struct.unpack_from("<Q", db.data, 4088)[0]


def check_taxa(db):
    assert len(db.taxa) == db.n_taxa and db.taxa[0][:4] == (1, 0, db.n_taxa, 0) and db.names[0] == "root"
    for i, (taxid, parent, end, rank, _) in enumerate(db.taxa):
        children = [j for j in range(i + 1, end) if db.taxa[j][1] == i]
        assert i < end <= db.taxa[parent][2] and rank < 52 and is_text(db.names[i].encode("latin-1"))
        assert [db.taxa[j][0] for j in children] == sorted({db.taxa[j][0] for j in children})
        ends = [i + 1] + [db.taxa[j][2] for j in children]
        assert ends[:-1] == children and ends[-1] == end


def sequence_digest(seq, stride):
    total = 0
    for number, at in enumerate(range(0, len(seq), stride)):
        h = fmix64(number + 1)
        for group in (seq[i:min(i + 16, at + stride)] for i in range(at, min(at + stride, len(seq)), 16)):
            codes = [CODE.get(c) for c in group]
            bits = sum((c or 0) << 2 * i for i, c in enumerate(codes))
            ambiguous = sum(1 << i for i, c in enumerate(codes) if c is None)
            h = fmix64(h ^ bits ^ ambiguous << 32 ^ len(group) << 48)
        total = total + h & M64
    return total


def check_targets(db, refs):
    first, digest = 0, 0
    assert db.ids == [name for name, _ in refs] and db.n_targets == len(refs) == db.sequences
    for (bin0, taxon, bases, own, _), (name, seq) in zip(db.targets, refs):
        assert (db.seeded or bin0 == first) and bases == len(seq) and taxon < db.n_taxa
        assert own == sequence_digest(seq, db.stride)
        first += max(1, -(-bases // db.stride)) + db.gap
        if xxh3:
            digest = fmix64(digest ^ xxh3(name.encode()))
            digest = fmix64(digest ^ own) ^ bases
    assert db.seeded or first == db.target_bins
    assert db.all_bins == db.bins and sum(len(seq) for _, seq in refs) == db.bases
    assert xxh3 is None or digest == db.digest


def check_minima(db):
    n_bins, n_features = max(1, db.bins), max(1, db.features)
    n_all = n_features * 2**32 // (2**32 - db.least)
    syncmer = db.scheme == 1
    one_of = (db.k - db.s + 1 if syncmer else -(-db.stride // db.s)) if db.runs else 1
    p = min(1 << 48, n_all * one_of * 2**49 // 4**db.k + 2**48 * 15 // 65536)
    further = 2 * ((db.k - db.s) // 2 + 1 if syncmer else 1) + 1
    for i, minimum in enumerate(db.minima):
        chance = (2**(i + 1) - 1) * db.gap * p // n_bins * db.locations // n_features + 1
        chance = min(1 << 60, chance)
        t, m = n_bins << 32, 0
        while (t > 429496 or m < chance >> 48) and m < 1 << 20:
            m += 1
            t = min((1 << 64) - 1, (t * chance >> 48) // m + 1)
        run, row = (2**(i + 1) - 1) * p // n_features * db.locations >> 2 * further, 3
        while run > 2**48 // 10000:
            run, row = run >> further, row + 1
        assert (max(m, row) if db.runs and row > 3 else m) == minimum, i


def as_text(seq):
    """What is no base is A there."""
    return "".join("ACGT"[CODE.get(base, 0)] for base in seq)


def expected_index(db, refs):
    """key -> bins, from the genomes"""
    scheme, keys = ("minhash", "syncmer")[db.scheme], {}
    stretches = [(target[0], seq) for target, (_, seq) in zip(db.targets, refs)]
    if db.seeded:
        stretches = [(first, as_text(refs[of][1][at * db.stride:(at + n) * db.stride]))
                     for of, at, first, n, _ in db.kept]
    for first, seq in stretches:
        for at, key in features(seq, scheme, db.k, db.s, db.stride, db.least, db.no_repeats):
            keys.setdefault(key, set()).add(first + at // db.stride)
    return keys


def entries_of(db, keys):
    """The table that should be there: [range] -> (keys, {(home, tag): bins})"""
    table = [(set(), {}) for _ in range(256)]
    for key, bins in keys.items():
        r, home, tag = db.place(key)
        table[r][0].add(key)
        table[r][1].setdefault((home, tag), set()).update(bins)
    return table


def cut(db, bins, species_of):
    """What is left of a list, ascending"""
    species = [species_of(b) for b in bins]
    if db.version == 3:
        return [b for i, b in enumerate(bins) if species[:i].count(species[i]) < db.max_locations]
    hosts = {db.target_of(b): s for b, s in zip(bins, species)}
    much = {s for s in species if species.count(s) > min(2 * db.max_locations, 254) or
            list(hosts.values()).count(s) > db.max_locations}
    return [b for b, s in zip(bins, species) if s not in much] + sorted(db.vote_bin[s] for s in much)


def check_range(db, r, keys, entries):
    first, _, n_locs, buckets, n_keys, n_entries, over = db.dir[r]
    assert n_keys == len(keys) and n_entries == len(entries)
    words, lead, number = 0, 0, 0
    wanted = sorted(entries)
    for i, (home, tag) in enumerate(wanted):
        lead = max(lead, 19 * home - i)
        bucket = db.bucket(first + (i + lead) // 19)
        position = (i + lead) % 19
        bins, taxon = db.listing(r, bucket, position)
        assert bucket[4][position] == tag and (position < bucket[1]) == ((i + lead) // 19 > home)
        assert (i + lead) // 19 <= home + 1
        want = cut(db, sorted(entries[home, tag]), db.species_of)
        if len(want) > 254:
            hosts = [db.targets[db.target_of(b)][1] for b in entries[home, tag]]
            assert taxon == db.lca(min(hosts), max(hosts))
            number += 1
        else:
            assert bins == want
        assert db.words(r, words, len(bins) or 1)[0] == (bins or [taxon])[0]
        words += len(bins) or 1
    assert words == n_locs and number == over
    assert sum(1 for b in range(buckets + 1) for n in db.bucket(first + b)[3] if n) == len(entries)


def lines_of(db, level, slots):
    if level < 4:
        return -(-slots // (db.slots + 2 if db.slots <= 13 else db.slots))
    return -(-slots * 4 // db.slots)


def levels_of(db, slots):
    """[level][line] -> [(tag, value)] that should be there, of [(y, value)]"""
    levels = []
    while slots:
        n = lines_of(db, len(levels), len(slots))
        lines, left = [[] for _ in range(n)], []
        for y, value in sorted(slots, key=lambda slot: slot[0]):
            line = lines[y * n >> 40]
            if len(line) < db.slots:
                line.append(((y * n >> 32) % 256, value))
            else:
                left.append((y * 0x9e3779b97f % 2**40, value))
        levels.append(lines)
        slots = left
    return levels


def check_seeds_of_range(db, r, keys):
    slots, wanted, many, n_lists, bits = [], [], 0, 0, db.word_bits
    for key in sorted(keys):
        bins, y = cut(db, sorted(keys[key]), db.species_of), key % 2**40
        if len(bins) > 254:
            slots.append((y, (2 << bits) - 1))
            many += 1
        elif len(bins) > 4:
            slots.append((y, (1 << bits) + 1 + len(wanted)))
            wanted += [b | 1 << 31 for b in bins[:-1]] + bins[-1:]
            n_lists += 1
        else:
            slots += [(y, b + 1) for b in bins]
    first, first_word, words, lists, n, over, used, *lines = db.dir[r]
    levels = levels_of(db, slots)
    assert (n, over, used, words, lists) == (len(keys), many, len(slots), len(wanted), n_lists)
    assert lines == [len(level) for level in levels] + [0] * (7 - len(levels))
    for number, line in enumerate(line for level in levels for line in level):
        assert db.line(first + number) == line
    assert list(struct.unpack_from("<%dI" % words, db.image, 4 * first_word)) == wanted
    return len(slots) - lists - over + words


def check_seeds(db, keys):
    ranges, at, locations = [{} for _ in range(256)], 0, 0
    for key in keys:
        ranges[key >> 40][key] = keys[key]
    for r, (first, first_word, words, *_) in enumerate(db.dir):
        assert first * 64 == at
        at += 64 * sum(db.dir[r][7:])
        assert first_word * 4 == at
        at += -(-4 * words // 64) * 64
        assert not any(db.image[4 * (first_word + words):at])
        locations += check_seeds_of_range(db, r, ranges[r])
    assert at == len(db.image) and db.features == len(keys) and db.locations == locations
    assert db.entries == sum(d[4] for d in db.dir) and db.over == sum(d[5] for d in db.dir)


def check_index(db, keys):
    if db.seeded:
        return check_seeds(db, keys)
    table, at = entries_of(db, keys), 0
    for r in range(256):
        assert db.dir[r][0] * 64 == at and db.dir[r][1] * 4 == at + 64 * (db.dir[r][3] + 1)
        lists = -(-db.dir[r][2] * db.word_bits // 32) * 4
        at += -(-(64 * (db.dir[r][3] + 1) + lists) // 64) * 64
        check_range(db, r, *table[r])
    assert at == len(db.image) and db.features == len(keys)
    assert db.entries == sum(d[5] for d in db.dir) and db.over == sum(d[6] for d in db.dir)
    assert db.locations == sum(d[2] - d[6] for d in db.dir)


def packed(values, bits):
    """as words of 32 bits"""
    n = -(-len(values) * bits // 32)
    number = sum(value << i * bits for i, value in enumerate(values))
    return list(struct.unpack("<%dI" % n, number.to_bytes(4 * n, "little")))


def keys_of_range(db, r, bins_of):
    """The words that the section keys should have of a range, and how many of them are keys in full"""
    buckets, rests, full = db.dir[r][3], [], []
    places = {}
    for key in sorted(bins_of):
        places.setdefault(db.place(key)[1:], []).append(key)
    rest = lambda key: (key % 2**40 * buckets) % 2**24 // buckets
    for number, place in enumerate(sorted(places)):
        same = places[place]
        rests.append(rest(same[0]))
        union = sorted(set().union(*(bins_of[key] for key in same)))
        if len(same) > 1 or len(cut(db, union, db.species_of)) > 254:
            full += [number, len(same)]
            for key in same:
                words = cut(db, sorted(bins_of[key]), db.species_of)
                full += [rest(key), len(words)] + words
    bits = max(1, (-(-2**24 // buckets) - 1).bit_length())
    return packed(rests, bits) + full, len(full)


def check_text(db, refs):
    """Of references that all have a taxon."""
    if db.version == 2:
        return
    want = bytearray(db.stride // 4 * db.bins + 256)
    for target, at, first, n, _ in db.kept:
        seq = refs[target][1][at * db.stride:(at + n) * db.stride]
        for i in range(0, len(seq), 16):
            word = sum(CODE.get(c, 0) << 2 * j for j, c in enumerate(seq[i:i + 16]))
            struct.pack_into("<I", want, db.stride // 4 * first + i // 4, word)
    assert db.section("text")[:len(want)] == want
    check_left_out(db, refs)


def apart(a, *texts):
    """How many of the first bases of a are in none of the texts, for 0, 1, 2 ... of them"""
    return list(accumulate((x not in others for x, *others in zip(a, *texts)), initial=0))


def kmers_of(text, k=16):
    both = text, text.translate(str.maketrans("ACGT", "TGCA"))[::-1]
    return [min(both[0][i:i + k], both[1][len(text) - k - i:len(text) - i]) for i in range(len(text) - k + 1)]


def species_of_kmers(db):
    has = {}
    for (target, *_), (first, _, bases) in zip(db.kept, db.placed):
        for kmer in kmers_of("".join("ACGT"[a] for a in db.unpacked(first, bases))):
            has.setdefault(kmer, set()).add(db.own[db.targets[target][1]])
    return has


def strains_of(db, of, at, end):
    """LCA of the strains that are like some bases of a stretch, for each of its bins that they lie in"""
    first, own, _ = db.stretches[of]
    for number in range(first + at // db.stride, first + (end - 1) // db.stride + 1):
        x = next((x for x in db.strains if x[0] <= number < x[0] + x[1]), (0, 0, own, own))
        yield db.lca(min(x[2:]), max(x[2:]))


def check_strain(db, target, tile, places, texts):
    """Of what is not kept: one of the places where it lies, but for 3 in 100 bases, has its strain; if it
    may lie with a gap in an earlier place, that one has it."""
    size, found = len(tile), []
    if any(a[0] == b[0] and 0 < abs(a[1] - b[1]) <= 8 for a in places for b in places):
        return
    for text, other, of, turned in (texts[i] for i in {text for text, _ in places}):
        for _, d in [x for x in places if texts[x[0]][2:4] == (of, turned)]:
            side = text[max(0, d):d + size]
            if d < 0 or len(side) < size or sum(a != b for a, b in zip(tile, side)) > size // 32:
                continue
            at = len(text) - d - size if turned else d
            found.append(all(db.taxa[x][2] > target >= x for x in strains_of(db, of, at + 8, at + size - 8)))
    assert not found or any(found), (target, places)


def check_left_out(db, refs):
    """What is not kept lies along text of its species, all but 14 bases of 128, with an indel at most, and what
    differs there is an allele: but for third bases, which are few, and for what 16 species have."""
    texts, lots, differ, unknown, few = {}, {}, 0, 0, db.few()
    has, size = species_of_kmers(db), max(128, db.stride)

    def common(tile):
        """The share of its k-mers that are in so many species"""
        kmers = kmers_of(tile)
        return sum(len(has.get(kmer, ())) >= 16 for kmer in kmers) / max(1, len(kmers))
    for stretch, ((target, *_), (first, alleles, bases)) in enumerate(zip(db.kept, db.placed)):
        text = db.unpacked(first, bases)
        more = dict(few)
        other = db.unpacked(alleles, bases) if alleles is not None else \
            [more.get(16 * first + i, 0) for i in range(bases)]
        assert alleles is None or 1024 * sum(x > 0 for x in other) >= bases
        assert alleles is not None or 1024 * sum(x > 0 for x in other) < bases
        for at in range(0, bases, size):
            tile = "".join("ACGT"[a] for a in text[at:at + size])
            assert common(tile) < .8 or not any(other[at:at + size]), (target, at)
        other = [a ^ x for a, x in zip(text, other)]
        lies = ["".join("ACGT"[a] for a in bases) for bases in (text, other)]
        back = ["".join("TGCA"[a] for a in reversed(bases)) for bases in (text, other)]
        for turned, (text, other) in enumerate((lies, back)):
            species = db.own[db.targets[target][1]]
            texts.setdefault(species, []).append((text, other, stretch, turned))
            for i in range(len(text) - 11):
                lots.setdefault((species, text[i:i + 12]), []).append((len(texts[species]) - 1, i))
    for target, (_, seq) in enumerate(refs):
        species = db.own[db.targets[target][1]]
        there = {at + i for of, at, _, n, _ in db.kept if of == target for i in range(n)}
        for at in range(0, len(seq), size):
            tile = as_text(seq[at:at + size])
            if at // db.stride in there or len(tile) < 64:
                continue
            diagonals = {}
            for i in range(len(tile) - 11):
                for text, j in lots.get((species, tile[i:i + 12]), []):
                    diagonals[text, j - i] = diagonals.get((text, j - i), 0) + 1
            check_strain(db, db.targets[target][1], tile, sorted(diagonals, key=diagonals.get)[-16:], texts[species])
            best = [len(tile)] * 2
            for text, d in sorted(diagonals, key=diagonals.get)[-4:]:
                for shift in range(-8, 9):
                    sides = [[of[max(0, x):x + len(tile)].rjust(len(tile) if x < 0 else 0) for of in texts[species][text][:2]]
                             for x in (d, d + shift)]
                    if min(len(side[0]) for side in sides) == len(tile):
                        for i in (0, 1):
                            one, two = (apart(tile, *side[:i + 1]) for side in sides)
                            best[i] = min(best[i], *(x + two[-1] - y for x, y in zip(one, two)))
            assert best[0] <= 10 + 4 * max(1, len(tile) // 128), (target, at, best)
            differ, unknown = differ + best[0], unknown + (best[1] if common(tile) < .2 else 0)
    assert 20 * unknown <= differ and (differ > 0) <= (len(few) > 0 or any(of[4] for of in db.kept)), (differ, unknown)


def check_keys(db, keys):
    """If there is such a section, of references that all have a taxon."""
    if db.at["keys"] == (0, 0):
        return
    ranges, parts, counts = [{} for _ in range(256)], [], []
    for key, bins in keys.items():
        ranges[key >> 40][key] = bins
    for r in range(256):
        words, n_full = keys_of_range(db, r, ranges[r])
        parts.append(struct.pack("<%dI" % len(words), *words))
        counts.append(n_full)
    assert db.section("keys") == struct.pack("<256Q", *counts) + b"".join(parts)


# what stands in place of a base that was misread
OTHER = str.maketrans("ACGTUacgtu", "TGCAATGCAA")


def told_reads(db, excerpts):
    """(size, or 4 for a long one, 5 for one with errors; sequence) of the reads that are made of a species' excerpts"""
    apart = db.k - db.s + 1 if db.scheme == 1 else -(-db.stride // db.s)
    each = (apart << 32) // (2**32 - db.least)
    some, longs = min(256, len(excerpts)), min(64, len(excerpts)) if db.max_span <= 4096 else 0
    excerpts = [excerpts[i * len(excerpts) // some] for i in range(some)]
    for excerpt in excerpts:
        for size in range(4):
            length = min(512, db.k + ((12 << size) - 1) * each)
            yield size, excerpt[:length]
            if 2 * length <= 512:
                yield size, excerpt[-length:]
    for i in range(longs):
        first = i * some // longs
        parts = [excerpts[(first + j) % some].ljust(-(-512 // db.max_span) * db.max_span, "N") for j in range(8)]
        yield 4, "".join(parts)
        read = "".join(parts[:5])
        yield 5, "".join(c.translate(OTHER) if fmix64(i) % 20 == 0 else c for i, c in enumerate(read))


def told_of(classifier, species, excerpts):
    told, every = [0] * 10, [0] * 10
    for kind, seq in told_reads(classifier.db, excerpts):
        segments = list(classifier.segments([seq]))
        n = sum(s.n for s in segments)
        if not (n > 127 if kind >= 4 else 8 << kind <= n < 16 << kind):
            continue
        h, _ = classifier.votes(segments)
        call = classifier.decide(h, n, segments)
        every[kind] += 1
        if call is None or classifier.tree.species[call] != species:
            continue
        told[kind] += 1
        if kind < 4:
            near = {classifier.tree.species[t] for t in h if h[t] >= max(2, max(h.values()) - 3)}
            every[6 + kind] += 1
            told[6 + kind] += near == {species}
    return tuple(1 + 65534 * x // y if y >= 16 else 0 for x, y in zip(told, every))


def excerpts_of(seq):
    """512 bases every 4096 up to 2^19, then 64 times while the length doubles, if they are all known: by their numbers"""
    places = list(range(2048, 2**19, 4096))
    for e in range(19, len(seq).bit_length()):
        places += range(2**e + 2**(e - 7), 2**(e + 1), 2**(e - 6))
    parts = {i: seq[at:at + 512] for i, at in enumerate(places)}
    return {i: part for i, part in parts.items() if len(part) == 512 and all(CODE.get(c) is not None for c in part)}


def check_told(db, refs):
    """If there is such a section, and the excerpts, of references that all have a taxon."""
    from oracle_classify import Classifier, Rule
    if db.told is None:
        return
    classifier, excerpts = Classifier(db, Rule(db, 0)), {}
    kept = b""
    for target, ((_, taxon, *_), (_, seq)) in enumerate(zip(db.targets, refs)):
        excerpts.setdefault(classifier.tree.species[taxon], []).extend(excerpts_of(seq).values())
        for number, bases in excerpts_of(seq).items():
            kept += struct.pack("<QII", target, number, 512) + sum(CODE[c] << 2 * i for i, c in enumerate(bases)).to_bytes(128, "little")
    assert (db.at["excerpts"] == (0, 0)) == (db.at["keys"] == (0, 0))
    assert db.section("excerpts") == (kept if db.at["keys"][0] else b"")
    for taxon, numbers in enumerate(db.told):
        mine = excerpts.get(taxon, []) if classifier.tree.species[taxon] == taxon else []
        assert numbers == (told_of(classifier, taxon, mine) if len(mine) >= 16 else (0,) * 10), taxon


def check_look_up_seeds(db, keys):
    for key in keys:
        want = cut(db, sorted(keys[key]), db.species_of)
        bins, over = db.find(key)
        assert over == 0 if len(want) > 254 else set(want) <= set(bins)
    rng = random.Random(1)
    found = sum(db.find(key) is not None for key in (rng.getrandbits(48) for _ in range(20000)) if key not in keys)
    assert found <= 20000 * db.slots // 256


def check_look_up(db, keys):
    if db.seeded:
        return check_look_up_seeds(db, keys)
    table = entries_of(db, keys)
    for key in keys:
        r, home, tag = db.place(key)
        bins, taxon = db.find(key)
        want = cut(db, sorted(table[r][1][home, tag]), db.species_of)
        assert bins == want or (taxon is not None and len(want) > 254)
    rng = random.Random(1)
    for key in (rng.getrandbits(48) for _ in range(20000)):
        r, home, tag = db.place(key)
        assert (db.find(key) is not None) == ((home, tag) in table[r][1])


# --- without the genomes -------------------------------------------------------------
def is_text(data):
    return all(byte >= 32 and byte != 127 for byte in data)


def check_parameters(db):
    difference = db.k - db.s
    assert 8 <= db.k <= 31 and 16 <= db.stride <= 4096 and db.stride <= db.max_span <= 1 << 20
    assert db.scheme == 0 and 1 <= db.s <= 64 or \
        db.scheme == 1 and db.s >= 2 and difference % 2 == 0 and 2 <= difference <= 16
    assert db.bins < 1 << 32 and db.n_taxa >= 1
    text = db.tool.rstrip(b"\0")
    assert all(32 <= byte < 127 for byte in text) and len(text) < 32
    sizes = {name: size for name, (_, size) in db.at.items()}
    assert sizes["directory"] == 256 * (64 if db.seeded else 40) and sizes["taxa"] == 24 * db.n_taxa and sizes["targets"] == 32 * db.n_targets
    at = db.at["told"][0]
    assert sizes["kept"] % 20 == 0 and (db.at["kept"][0] > 0) == (db.at["text"][0] > 0) == db.seeded
    assert sizes["excerpts"] % 144 == 0 and (db.at["excerpts"][0] == 0 or (db.at["keys"][0] and db.at["told"][0]))
    assert sizes["told"] == (20 * db.n_taxa if at else 0) and at % 4096 == 0


def check_places(db):
    """Sections are inside the file and share no byte."""
    places = sorted(extent for extent in db.at.values() if extent[1] > 0)
    ends = [at + size for at, size in places]
    assert all(end <= at for end, (at, _) in zip(ends, places[1:])) and ends[-1] == len(db.data)
    assert all(4096 <= at <= len(db.data) and at % 4096 == 0 for at, _ in list(db.at.values())[:8])
    blocks = -(-(db.at["checksums"][0] - 4096) // (1 << 24))
    assert db.at["checksums"][1] == 8 * blocks


def check_excerpts(db):
    places = [(seq, number) for seq, number, known in struct.iter_unpack("<QII128x", db.section("excerpts"))
              if seq < db.sequences and known == 512]
    assert len(places) == db.at["excerpts"][1] // 144 and all(a < b for a, b in zip(places, places[1:]))


def check_strings(db):
    names, ids, unmapped = (db.section(name) for name in ("names", "ids", "unmapped"))
    assert names.endswith(b"\0") and is_text(names.replace(b"\0", b"")) and all(db.names)
    assert len({taxon[0] for taxon in db.taxa}) == db.n_taxa and all(taxon[0] for taxon in db.taxa)
    at = 0
    for target, name in zip(db.targets, db.ids):
        assert target[4] == at and name
        at += len(name) + 1
    assert at == len(ids)
    strings = unmapped.split(b"\0")
    assert strings[-1] == b"" and all(strings[:-1]) and len(strings) - 1 == db.unmapped


def check_kept(db):
    assert db.at["kept"][0] % 4096 == 0
    at, before, with_alleles = 0, (0, -1), 0
    firsts = {}
    for target, begins, first, n, alleles in db.kept:
        assert alleles in (0, with_alleles + 1)
        with_alleles += n if alleles else 0
        own, bases = db.targets[target][0], db.targets[target][2]
        assert first == at and n > 0 and begins + n <= max(1, -(-bases // db.stride))
        assert target > before[0] or target == before[0] and begins > before[1]
        firsts.setdefault(target, first)
        at, before = at + n + db.gap, (target, begins + n)
    for target in reversed(range(db.n_targets)):
        at = firsts.get(target, at)
        assert db.targets[target][0] == at


def check_counts(db):
    first = 0
    for bin0, taxon, bases, _, _ in db.targets:
        assert (db.seeded or bin0 == first) and taxon < db.n_taxa
        first += max(1, -(-bases // db.stride)) + db.gap
    if db.seeded:
        check_kept(db)
    db.place_species()
    assert db.all_bins == db.bins and db.n_species == len(db.voters)
    assert db.bases == sum(target[2] for target in db.targets) & M64
    assert db.sequences == db.n_targets + db.unmapped
    assert db.unmapped or db.unmapped_bases == 0
    if not db.unmapped:
        digest = 0
        for target, name in zip(db.targets, db.ids):
            digest = fmix64(digest ^ xxh3(name.encode("latin-1")))
            digest = fmix64(digest ^ target[3]) ^ target[2]
        assert digest == db.digest
    check_minima(db)


def entries_of_range(db, r):
    """(home, tag, bins, taxon) of each entry, in order; the range is checked on the way"""
    first, first_loc, n_locs, buckets, keys, n_entries, over = db.dir[r]
    found, words, open_home = [], 0, False
    for number in range(buckets + 1):
        base, carried, goes_on, lengths, tags = bucket = db.bucket(first + number)
        used = 19 - lengths.count(0)
        assert base == words and db.image[64 * (first + number) + 6] < 64 and carried <= used
        assert not any(lengths[used:]) and not any(tags[used:]) and (carried > 0) == open_home
        assert not goes_on or used == 19
        for position in range(used):
            home = number - (position < carried)
            bins, taxon = db.listing(r, bucket, position)
            assert taxon is None or taxon < db.n_taxa
            assert bins == sorted(set(bins)) and (not bins or bins[-1] < db.bins)
            found.append((home, tags[position], bins, taxon))
            words += len(bins) or 1
        open_home = bool(goes_on)
        if number == buckets:
            assert used == carried and not goes_on
    places = [entry[:2] for entry in found]
    assert places == sorted(set(places)) and len(found) == n_entries and words == n_locs
    assert sum(entry[3] is not None for entry in found) == over
    return found


def check_seed_range(db, r, n_bins):
    first, first_word, words, lists, seeds, over, slots, *lines = db.dir[r]
    listed, left, starts, many = 0, slots, set(), 0
    assert lists + over <= seeds <= slots
    raw = struct.unpack_from("<%dI" % words, db.image, 4 * first_word)
    for number, word in enumerate(raw):
        if number == 0 or raw[number - 1] >> 31 == 0:
            starts.add(number)
    assert words == 0 or raw[-1] >> 31 == 0
    for level, n in enumerate(lines):
        assert n == lines_of(db, level, left)
        used = 0
        for number in range(first, first + n):
            line = db.line(number)
            assert [tag for tag, _ in line] == sorted(tag for tag, _ in line)
            for _, value in line:
                start = value - (1 << db.word_bits) - 1
                assert start < 0 or start in starts or value == (2 << db.word_bits) - 1
                bins = db.bins_of(r, value)
                many += bins is None
                if bins is None:
                    continue
                assert bins == sorted(set(bins)) and bins[-1] < n_bins and len(bins) <= 254
                assert len(bins) > 4 if start >= 0 else len(bins) == 1
                listed += start >= 0
            used += len(line)
        assert used <= left and (used > 0 or left == 0)
        left, first = left - used, first + n
    assert left == 0 and listed == lists == len(starts) and many == over
    return slots - lists - over + words


def check_seed_ranges(db):
    at, locations = 0, 0
    n_bins = db.target_bins if db.kept else 0
    for r, (first, first_word, words, *_) in enumerate(db.dir):
        end = at + 64 * sum(db.dir[r][7:])
        assert first * 64 == at and first_word * 4 == end and end + 4 * words <= len(db.image)
        at = end + -(-4 * words // 64) * 64
        assert not any(db.image[end + 4 * words:at])
        locations += check_seed_range(db, r, n_bins)
    seeds, over = sum(d[4] for d in db.dir), sum(d[5] for d in db.dir)
    assert at == len(db.image)
    assert (seeds, seeds, over, locations) == (db.features, db.entries, db.over, db.locations)


def check_ranges(db):
    if db.seeded:
        return check_seed_ranges(db)
    at, entries, over, keys, locations = 0, 0, 0, 0, 0
    for r, (first, first_loc, n_locs, buckets, n_keys, n_entries, n_over) in enumerate(db.dir):
        end = at + 64 * (buckets + 1)
        assert first * 64 == at and first_loc * 4 == end and 1 <= buckets < 1 << 24
        size = -(-(end - at + -(-n_locs * db.word_bits // 32) * 4) // 64) * 64
        assert at + size <= len(db.image)
        least = max(1, -(-n_keys // 15))
        while least < buckets:
            least += -(-least // 16)
        assert least == buckets and n_entries <= n_keys and (n_entries > 0) == (n_keys > 0)
        assert int.from_bytes(db.image[end:at + size], "little") >> n_locs * db.word_bits == 0
        at += size
        entries, over, keys, locations = entries + n_entries, over + n_over, keys + n_keys, locations + n_locs - n_over
        entries_of_range(db, r)
    assert at == len(db.image)
    assert (keys, entries, over, locations) == (db.features, db.entries, db.over, db.locations)


def check_keys_of_range(db, r, words, n_full):
    _, _, _, buckets, n_keys, n_entries, _ = db.dir[r]
    bits = max(1, (-(-2**24 // buckets) - 1).bit_length())
    n_rests = -(-n_entries * bits // 32)
    rests = int.from_bytes(struct.pack("<%dI" % n_rests, *words[:n_rests]), "little")
    full, keys = list(words[n_rests:]), []
    assert len(full) == n_full

    def add(rest, home, tag):
        place = home << 16 | tag
        key = -(-(place << 24) // buckets) + rest
        assert key < 2**40 and key * buckets >> 24 == place and (not keys or keys[-1] < key)
        keys.append(key)

    for number, (home, tag, _, taxon) in enumerate(entries_of_range(db, r)):
        rest = rests >> number * bits & (1 << bits) - 1
        if not full or full[0] != number:
            assert taxon is None
            add(rest, home, tag)
            continue
        n, full = full[1], full[2:]
        assert (n > 1 or n == 1 and taxon is not None) and full[0] == rest
        for _ in range(n):
            own, length, bins = full[0], full[1], full[2:2 + full[1]]
            full = full[2 + length:]
            assert len(bins) == length > 0 and bins == sorted(set(bins)) and bins[-1] < db.bins
            add(own, home, tag)
    assert not full and len(keys) == n_keys


def check_section_keys(db):
    at, size = db.at["keys"]
    if (at, size) == (0, 0):
        return
    assert size >= 2048 and size % 4 == 0 and at % 4096 == 0 and 4096 <= at <= len(db.data) - size
    data = db.section("keys")
    counts = struct.unpack_from("<256Q", data)
    numbers = list(struct.unpack_from("<%dI" % db.unmapped, data, 2048))
    assert numbers == sorted(set(numbers)) and (not numbers or numbers[-1] < db.sequences)
    at = 2048 + 4 * db.unmapped
    for r, n_full in enumerate(counts):
        _, _, _, buckets, _, n_entries, _ = db.dir[r]
        n = -(-n_entries * max(1, (-(-2**24 // buckets) - 1).bit_length()) // 32) + n_full
        assert at + 4 * n <= size
        check_keys_of_range(db, r, struct.unpack_from("<%dI" % n, data, at), n_full)
        at += 4 * n
    assert at == size


def check_section_strains(db):
    """Records in order, each in a stretch, of taxa of its species; the stretch's own one among those that are the same."""
    at, size = db.at["strains"]
    assert size % 16 == 0 and at % 4096 == 0 and (at > 0) == (size > 0) and (db.seeded or at == 0)
    end = 0
    for first, bins, same, other in db.strains:
        assert first >= end and bins > 0 and same < db.n_taxa and other < db.n_taxa
        end, of = first + bins, db.stretch_of(first)
        own = db.stretches[of][1]
        assert db.kept[of][2] <= first and end <= db.kept[of][2] + db.kept[of][3]
        assert all(db.own[own] <= x < db.taxa[db.own[own]][2] for x in (same, other)) and same <= own < db.taxa[same][2]
        assert (same, other) != (own, own)


def check_section_text(db):
    if db.version == 2:
        return
    at, size = db.at["text"]
    assert db.stride in (16, 32, 64, 128, 256, 512) and db.max_span == 512 and db.bins <= 1 << 31
    assert db.at["keys"] == db.at["told"] == (0, 0)
    alleles = sum(bins for *_, bins, has in db.kept if has)
    behind = db.stride // 4 * alleles + 256 if alleles else 0
    known = db.stride // 4 * db.bins + 256 + behind
    assert at % 4096 == 0 and 4096 <= at <= len(db.data) - size and size >= known and (size - known) % 8 == 0
    words = struct.unpack("<%dI" % (size // 4), db.section("text"))
    few = db.few()
    assert all(x > 0 and any(16 * first <= i < 16 * first + bases for first, has, bases in db.placed if has is None)
               for i, x in few) and [i for i, _ in few] == sorted({i for i, _ in few})
    assert all(base >> 2 < db.stride for _, base in struct.iter_unpack("<II", db.section("text")[known:]))
    bits = lambda begin, end: sum(word << 32 * j for j, word in enumerate(words[begin:end]))
    for i, (first, alleles, bases) in enumerate(db.placed):
        end = db.placed[i + 1][0] if i + 1 < len(db.placed) else db.stride // 16 * db.bins + 64
        assert bits(first + bases // 16, end) >> 2 * (bases % 16) == 0
        if alleles is not None:
            end = alleles + db.stride // 16 * db.kept[i][3]
            assert bits(alleles + bases // 16, end) >> 2 * (bases % 16) == 0


def check_tree(db):
    """Before anything follows a parent."""
    assert all(taxon[1] < i for i, taxon in enumerate(db.taxa) if i > 0)
    check_taxa(db)


def why_bad(path):
    try:
        db = Database(path, trusted=False)
        for check in (check_parameters, check_places, check_sums, check_tree, check_strings, check_excerpts, check_counts, check_frame, check_ranges,
                      check_section_keys, check_section_text, check_section_strains, check_translated):
            check(db)
    except (AssertionError, struct.error, ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError, MemoryError) as e:
        line = e.__traceback__
        while line.tb_next:
            line = line.tb_next
        return "line %d: %r" % (line.tb_lineno, e)
    return None


def main(path, genomes):
    db = Database(path)
    refs = [record for genome in genomes for record in records(genome)]
    keys = expected_index(db, refs)
    checks = [("frame", check_frame, ()), ("checksums", check_sums, ()), ("taxa", check_taxa, ()),
              ("targets and digests", check_targets, (refs,)), ("minima", check_minima, ()),
              ("index of %d features" % len(keys), check_index, (keys,)), ("keys", check_keys, (keys,)),
              ("told", check_told, (refs,)), ("text", check_text, (refs,)),
              ("look-up", check_look_up, (keys,))]
    print("1..%d" % len(checks))
    for number, (what, check, args) in enumerate(checks, 1):
        if check is check_sums and xxh3 is None:
            print("ok %d - %s # SKIP no xxhash module for this Python" % (number, what))
            continue
        try:
            check(db, *args)
            print("ok %d - %s" % (number, what))
        except (AssertionError, struct.error, ValueError, TypeError) as e:
            line = e.__traceback__
            while line.tb_next:
                line = line.tb_next
            print("not ok %d - %s\n# line %d: %r" % (number, what, line.tb_lineno, e))


if __name__ == "__main__":
    if sys.argv[1] == "--sound":
        for name in sys.argv[2:]:
            why = why_bad(name)
            print("%s\t%s\t%s" % (name, "bad" if why else "sound", why or ""))
    else:
        main(sys.argv[1], sys.argv[2:])
