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
from bisect import bisect_right
from collections import Counter
from itertools import accumulate

from oracle_sampling import CODE, M64, features, fmix64, records
from xxh3 import xxh3

NAMES = ("magic version header_bytes byte_order file_bytes scheme k s stride least no_repeats bins locations features "
         "over bases sequences unmapped unmapped_bases digest max_bytes n_targets n_taxa word_bits zero tool").split()
HEADER = dict(zip(NAMES, ["8s", *"IIQQIIIIII", *"QQQQQQQQQQ", *"IIII", "32s"]))     # type of each field
SPECIES = 38            # rank
SECTIONS = "index directory text kept strains taxa names targets ids unmapped translated checksums".split()
PLACES = 2              # bins of a seed in one species


class Database:
    def __init__(self, path, trusted=True):
        with open(path, "rb") as f:
            self.data = data = f.read()
        self.__dict__.update(zip(HEADER, struct.unpack_from("<" + "".join(HEADER.values()), data)))
        extents = struct.unpack_from("<%dQ" % (2 * len(SECTIONS)), data, 184)
        self.at = dict(zip(SECTIONS, zip(extents[::2], extents[1::2])))
        self.sums, = struct.unpack_from("<Q", data, 440)
        self.thin = self.at["text"] == (0, 0)
        self.image = self.section("index")
        self.dir = list(struct.iter_unpack("<QQ4II7I", self.section("directory")))
        self.slots = 512 // (self.word_bits + 9)
        self.taxa = list(struct.iter_unpack("<IIIIQ", self.section("taxa")))
        self.targets = list(struct.iter_unpack("<IIQQQ", self.section("targets")))
        self.kept = list(struct.iter_unpack("<IIIII", self.section("kept")))
        self.strains = list(struct.iter_unpack("<IIII", self.section("strains")))
        self.names = [self.string("names", t[4]) for t in self.taxa]
        self.ids = [self.string("ids", t[4]) for t in self.targets]
        if trusted:
            self.place_stretches()

    def place_stretches(self):
        """stretches: (first bin, taxon, bases) of each; own: the species of each taxon with targets"""
        self.own = {}
        self.stretches = [(first, self.targets[target][1], min(n * self.stride, self.targets[target][2] - at * self.stride))
                          for target, at, first, n, _ in self.kept]
        self.firsts = [first for first, *_ in self.stretches]
        each = self.stride // 16
        # by stretch: the words where its text begins, and its alleles, if it has some; and its bases
        self.placed = [(each * first, each * (self.bins + has - 1) + 64 if has else None, bases)
                       for (first, _, bases), (*_, has) in zip(self.stretches, self.kept)]
        for _, taxon, *_ in self.targets:
            self.own[taxon] = self.up_to(taxon, SPECIES) or taxon
        # by species: the LCA of its targets' taxa, which is what it is called
        of = {}
        for _, taxon, *_ in self.targets:
            of.setdefault(self.own[taxon], []).append(taxon)
        self.called = {species: self.lca(min(taxa), max(taxa)) for species, taxa in of.items()}
        self.end = 0
        for first, _, bases in self.stretches:
            self.end = first + max(1, -(-bases // self.stride)) + 1

    def up_to(self, taxon, rank):
        """The nearest taxon of that rank, or 0"""
        while taxon and self.taxa[taxon][3] != rank:
            taxon = self.taxa[taxon][1]
        return taxon

    def unpacked(self, word, n):
        """n bases of the text, from a word on, as numbers"""
        words = self.section("text")[4 * word:4 * word + 4 * -(-n // 16)]
        return [byte >> 2 * i & 3 for byte in words for i in range(4)][:n]

    def few(self):
        """(number among all bases, XOR) of the alleles that reads do not ask for"""
        if self.thin:
            return []
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

    def find(self, key):
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

    def lca(self, low, high):
        while high >= self.taxa[low][2]:
            low = self.taxa[low][1]
        return low

    def stretch_of(self, number):
        return bisect_right(self.firsts, number) - 1

    def target_of(self, number):
        return self.kept[self.stretch_of(number)][0]

    def species_of(self, number):
        """of the target that a bin is in"""
        return self.own[self.targets[self.target_of(number)][1]]


def check_frame(db):
    data = db.data
    assert db.magic == b"\x89KHDB\r\n\x1a" and db.header_bytes == 4096 and db.version == 4
    assert db.byte_order == 0x0102030405060708 and db.file_bytes == len(data)
    assert db.word_bits == max(23, (db.bins - 1).bit_length())
    assert db.max_bytes == 0 or db.file_bytes <= db.max_bytes
    assert db.no_repeats in (0, 1) and db.zero == 0
    assert not any(data[184 + 16 * len(SECTIONS):440]) and not any(data[448:4088]) and sum(db.at["checksums"]) == len(data)
    holes = bytearray(data[4096:])
    for name, (at, size) in db.at.items():
        if name in ("strains", "text", "translated") and (at, size) == (0, 0):
            continue
        assert at % 4096 == 0 and 4096 <= at <= len(data)
        holes[at - 4096:at - 4096 + size] = bytes(size)
    assert not any(holes)


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
    end = 2 * db.bins * db.stride
    assert k in (8, 10) and lines > 0 and codons == 0 and not any(zero)
    assert places <= end and places < 2**32 and width == max(1, (end - 1).bit_length()) <= 56
    genus_at, line_at = 64, 64 + 64 * -(-genera // 4)
    place_at = line_at + 64 * (lines + behind)
    text_at = place_at + 64 * -(-places * width // 512)
    assert len(data) == text_at + 4 * 64
    last = -1
    for i in range(genera):
        taxon, family, threshold, called = struct.unpack_from("<IIII", data, genus_at + 16 * i)
        assert last < taxon < db.n_taxa and family <= taxon and threshold > 0 and called <= taxon
        last = taxon
    assert places == 0 or db.kept
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
    assert db.ids == [name for name, _ in refs] and db.n_targets == len(refs) == db.sequences
    for (_, _, bases, own, _), (_, seq) in zip(db.targets, refs):
        assert bases == len(seq)
        assert own == sequence_digest(seq, db.stride)


def as_text(seq):
    """What is no base is A there."""
    return "".join("ACGT"[CODE.get(base, 0)] for base in seq)


def expected_index(db, refs):
    """key -> bins, from the genomes"""
    scheme, keys = ("minhash", "syncmer")[db.scheme], {}
    for of, at, first, n, _ in db.kept:
        seq = as_text(refs[of][1][at * db.stride:(at + n) * db.stride])
        for place, key in features(seq, scheme, db.k, db.s, db.stride, db.least, db.no_repeats):
            keys.setdefault(key, set()).add(first + place // db.stride)
    return keys


def cut(db, bins):
    """What is left of a list, ascending"""
    species = [db.species_of(b) for b in bins]
    return [b for i, b in enumerate(bins) if species[:i].count(species[i]) < PLACES]


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
        bins, y = cut(db, sorted(keys[key])), key % 2**40
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


def check_index(db, keys):
    ranges = [{} for _ in range(256)]
    for key in keys:
        ranges[key >> 40][key] = keys[key]
    for r, of in enumerate(ranges):
        check_seeds_of_range(db, r, of)
    assert db.features == len(keys)


def check_text(db, refs):
    """Of references that all have a taxon."""
    if db.thin:
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
    """Of what is not kept and lies somewhere but for 3 in 100 bases: one of the places where it does, or does but
    for 10 more, has its strain; if it may lie with a gap in an earlier place, that one has it."""
    size, found, near = len(tile), [], False
    if any(a[0] == b[0] and 0 < abs(a[1] - b[1]) <= 8 for a in places for b in places):
        return
    for text, other, of, turned in (texts[i] for i in {text for text, _ in places}):
        for _, d in [x for x in places if texts[x[0]][2:4] == (of, turned)]:
            side = text[max(0, d):d + size]
            differ = sum(a != b for a, b in zip(tile, side))
            if d < 0 or len(side) < size or differ > size // 32 + 10:
                continue
            near |= differ <= size // 32
            at = len(text) - d - size if turned else d
            found.append(all(db.taxa[x][2] > target >= x for x in strains_of(db, of, at + 8, at + size - 8)))
    assert not near or any(found), (target, places)


def check_left_out(db, refs):
    """What is not kept lies along text of its species, all but 14 bases of 128, with an indel at most, and what
    differs there is an allele: but for third bases, which are few, and for what 16 species have."""
    texts, lots, differ, unknown, few = {}, {}, 0, 0, db.few()
    has, size = species_of_kmers(db), max(128, db.stride)
    there = Counter()
    for target, _, _, bins, _ in db.kept:
        there[target] += db.stride * bins
    lack = {db.own[db.targets[target][1]] for target, (_, seq) in enumerate(refs) if there[target] < len(seq)}

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
            if species not in lack:
                break
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


def check_look_up(db, keys):
    for key in keys:
        want = cut(db, sorted(keys[key]))
        bins, over = db.find(key)
        assert over == 0 if len(want) > 254 else set(want) <= set(bins)
    rng = random.Random(1)
    found = sum(db.find(key) is not None for key in (rng.getrandbits(48) for _ in range(20000)) if key not in keys)
    assert found <= 20000 * db.slots // 256


# --- without the genomes -------------------------------------------------------------
def is_text(data):
    return all(byte >= 32 and byte != 127 for byte in data)


def check_parameters(db):
    difference = db.k - db.s
    assert 8 <= db.k <= 31 and db.stride in (16, 32, 64, 128, 256, 512)
    assert db.scheme == 0 and 1 <= db.s <= 64 or \
        db.scheme == 1 and db.s >= 2 and difference % 2 == 0 and 2 <= difference <= 16
    assert db.bins <= 1 << 31 and db.n_taxa >= 1
    text = db.tool.rstrip(b"\0")
    assert all(32 <= byte < 127 for byte in text) and len(text) < 32
    sizes = {name: size for name, (_, size) in db.at.items()}
    assert sizes["directory"] == 256 * 64 and sizes["taxa"] == 24 * db.n_taxa and sizes["targets"] == 32 * db.n_targets
    assert sizes["kept"] % 20 == 0


def check_places(db):
    """Sections are inside the file and share no byte."""
    places = sorted(extent for extent in db.at.values() if extent[1] > 0)
    ends = [at + size for at, size in places]
    assert all(end <= at for end, (at, _) in zip(ends, places[1:])) and ends[-1] == len(db.data)
    blocks = -(-(db.at["checksums"][0] - 4096) // (1 << 24))
    assert db.at["checksums"][1] == 8 * blocks


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
    at, before, with_alleles = 0, (0, -1), 0
    firsts = {}
    for target, begins, first, n, alleles in db.kept:
        assert alleles in (0, with_alleles + 1)
        with_alleles += n if alleles else 0
        assert first == at and n > 0 and begins + n <= max(1, -(-db.targets[target][2] // db.stride))
        assert target > before[0] or target == before[0] and begins > before[1]
        firsts.setdefault(target, first)
        at, before = at + n + 1, (target, begins + n)
    for target in reversed(range(db.n_targets)):
        at = firsts.get(target, at)
        assert db.targets[target][0] == at


def check_counts(db):
    assert all(taxon < db.n_taxa for _, taxon, *_ in db.targets)
    check_kept(db)
    db.place_stretches()
    assert db.end == db.bins
    assert db.bases == sum(target[2] for target in db.targets) & M64
    assert db.sequences == db.n_targets + db.unmapped
    assert db.unmapped or db.unmapped_bases == 0
    if not db.unmapped:
        digest = 0
        for target, name in zip(db.targets, db.ids):
            digest = fmix64(digest ^ xxh3(name.encode("latin-1")))
            digest = fmix64(digest ^ target[3]) ^ target[2]
        assert digest == db.digest


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


def check_ranges(db):
    at, locations = 0, 0
    n_bins = db.end
    for r, (first, first_word, words, *_) in enumerate(db.dir):
        end = at + 64 * sum(db.dir[r][7:])
        assert first * 64 == at and first_word * 4 == end and end + 4 * words <= len(db.image)
        at = end + -(-4 * words // 64) * 64
        assert not any(db.image[end + 4 * words:at])
        locations += check_seed_range(db, r, n_bins)
    seeds, over = sum(d[4] for d in db.dir), sum(d[5] for d in db.dir)
    assert at == len(db.image)
    assert (seeds, over, locations) == (db.features, db.over, db.locations)


def check_section_strains(db):
    """Records in order, each in a stretch, of taxa of its species; the stretch's own one among those that are the same."""
    at, size = db.at["strains"]
    assert size % 16 == 0 and at % 4096 == 0 and (at > 0) == (size > 0)
    end = 0
    for first, bins, same, other in db.strains:
        assert first >= end and bins > 0 and same < db.n_taxa and other < db.n_taxa
        end, of = first + bins, db.stretch_of(first)
        own = db.stretches[of][1]
        assert db.kept[of][2] <= first and end <= db.kept[of][2] + db.kept[of][3]
        assert all(db.own[own] <= x < db.taxa[db.own[own]][2] for x in (same, other)) and same <= own < db.taxa[same][2]
        assert (same, other) != (own, own)


def check_section_text(db):
    _, size = db.at["text"]
    alleles = sum(bins for *_, bins, has in db.kept if has)
    if db.thin:
        assert alleles == 0 and db.at["translated"] == (0, 0)
        return
    behind = db.stride // 4 * alleles + 256 if alleles else 0
    known = db.stride // 4 * db.bins + 256 + behind
    assert size >= known and (size - known) % 8 == 0
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


def check_sound(path):
    db = Database(path, trusted=False)
    for check in (check_parameters, check_places, check_sums, check_tree, check_strings, check_counts, check_frame, check_ranges,
                  check_section_text, check_section_strains, check_translated):
        check(db)


def why_bad(check, *args):
    """Where a check fails, or None"""
    try:
        check(*args)
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
    checks = [("sound", check_sound, path), ("targets and digests", check_targets, db, refs),
              ("index of %d features" % len(keys), check_index, db, keys), ("text", check_text, db, refs),
              ("look-up", check_look_up, db, keys)]
    print("1..%d" % len(checks))
    for number, (what, *check) in enumerate(checks, 1):
        why = why_bad(*check)
        print("not ok %d - %s\n# %s" % (number, what, why) if why else "ok %d - %s" % (number, what))


if __name__ == "__main__":
    if sys.argv[1] == "--sound":
        for name in sys.argv[2:]:
            why = why_bad(check_sound, name)
            print("%s\t%s\t%s" % (name, "bad" if why else "sound", why or ""))
    else:
        main(sys.argv[1], sys.argv[2:])
