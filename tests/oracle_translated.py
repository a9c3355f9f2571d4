#!/usr/bin/env python3
"""oracle_translated.py - translated seeds by kmerhash-db(5) and kmerhash-method(7), naively

    oracle_translated.py section DATABASE.khdb TAXONOMY GENOME...  compares the section's bytes
    oracle_translated.py calls DATABASE.khdb CALLS.tsv READS [MATES]   (LEVEL=... in the environment)
    oracle_translated.py sample DATABASE.khdb CALLS.tsv FINAL.tsv PROFILE.tsv READS [MATES]

The second one looks at the lines that are not called, or whose call no feature agrees with, and exits
0 if all are what this says, and some of them are called; else it shows the first that is not.  The
third one, of short reads, says what the sample makes of these, by the lines of the first pass, the final ones
and the profile; and what unknown species and genera it has.
"""
import bisect
import collections
import functools
import itertools
import operator
import os
import struct
import sys

from oracle_classify import Tree
from oracle_db import Database, packed_numbers
from oracle_sampling import CODE, COMPLEMENT, fmix64, records, reverse_complement

GROUPS = "LM IV C A G S T P FY W E D N Q KR H".split()
AMINO = ("KNKNTTTTRSRSIIMIQHQHPPPPRRRRLLLLEDEDAAAAGGGGVVVV*Y*YSSSS*CWCLFLF")
RESIDUE = {"".join(codon): x for codon, x in zip(itertools.product("ACGT", repeat=3), AMINO)}
LETTER = {codon: next((i for i, group in enumerate(GROUPS) if x in group), None) for codon, x in RESIDUE.items()}
FAMILY, GENUS, SPECIES = 26, 30, 38      # ranks
TILE, LEAST, NEAR = 50, 55, 240
KINSHIP, SHARE = {"strict": (150, 100), "balanced": (115, 60), "sensitive": (15, 30)}[os.environ.get("LEVEL", "strict")]


def runs(seq, least, code=11):
    """(first base, letters) of rows of codons without a stop, of three frames"""
    for frame in range(3):
        letters, begin = [], frame
        for i in range(frame, len(seq) - 2, 3):
            letter = LETTER["TGG"] if code == 4 and seq[i:i + 3] == "TGA" else LETTER.get(seq[i:i + 3])
            if letter is not None:
                letters.append(letter)
                continue
            if len(letters) >= least:
                yield begin, letters
            letters, begin = [], i + 3
        if len(letters) >= least:
            yield begin, letters


def keys_of(letters, k, all_of_them):
    """(mix, letter at which it begins)"""
    def number(some):
        return sum(letter << 4 * i for i, letter in enumerate(reversed(some)))

    order = [40503 * number(letters[i:i + 4]) % 65536 for i in range(len(letters) - 3)]
    for i in range(len(letters) - k + 1):
        rows = order[i:i + k - 3]
        if min(rows) == rows[len(rows) // 2] and (all_of_them or len(set(letters[i:i + k])) >= 5):
            yield fmix64(number(letters[i:i + k])) >> 32, i


def fit(read, text, at, begin, end):
    """(matches, mismatches, first column, the one behind the last) of the HSP of a read whose base 0
    is on base `at`; columns from begin to end - 1 count"""
    now = wrong = length = 0
    best = (0, 0, 0, 0)         # matches less mismatches, matches, mismatches, the column behind
    for i in range(max(0, begin - at), min(len(read), end - at)):
        length += 1
        if read[i] == text[at + i]:
            now += 1
            if now > best[0]:
                best = (now, length - wrong, wrong, i + 1)
        else:
            now, wrong = now - 1, wrong + 1
            if now <= 0:
                now = wrong = length = 0
    return best[1], best[2], best[3] - best[1] - best[2], best[3]


def points_of(found, loss):
    return max(0, 2 * found[0] - loss * found[1])


class Section:
    def __init__(self, db):
        self.data = data = db.section("translated")
        self.k, n, self.lines, behind, places, _, width = struct.unpack_from("<IIIIQQI", data)
        up = lambda x: -(-x // 64) * 64
        self.genera = [g for g in struct.iter_unpack("<IIII", data[64:64 + 16 * n])]
        at = 64 + up(16 * n)
        self.line = list(struct.iter_unpack("<28HIBBH", data[at:at + 64 * (self.lines + behind)]))
        at += 64 * (self.lines + behind)
        text = at + up(-(-places * width // 8))
        self.place = list(packed_numbers(int.from_bytes(data[at:text], "little"), places, width))
        words = struct.unpack_from("<%dI" % (db.stride // 16 * db.bins), db.section("text"))
        number = {g[0]: i for i, g in enumerate(self.genera)}
        self.parts = [(first * db.stride, first * db.stride + bases, number.get(counts_as(db, taxon)))
                      for first, taxon, bases in db.stretches]
        self.text = "".join("ACGT"[w >> 2 * i & 3] for w in words for i in range(16))
        self.begins = [part[0] for part in self.parts]
        self.species = [db.own[taxon] for _, taxon, _ in db.stretches]

    def taxon(self, genus, of_genus, of_family):
        """the number of the taxon that such grades call, or None"""
        if of_genus == 3:
            return self.genera[genus][3]
        return self.genera[genus][1] if of_family == 3 else None

    def kin(self, a, b):
        """are two genera of one family?"""
        return self.genera[a][1] != 0 and self.genera[a][1] == self.genera[b][1]

    def find(self, mix):
        """up to 8 places, one behind the other"""
        found = []
        at = mix * self.lines >> 32
        while True:
            line = self.line[at]
            for i, tag in enumerate(line[:line[29]]):
                if tag == mix % 65536:
                    found.append(self.place[line[28] + i])
                elif found:
                    return found[:8]
            if not line[31] >> mix % 16 & 1:
                return found[:8]
            at += 1

    def lay(self, place, pos, size):
        """(part, does the other strand lie there, base) of a read of that size whose key at `pos` is there"""
        base, down = divmod(place, 2)
        part = self.parts[bisect.bisect_right(self.begins, base) - 1]
        return part, down, base - (size - 1 - pos if down else pos)


# --- how it is made ------------------------------------------------------------------


def orfs(seq, code):
    """[(letters, bases, lowest base, strand)] of a target, those that are left out left out"""
    found = []
    for strand, bases in ((0, seq), (1, reverse_complement(seq))):
        for begin, letters in runs(bases, 60, code):
            size = 3 * len(letters)
            low = begin if strand == 0 else len(seq) - begin - size
            found.append((-len(letters), low, strand, letters, bases[begin:begin + size]))
    covered, kept = bytearray(len(seq)), []
    for _, low, strand, letters, bases in sorted(found, key=lambda s: s[:3]):
        if 2 * sum(covered[low:low + len(bases)]) > len(bases):
            continue
        covered[low:low + len(bases)] = b"\1" * len(bases)
        kept.append((letters, bases, low, strand))
    return kept


def counts_as(db, taxon):
    return db.up_to(taxon, GENUS) or db.up_to(taxon, SPECIES) or taxon


def dump_rows(folder, name):
    with open(os.path.join(folder, name)) as lines:
        for line in lines:
            yield [cell.strip() for cell in line.split("|")]


def called_by_genus(db, folder):
    """(what is called of a genus: that, or its family if it has few of the family's species; its family)"""
    parent = {int(row[0]): int(row[1]) for row in dump_rows(folder, "nodes.dmp")}
    number = {taxon[0]: i for i, taxon in enumerate(db.taxa)}
    species, here = collections.Counter(), collections.Counter()
    for row in dump_rows(folder, "nodes.dmp"):
        if row[2] != "species":
            continue
        taxid, known = int(row[0]), False
        while True:
            taxon = number.get(taxid)
            if taxon is not None:
                known = known or db.taxa[taxon][3] == GENUS
                species[taxon] += 1
                here[taxon] += known
            if taxid == 1:
                break
            taxid = parent[taxid]
    called = {}
    for genus, taxon in enumerate(db.taxa):
        family = taxon[1]
        while family and not 2 <= db.taxa[family][3] <= FAMILY:
            family = db.taxa[family][1]
        few = taxon[3] == GENUS and species[family] - here[family] > 3 * species[genus]
        called[genus] = (family if few else genus), family
    return called


def lines_of(keys):
    """[[key]]: L lines, and those behind them"""
    count = len(keys) // 24 + 1
    lines, at = [[] for _ in range(count)], 0
    for key in keys:
        at = max(at, key * count >> 32)
        if len(lines[at]) == 28:
            at += 1
        if at == len(lines):
            lines.append([])
        lines[at].append(key)
    return count, lines


def targets(db, refs):
    """(taxon, bases, where these begin in the database's text) of each stretch that is kept"""
    return [(db.targets[of][1], refs[of][1][at * db.stride:(at + n) * db.stride], first * db.stride)
            for of, at, first, n, _ in db.kept]


def make(db, refs, k, called, code_of):
    """the bytes of the section"""
    by_genus = collections.defaultdict(list)
    for taxon, seq, at in targets(db, refs):
        by_genus[counts_as(db, taxon)].append((seq, at, code_of.get(db.taxa[taxon][0])))
    genera, text, places = [], "", collections.defaultdict(list)
    in_db = {}                  # codon of the text that is made here -> place in that of the database
    for genus in sorted(by_genus):
        known, first = set(), len(text) // 3
        for seq, at, code in by_genus[genus]:
            for letters, bases, low, strand in orfs(seq, code):
                keys = list(keys_of(letters, k, False))
                if 2 * sum(mix in known for mix, _ in keys) >= len(keys):
                    continue
                for mix, i in keys:
                    known.add(mix)
                    places[mix].append((len(genera), len(text) // 3 + i))
                    in_db[len(text) // 3 + i] = (2 * (at + low + len(bases) - 1 - 3 * i) + 1 if strand
                                                 else 2 * (at + low + 3 * i))
                text += bases
        if len(text) == 3 * first:
            continue
        genera.append([genus, first, LEAST, len(text) // 3, called[genus][1]])
        text += "A" * (-len(text) % 96)
    raise_thresholds(genera, places, text, k)
    own = []                    # (key, place)
    for mix, at in sorted(places.items()):
        have = sorted({genus for genus, _ in at})
        families = {genera[genus][4] for genus in have}
        if len(have) == 1 or (len(have) <= 8 and len(families) == 1 and 0 not in families):
            own += [(mix, in_db[min(p for g, p in at if g == genus)]) for genus in have]
    count, lines = lines_of([mix for mix, _ in own])
    width = max(1, (2 * db.bins * db.stride - 1).bit_length())
    data = struct.pack("<IIIIQQI28x", k, len(genera), count, len(lines) - count, len(own), 0, width)
    data += b"".join(struct.pack("<IIII", g[0], g[4], g[2], g[0] if g[2] >= NEAR else called[g[0]][0])
                     for g in genera)
    data += bytes(-len(data) % 64)
    base = 0
    for at, line in enumerate(lines):
        behind = itertools.takewhile(lambda key: key * count >> 32 <= at, itertools.chain(*lines[at + 1:]))
        later = functools.reduce(operator.or_, (1 << key % 16 for key in behind), 0)
        data += struct.pack("<28HIBBH", *[key % 65536 for key in line], *[0] * (28 - len(line)), base, len(line), 0, later)
        base += len(line)
    packed = sum(place << width * i for i, (_, place) in enumerate(own))
    data += packed.to_bytes(-(-len(own) * width // 8), "little")
    return data + bytes(-len(data) % 64 + 256)


def exact(tile, text, at):
    return sum(tile[i:i + 18] == text[at + i:at + i + 18] for i in range(len(tile) - 17))


class Tiles:
    """The tiles of a genus, and how they fit others."""

    def __init__(self, genus, genera, text):
        self.first, self.text = genera[genus][1], text
        self.n = (genera[genus][3] - self.first) // TILE
        self.fits = collections.defaultdict(dict)      # tile -> genus -> (score, exact, shift)
        self.records = set()

    def lay(self, tile, shift):
        at = 3 * (self.first + TILE * tile)
        to = at + 3 * shift
        if to < 0 or to + 3 * TILE > len(self.text):
            return 0, 0
        bases = self.text[at:at + 3 * TILE]
        return points_of(fit(bases, self.text, to, 0, len(self.text)), 5), exact(bases, self.text, to)

    def fit_all(self):
        for tile, genus, shift in sorted(self.records):
            fit = self.lay(tile, shift) + (shift,)
            if genus not in self.fits[tile] or fit[0] > self.fits[tile][genus][0]:
                self.fits[tile][genus] = fit

    def fragment(self, tile, other):
        """(genus, score) of the best one, asked of the fits of `tile`"""
        best = (None, 0)
        for genus, (own, alike, shift) in sorted(self.fits[tile].items()):
            if genus in self.fits.get(other, {}):
                beside = self.fits[other][genus][:2]
            else:
                beside = self.lay(other, shift) if own >= 40 else (0, 0)
            if alike + beside[1] < 15 and own + beside[0] > best[1]:
                best = (genus, own + beside[0])
        return best

    def asked(self):
        """genus -> scores"""
        found = collections.defaultdict(list)
        for tile in sorted(self.fits):
            asked = [tile + 1] if tile + 1 < self.n else []
            if tile > 0 and tile - 1 not in self.fits:
                asked.append(tile - 1)
            for other in asked:
                genus, points = self.fragment(tile, other)
                if points:
                    found[genus].append(points)
        return found


def raise_thresholds(genera, places, text, k):
    tiles = [Tiles(genus, genera, text) for genus in range(len(genera))]
    for at in places.values():
        both = sorted({genus for genus, _ in at})
        if len(both) != 2:
            continue
        lowest = {genus: min(p for g, p in at if g == genus) for genus in both}
        for genus, place in at:
            other, own = both[genus == both[0]], tiles[genus]
            tile, inside = divmod(place - own.first, TILE)
            if inside + k <= TILE and tile < own.n:
                own.records.add((tile, other, lowest[other] - place))
    for own in tiles:
        if own.n <= 500:
            continue
        own.fit_all()
        for genus, scores in own.asked().items():
            rank = (own.n - 1) * 20 // 1000
            if rank < len(scores):
                least = sorted(scores, reverse=True)[rank] + 1
                genera[genus][2] = max(genera[genus][2], least)


# --- the rule ------------------------------------------------------------------------


class Fragment:
    """Two mates, or two pieces of a read that follow each other"""

    def __init__(self, section, mates, pieces=False):
        self.s, self.pieces = section, pieces
        self.mates = [(mate, reverse_complement(mate)) for mate in mates]
        # genus -> [score, nearness, strand, base, part, fit] of each mate
        self.best = collections.defaultdict(lambda: [[0, 0, 0, 0, None, (0, 0, 0, 0)] for _ in mates])
        self.frames = {}        # of a mate on a strand at a base: strand and base of the first key

    def compare(self, mate, strand, at, part):
        read, s, (begin, end, genus) = self.mates[mate][strand], self.s, part
        if at >= 0 and at + len(read) <= len(s.text):
            alike = sum(a == b for a, b in zip(read, s.text[at:at + len(read)]))
            if 100 * alike < 48 * len(read):
                return
        found = fit(read, s.text, at, begin, end)
        points, near = points_of(found, 5), points_of(found, 4)
        have = self.best[genus][mate] if near and genus is not None else None
        if have and (-points, -near, strand, at) < (-have[0], -have[1], have[2], have[3]):
            self.best[genus][mate] = [points, near, strand, at, part, found]

    def compare_all(self):
        for mate, strands in enumerate(self.mates):
            for strand, read in enumerate(strands):
                if len(read) < 75:
                    continue
                for begin, letters in runs(read, 25 if len(read) < 150 else 33):
                    for mix, i in keys_of(letters, self.s.k, True):
                        for place in self.s.find(mix):
                            part, down, at = self.s.lay(place, begin + 3 * i, len(read))
                            lies = mate, strand ^ down, at
                            self.frames[lies] = min((strand, begin + 3 * i), self.frames.get(lies, (2, 0)))
                            self.compare(mate, strand ^ down, at, part)

    def seek(self, genus):
        have = self.best[genus]
        for mate in range(len(have)):
            if len(have) < 2 or have[1 - mate][0] < 40 or have[mate][0] >= 40:
                continue
            _, _, strand, p, (begin, end, _), _ = have[1 - mate]
            to = strand if self.pieces else 1 - strand
            read = self.mates[mate][to]
            low, high = (p - 400, p) if strand else (p, p + 400)
            if self.pieces:
                low = p - len(read) if mate == strand else p + len(self.mates[1 - mate][0])
                low, high = low - 8, low + 8
            places = range(max(low, begin), min(high, end - len(read)) + 1)
            if len(read) < 75 or not places:
                continue
            part = read[:64]
            at = min(places, key=lambda x: sum(a != b for a, b in zip(part, self.s.text[x:x + 64])))
            found = fit(read, self.s.text, at, begin, end)
            if points_of(found, 5) > have[mate][0]:
                have[mate] = [points_of(found, 5), points_of(found, 4), to, at, have[1 - mate][4], found]
                return

    def rank(self):
        """(best genus or None, its points, those of the second)"""
        self.compare_all()
        sums = sorted((-sum(points for points, *_ in have), genus) for genus, have in self.best.items())
        if not sums:
            return None, 0, 0
        best = sums[0][1]
        if self.pieces or not self.enough(-sums[0][0], best, -sums[1][0] if len(sums) > 1 else 0):
            self.seek(best)
        return best, sum(points for points, *_ in self.best[best]), -sums[1][0] if len(sums) > 1 else 0

    def enough(self, points, genus, second):
        return points >= self.s.genera[genus][2] * SHARE // 100 and points >= second + 55

    def nearest(self):
        """(genus or None, its nearness, that of other families)"""
        nears = sorted((-sum(have[1] for have in mates), genus) for genus, mates in self.best.items())
        if not nears:
            return None, 0, 0
        genus = nears[0][1]
        return genus, -nears[0][0], max((-near for near, other in nears[1:] if not self.s.kin(genus, other)), default=0)

    def along(self, have, mate):
        """the text that the mate lies along, column by column, as the mate is read; None: not of the part"""
        _, _, strand, at, (begin, end, _), _ = have
        bases = [self.s.text[i] if begin <= i < end else None for i in range(at, at + len(self.mates[mate][0]))]
        return [base and base.translate(COMPLEMENT) for base in reversed(bases)] if strand else bases

    def kinship(self, genus):
        total = 0
        for mate, have in enumerate(self.best[genus]):
            others = [mates[mate] for other, mates in self.best.items()
                      if other != genus and self.s.kin(genus, other) and mates[mate][5][0] > 0]
            if have[5][0] == 0:
                continue
            matches, _, begin, end = have[5]
            size = len(self.mates[mate][0])
            columns = range(size - end, size - begin) if have[2] else range(begin, end)
            own = self.along(have, mate)
            common = [sum(own[i] == text[i] for i in columns)
                      for text in (self.along(other, mate) for other in others)]
            alike = [n for n in common if 10 * n >= 6 * len(columns)]
            if alike:
                total += have[1] + 7 * min(8, matches - max(alike))
            elif not self.pieces:
                total += have[1] // 2
        return total

    def grades(self):
        """(genus or None, its grade, that of its family) of 0 none, 1 weak, 2 firm, 3 called"""
        best, points, second = self.rank()
        if best is None:
            return None, 0, 0
        if self.enough(points, best, second):
            return best, 3, 3 * (self.s.genera[best][1] > 0)
        firm = points >= second + 20 + sum(n for n in (len(mate[0]) for mate in self.mates) if n >= 75) // 8
        genus, near, far = self.nearest()
        of_family = 1
        if near > far and self.s.genera[genus][1]:
            kinship = self.kinship(genus)
            of_family = 3 if kinship >= KINSHIP else 1 + (kinship >= 20)
        kin = genus == best or self.s.kin(genus, best)
        if firm and (kin or of_family < 3):
            return best, 2, of_family if kin else 1
        return genus, 1, of_family

    def taxon(self):
        """the number of the taxon that is called, or None"""
        return self.s.taxon(*self.grades())

    def likeness(self, genus):
        """(number of the species, base of the text, codons compared, residues alike)"""
        have, codons, same = self.best[genus], 0, 0
        for mate, (_, _, turned, at, part, (matches, _, begin, end)) in enumerate(have):
            if not matches or (mate, turned, at) not in self.frames:
                continue
            strand, pos = self.frames[mate, turned, at]
            read, along = self.mates[mate][strand], self.along(have[mate], mate)
            if strand:
                along = [base and base.translate(COMPLEMENT) for base in reversed(along)]
            if strand != turned:
                begin, end = len(read) - end, len(read) - begin
            for i in range(pos % 3, end - 2, 3):
                if i >= begin and set(read[i:i + 3]) <= set("ACGT"):
                    codons += 1
                    same += RESIDUE[read[i:i + 3]] == RESIDUE["".join(along[i:i + 3])]
        nearer = max(have, key=lambda x: x[1])
        return (self.s.species[self.s.parts.index(nearer[4])], nearer[3] + nearer[5][2], codons, same)


def first_of(votes, least_of):
    """what is ahead by most, of equal ones the lesser number, or None"""
    ranked = sorted((-ahead, number) for number, ahead in votes.items())
    if not ranked:
        return None
    second = -ranked[1][0] if len(ranked) > 1 else 0
    return None if -ranked[0][0] < max(2 * second, least_of(ranked[0][1])) else ranked[0][1]


def taxon_of(section, mates):
    """the number of the taxon that a fragment is called, or None"""
    if max(map(len, mates)) <= 512:
        return Fragment(section, mates).taxon()
    votes, families, lowest, least = collections.Counter(), collections.Counter(), {}, 0
    for mate in mates:
        for at in range(0, len(mate), 300):
            two = Fragment(section, [mate[at:at + 150], mate[at + 150:at + 300]], True)
            best, points, second = two.rank()
            genus, near, far = two.nearest()
            least += 20
            if best is not None:
                votes[best] += points - second
                for number, ahead in ((best, 0), (genus, max(0, min(near - far, two.kinship(genus))))):
                    family = section.genera[number][1] or -1 - number
                    lowest[family] = min(number, lowest.get(family, number))
                    families[family] += ahead
    best = first_of(votes, lambda genus: least + section.genera[genus][2] * SHARE // 100)
    if best is not None:
        return section.genera[best][3]
    of = {genus: family for family, genus in lowest.items()}
    best = first_of({lowest[family]: ahead for family, ahead in families.items()}, lambda _: least + KINSHIP)
    return of[best] if best is not None and of[best] > 0 else None


def compare_section(path, taxonomy, *genomes):
    db = Database(path)
    section = Section(db)
    refs = [record for genome in genomes for record in records(genome)]
    code_of = {int(row[0]): int(row[6]) for row in dump_rows(taxonomy, "nodes.dmp") if len(row) > 7}
    made = make(db, [(name, "".join(c if c in CODE else "N" for c in seq.upper())) for name, seq in refs],
                section.k, called_by_genus(db, taxonomy), code_of)
    if made != section.data:
        at = next((i for i, (a, b) in enumerate(zip(made, section.data)) if a != b), None)
        print(f"{len(made)} bytes, not {len(section.data)}; the first that differs is {at}")
        return 1
    return 0


def compare_calls(path, calls, files):
    db = Database(path)
    section, tree, found = Section(db), Tree(db.taxa), 0
    number = {taxon[0]: i for i, taxon in enumerate(db.taxa)}
    reads = zip(*(records(file) for file in files))
    with open(calls) as lines:
        for line, mates in zip(lines, reads):
            status, name, taxid, _, column = line.rstrip("\n").split("\t")
            if status == "C" and (not column.startswith(taxid + ":0") or
                                  db.up_to(number[int(taxid)], SPECIES)):
                continue
            mates = [seq for _, seq in mates]
            taxon = tree.raised(taxon_of(section, mates))
            want = 0 if taxon is None else db.taxa[taxon][0]
            found += want != 0
            if want != int(taxid):
                print(f"{name}: {taxid}, not {want}")
                return 1
    print(f"{found} calls")
    return found == 0


# --- the sample ----------------------------------------------------------------------


class Sample:
    """What is said of the fragments of a sample together"""

    def __init__(self, db, section):
        self.s, self.tree = section, Tree(db.taxa)
        self.family = collections.Counter(g[1] for g in section.genera if g[1])
        self.weak, self.firm, self.calls = (collections.Counter() for _ in range(3))
        self.alike = collections.defaultdict(lambda: [0, 0])
        self.at, width = collections.defaultdict(list), collections.Counter()
        for (begin, end, genus), species in zip(section.parts, section.species):
            width[species] += (end - begin) * (genus is not None)
        self.width = {species: bases // 64 + 1 for species, bases in width.items()}

    def add(self, fragment):
        """what is said of it"""
        place, of_genus, of_family = said = fragment.grades()
        if not of_genus:
            return said
        genus, family = self.s.genera[place][0], self.s.genera[place][1]
        if of_genus >= 2 or of_family >= 2:
            species, at, *like = fragment.likeness(place)
            self.at[species].append(at // self.width[species] % 64)
        for taxon, grade in ((genus, of_genus), (family, of_family)):
            self.weak[taxon] += grade >= 1
            self.firm[taxon] += grade >= 2
            if grade >= 2:
                self.alike[taxon] = [a + b for a, b in zip(self.alike[taxon], like)]
        taxon = self.tree.raised(self.s.taxon(*said))
        if taxon is not None:
            self.calls[taxon] += 1
        return said

    def agrees(self, taxon, below):
        share = 68 if taxon in self.family else 55
        hit = sum(len(set(self.at[species])) for species in below if species in self.at)
        expected = sum(256 * 64 * len(x) // (64 + len(x)) for x in map(self.at.get, below) if x)
        return (taxon != 0 and self.firm[taxon] >= 20 and 100 * self.firm[taxon] >= share * self.weak[taxon] and
                256 * 100 * hit >= 50 * expected)

    def judge(self, below, there):
        """there: species that are in the sample"""
        self.agreed = {taxon for taxon in self.firm if self.agrees(taxon, below(taxon))}
        self.dropped = {taxon for taxon, n in self.calls.items()
                        if n < 10 and taxon not in self.agreed and not there & set(below(taxon))}

    def called_from(self, family):
        """the least grade that is called the family if the sample agrees on it"""
        weakly = 100 * self.firm[family] >= 80 * self.weak[family]
        return 1 if self.family[family] > 1 and weakly else 2

    def end(self, said):
        place, of_genus, of_family = said
        now = self.tree.raised(self.s.taxon(*said))
        if 0 < of_genus < 3 and self.s.genera[place][0] in self.agreed:
            return self.tree.raised(self.s.genera[place][3])
        family = self.s.genera[place][1] if of_family else None
        if now is None and family in self.agreed and of_family >= self.called_from(family):
            return family
        return None if now in self.dropped else now


def compare_sample(path, first, final, profile, files):
    db = Database(path)
    section = Section(db)
    sample, said = Sample(db, section), []
    def below(taxon):
        return range(taxon, db.taxa[taxon][2])

    with open(first) as lines:
        for line, mates in zip(lines, zip(*(records(file) for file in files))):
            status, _, taxid, _, column = line.rstrip("\n").split("\t")
            other = status == "C" and not (column + " ").startswith(taxid + ":0 ")
            said.append(None if other else sample.add(Fragment(section, [seq for _, seq in mates])))
    with open(profile) as lines:
        table = [line.rstrip("\n").split("\t") for line in lines][1:]
    rows = {int(row[10]): row for row in table if row[9] == "0" and row[10] != "0"}
    number = {taxon[0]: i for i, taxon in enumerate(db.taxa)}
    known = {number[int(row[9])]: float(row[3]) for row in table if row[9] != "0"}
    sample.judge(below, {number[int(row[9])] for row in table if row[11] in ("present", "divergent")})
    changed = 0
    with open(first) as olds, open(final) as news:
        for old, new, x in zip(olds, news, said):
            if x is None:
                continue
            taxon, have = sample.end(x), int(new.split("\t")[2])
            want = 0 if taxon is None else db.taxa[taxon][0]
            by_features = not new.rstrip("\n").split("\t")[4].split(" ")[0].endswith(":0")
            if want != have and not (have and by_features):
                print(f"{new.split(chr(9))[1]}: {have}, not {want}")
                return 1
            changed += old.split("\t")[2] != new.split("\t")[2]
    want = {}
    for taxon in sample.agreed:
        n = sample.weak[taxon]
        if taxon in sample.family:
            genera = sum(sample.weak[x] for x in below(taxon)[1:] if x in sample.agreed - set(sample.family))
            n = sample.weak[taxon] if sample.called_from(taxon) == 1 else sample.firm[taxon]
            n = n - genera if n >= 2 * genera else 0
        if n and 8 * n >= known[taxon]:
            codons, same = sample.alike[taxon]
            near = sorted((-len(sample.at[x]), x) for x in below(taxon) if x in sample.at)[:2]
            want[db.taxa[taxon][0]] = [f"{n:.2f}", f"{100 * same / codons:.1f}",
                                       [db.taxa[x][0] for _, x in near]]
    have = {taxid: [row[3], row[7], [int(name.split()[-1]) for name in row[8].split("nearest to ")[1].split(", ")]]
            for taxid, row in rows.items()}
    if have != want:
        print(f"unknown ones are {have}, not {want}")
        return 1
    print(f"{len(want)} unknown ones, {changed} calls changed")
    return not want or not changed


def main():
    command, path, *rest = sys.argv[1:]
    if command == "sample":
        sys.exit(compare_sample(path, *rest[:3], rest[3:]))
    sys.exit(compare_section(path, *rest) if command == "section" else compare_calls(path, rest[0], rest[1:]))


if __name__ == "__main__":
    main()
