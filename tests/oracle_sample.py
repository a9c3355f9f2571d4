#!/usr/bin/env python3
"""oracle_sample.py - the sample in kmerhash-method(7), naively, against lines and a profile

    oracle_sample.py DATABASE.khdb CALLS.tsv PROFILE.tsv [--keep] [--page PAGE] READS [MATES]

exits 0 if all lines and rows, and the coverage in PAGE, are what the manual says; --keep: of a run
without --sample-pass.
Distinct features are an estimate, and are passed over.
"""
import csv
import functools
import math
import sys
from collections import Counter, defaultdict
from operator import mul

from oracle_classify import Classifier, Rule, line_of
from oracle_db import PLACES, Database
from oracle_sampling import fmix64, fragments, lines_of, reverse_complement, same_lines
from page_data import page_data

T = [round(65536 * math.log2(1 + i / 256)) for i in range(257)]
E = [round(2 ** 24 * 2 ** (i / 256)) for i in range(257)]
D = (1, 3, 6, 10, 15, 20, 30, 40, 50, 60, 70, 85, 100, 120, 150, 190, 240, 300,
     50, 60, 65, 70, 77, 85, 100, 120)  # the latter ones even
JUNK, ONE, PERCENT, DROP, DROP_LONG, FAMILY, GENUS = 17, 1 << 20, 10485, 283644, 18910, 26, 30
EVEN = 99 * PERCENT
CHANCE = [round(2 ** 24 * 10 ** (-q / 10)) for q in range(10)]
# superkingdom, domain, kingdom, phylum, class, order, family, genus, species
LETTERED = {4, 5, 8, 11, 15, 21, 26, 30, 38}
NEAR = {21, 26, 30}  # order, family, genus
THERE = ("present", "divergent")
RELATIVE, SHARED = "reads of a relative that is not in the database", "shared with a relative"
NARROW, FEW = "in few places only", "too few reads to judge"
DETECTED = ("-", "no", "low", "yes")
# Of a profile, in the order that Sample.rows has them.
COLUMNS = ("parent", "reads_first", "reads_final", "reads", "distinct_reads", "reads_percent", "bases_percent",
           "abundance_percent", "detected", "identity_percent", "identity_low", "identity_high",
           "stretches", "stretches_expected", "features_percent", "verdict", "why")
LEAST = {2: 100000, 2157: 400000, 2759: 2000000}  # bases of a genome, by taxid of the domain


def lb(x):
    b = x.bit_length() - 1
    i, r = divmod((x << 16 >> b) - 65536, 256)
    return b * 65536 + T[i] + (T[i + 1] - T[i]) * r // 256


def pw(y):
    q = -(-y // 65536)
    i, r = divmod(65536 * q - y, 256)
    return E[i] + (E[i + 1] - E[i]) * r // 256 >> q if q < 64 else 0


# --- shapes -------------------------------------------------------------------------
class Shapes:
    def __init__(self, db, many):
        self.db = db
        self.chances = [self.chances_of(d, 1000 + 18 * d if x <= JUNK else 400000 // d) for x, d in enumerate(D)]
        self.found = self.walks(max((n for n in many if many[n]), default=0))
        self.f = [[1] * 160 for x in range(len(D))]
        self.seen = [[65536] * 5 for _ in D]
        for size in range(4):
            ns = [n for n in range(8 << size, min(16 << size, 128)) if many[n]]
            total = sum(many[n] for n in ns)
            parts = [self.outcomes(n) for n in ns]
            for x in range(len(D)) if ns else ():
                self.seen[x][size] = sum(many[n] * p[x][1] for n, p in zip(ns, parts)) // total
                for j in range(32):
                    f = sum(many[n] * p[x][0][j] for n, p in zip(ns, parts)) // total
                    self.f[x][32 * size + j] = max(1, min(65535, f))

    def chances_of(self, d, a):
        ts = range(1, 81, 2)
        y = [(a * t * 94548 - 16 * (a - 1000) * (lb(t) - 262144)) // 16000 for t in ts]
        sums = [0] * 64
        for t, yt in zip(ts, y):
            for e, weight in ((3, 89), (20, 8), (40, 3)):
                p = pw(Rule.KMER * (lb(16000000) - lb((16000 - min(d * t, 12000)) * (1000 - e))))
                sums[min(63, p >> 18)] += pw(yt - min(y)) * weight
        return [x * 2 ** 24 // sum(sums) for x in sums]

    def steps(self):
        """Parts of a feature, and the weights of the next one 0, 1 and 2 parts further"""
        most, b = Rule.KMER << 17, Rule.STEP << 16
        m = min(4, most // b)
        v = (b * m << 16) // most
        two = v * v >> 16
        one = 2 * (v - two)
        return m, (65536 - one - two, one, two)

    def seeds(self, m):
        """Parts of a seed, and the logarithm of the chance that none ends in a part"""
        db, k = self.db, Rule.KMER
        a, c = (db.k - db.s + 1, 1) if db.scheme == 1 else (db.stride, db.s)
        b = (a << 48) // c // (2**32 - db.least)
        return min(12, -(-db.k * m // k)), (lb(b) - lb(max(1, b - 65536))) * k // m

    def walks(self, most):
        """[n][g][h]: h features of n found"""
        m, steps = self.steps()
        run, none = self.seeds(m)
        seen = self.walk(most, m, steps, m, lambda *_: 2**24)
        missed = self.walk(most, m, steps, max(m, run), lambda j, t: pw(none * min(t, max(0, j - run + 1))))
        return [[x and [p - q for p, q in zip(x, y)] for x, y in zip(*at)] for at in zip(seen, missed)]

    def walk(self, most, m, steps, top, without):
        """the same, of what has none of the seeds that may end where a run of parts without a difference grew"""
        found = [[None] * 64 for _ in range(most + 1)]
        for g in range(64):
            loss = (458752 - lb(2 * g + 1)) // m
            same = [pw(i * loss) for i in range(5)]
            move = [[0] * (top + 1) for _ in range(top + 1)]
            for i in range(top + 1):
                for t, weight in enumerate(steps):
                    move[i][min(top, i + t)] += (weight * same[t] >> 16) * without(i + t, t) >> 24
                    for u in range(t):
                        move[i][u] += weight * (same[u] - same[u + 1]) >> 16
            now = [[256 * (same[i] - same[i + 1]), 0] for i in range(m)]
            now += [[0, 256 * same[m] * without(m, m) >> 24]] + [[0, 0] for _ in range(m, top)]
            for n in range(1, most + 1):
                found[n][g] = [sum(x >> 8 for x in at) for at in zip(*now)]
                now = [[0] * (j >= m) + [sum(w * x for w, x in zip(into, at) if w) >> 24 for at in zip(*now)] +
                       [0] * (j < m) for j, into in enumerate(zip(*move))]
        return found

    def outcomes(self, n):
        """For each D: by share, and how much is seen"""
        b = list(zip(*self.found[n]))
        out = []
        for chances in self.chances:
            p = {h: sum(x * y for x, y in zip(chances, b[h])) >> 24 for h in range(2, n + 1)}
            shares, total = [0] * 32, sum(p.values())
            for h, x in p.items():
                shares[min(31, 32 * h // n)] += x
            out.append(([(x << 16) // total if total else 0 for x in shares], total >> 8))
        return out


# --- fits ---------------------------------------------------------------------------
class Mixture:
    def __init__(self, shapes, weights):
        self.shapes, self.weights = list(shapes), list(weights)

    def run(self, f, cells, rounds):
        total = sum(cells.values())
        columns = [([f[x][cell] for x in self.shapes], many) for cell, many in cells.items()]
        for _ in range(rounds):
            sums = [0] * len(self.shapes)
            for column, many in columns:
                inverse = 2 ** 63 // sum(map(mul, self.weights, column))
                for i, density in enumerate(column):
                    sums[i] += (self.weights[i] * density * inverse >> 47) * many
            new = [max(1, 16 * s // total) for s in sums]
            if new == self.weights:
                break
            self.weights = new
        self.like = sum(many * (lb(sum(map(mul, self.weights, column))) - (36 << 16)) for column, many in columns)
        return self


def best_of(f, cells, starts):
    tried = [Mixture(*start).run(f, cells, 8) for start in starts]
    tried = sorted(tried, key=lambda m: -m.like)[:6]
    return max([m.run(f, cells, 52) for m in tried], key=lambda m: m.like)


def at_rank(many, rank):
    """The share, in 256ths of a 32th, that so many fragments are below"""
    for j, x in enumerate(many):
        if rank < x:
            return 256 * j + 256 * rank // x + 1
        rank -= x
    return 8192


def under_share(many, share):
    j = share // 256
    return sum(many[:j]) + (many[j] * (share % 256) // 256 if j < 32 else 0)


def nearest(k, best, share):
    """The shape whose divergence takes `best` to `share`"""
    loss = lb(best) - lb(share) if share < best else 0
    x = 0
    while x + 1 < JUNK and 2 * loss >= k * (2 * lb(1000) - lb(1000 - D[x]) - lb(1000 - D[x + 1])):
        x += 1
    return x


class Fit:
    by_long = False

    def __init__(self, f, cells):
        self.n, self.long = sum(cells.values()), sum(x for cell, x in cells.items() if cell >= 128)
        self.short, self.own_long, self.one, self.even = self.n - self.long, 65536, (0, 0), None
        self.few = self.short < 1280
        if self.few:
            self.shapes, self.weights, self.stands = [6, JUNK], [ONE // 2] * 2, True
            self.low, self.high, self.weak = 6, 6, False
            return
        cells = dict(sorted((cell, x) for cell, x in cells.items() if cell < 128))
        one, even = (best_of(f, cells, [((a, JUNK), (90 * PERCENT, 10 * PERCENT)) for a in those])
                     for those in (range(JUNK), range(JUNK + 1, len(D))))
        self.one = one.shapes[0], one.weights[0]
        self.even = self.find_even(f, cells)
        d, w = D[one.shapes[0]], one.weights[0]
        alone = (d <= 30 and w >= 83880) or (d <= 40 and w >= 366975) or (d <= 70 and w >= 838800)
        near = d <= 10 and w >= 891225
        farther = max(70, d + 20 if alone else 0)
        kinds = {"wide": [], "even": [], "wider": []}
        for a in range(JUNK):
            for b in range(a + 1, len(D)):
                if D[a] > 40 or b == JUNK:
                    continue
                if b > JUNK:
                    kind = "even" if D[b] >= max(60, D[a] + 40) else None
                elif D[b] >= max(farther, D[a] + 40):
                    kind = "wide"
                else:
                    kind = "wider" if D[b] >= max(50, D[a] + 20) else None
                if kind:
                    kinds[kind].append(((a, b, JUNK), (50 * PERCENT, 40 * PERCENT, 10 * PERCENT)))
        two = {kind: best_of(f, cells, starts) for kind, starts in kinds.items()}

        def better(m, other, each):
            return m.like - other.like > 242044895 + each * self.short
        pair = False
        for kind, each in ("wide", 1701), ("even", 189):
            mine = two[kind]
            enough = mine.weights[0] >= 104850 or (not alone and self.short * mine.weights[0] >> 20 >= 5120)
            if enough and better(mine, one, 4727 if near else each) and better(mine, even, 189) and \
                    (kind == "wide" or better(mine, two["wider"], 189)) and (not pair or mine.like > pair.like):
                pair = mine
        clear = pair and pair.weights[0] >= 104850
        if d <= 70 and w >= 629100 and two["wide"].like - one.like <= 567 * self.short:
            alone = True
        m = pair or one
        self.stands = bool(pair) or alone
        self.weak = not clear if pair else alone and (w < 314550 or (d > 30 and w < 524250))
        self.shapes, self.weights = m.shapes, m.weights
        self.low, self.high = self.interval(f, cells, m)

    def find_even(self, f, cells):
        """The shape of nearly all, if one explains them nearly as well as with the weight that it has"""
        shape, weight = self.one
        if weight >= EVEN:
            return shape
        one = Mixture((shape, JUNK), (weight, ONE - weight)).run(f, cells, 0)
        even = max((Mixture((a, JUNK), (EVEN, ONE - EVEN)).run(f, cells, 0) for a in range(JUNK)), key=lambda m: m.like)
        return even.shapes[0] if even.like + 46472888 >= one.like else None

    def keep(self, weight):
        """Only so many fragments, which are near, are the species' own."""
        self.shapes, self.weights, self.stands = [6, JUNK], [weight, ONE - weight], True
        self.few, self.low, self.high = True, 6, 6

    @staticmethod
    def interval(f, cells, m):
        ends, top = [], D[m.shapes[1]]
        for step in (-1, 1):
            at = m.shapes[0]
            while 0 <= at + step < JUNK and D[at + step] < top:
                other = Mixture([at + step] + m.shapes[1:], m.weights).run(f, cells, 8)
                if other.like + 46472888 < m.like:
                    break
                at += step
            ends.append(at)
        return ends

    @property
    def own(self):
        near = self.long * self.weights[0] >> 20 if self.by_long else self.long
        short = self.short * self.weights[0] >> 20
        return short + (near * self.own_long >> 16) if self.stands else 0

    def parts(self, f, cell):
        """o and r"""
        if cell >= 128:
            mine = self.n * self.own_long >> 16 if self.stands else 0
            return mine, self.n - mine
        x = [(self.short * w >> 20) * f[s][cell] for s, w in zip(self.shapes, self.weights)]
        return (x[0], sum(x[1:])) if self.stands else (0, sum(x))


# --- the sample ---------------------------------------------------------------------
class Sample:
    def __init__(self, db, change):
        self.db, self.change = db, change
        self.classifier = Classifier(db, 0)
        self.classifier.with_candidates = True
        self.tree = self.classifier.tree
        self.classes, self.direct, self.many = Counter(), Counter(), Counter()
        self.bases_called, self.all_bases = Counter(), 0
        self.places, self.fragments, self.lengths = defaultdict(set), [], {}
        self.costs, self.refuted, self.rival, self.sure, self.own_long = None, set(), {}, {}, {}
        self.told, self.cover, self.borne, self.steady = {}, {}, {}, set()
        self.errors_leave = 0
        self.parts, self.placed = defaultdict(Counter), Counter()

    def candidates(self, whole, h):
        """Species and how far they are behind: by mismatches, or by the odds that parts give them"""
        h1, reach = max(h.values()), 3 if whole else 32
        behind = {s: (h1 - x + 1) // 2 if whole else h1 - x for s, x in h.items()}
        while reach > 0 and sum(x <= reach for x in behind.values()) > 12:
            reach -= 1
        near, best = [s for s in h if behind[s] <= reach], {}
        for s in near:
            species = self.tree.species[s]
            if species is None:
                return None
            best[species] = min(best.get(species, behind[s]), behind[s])
        return tuple(sorted(best.items())) if len(best) <= 12 else None

    def call(self, mates):
        """(n, h1, call, whether it is one segment, h of candidates, bin)"""
        n, whole, call, hits, h, at = self.classifier.fragment(mates, self.classifier.rule.NEARBY)
        return n, hits, call, whole, h, at

    def add(self, name, mates):
        n, h1, call, whole, h, most = self.call(mates)
        found = self.candidates(whole, h) if h else None
        how = self.classifier.mates if whole and found and len(found) == 1 else 0
        key = None
        if found and n >= 8 and h1 >= 2:
            cell = 32 * (min(n, 128).bit_length() - 4) + min(31, 32 * h1 // n)
            best, there = [s for s, drop in found if drop == 0], None
            if most is not None:
                there = self.tree.species[self.db.targets[self.db.target_of(most)][1]]
            enough = h1 >= max(3, n >> 6)
            key = (found, cell, call, best == [there], enough, how)
            self.classes[key] += 1
            self.many[n if n < 128 else 0] += 1
            if best == [there]:
                self.placed[key] += 1
                self.mark(key, most, there)
        elif call is not None:
            self.direct[call] += 1
        self.fragments.append((name, mates, n, h1, call, key))
        self.bases_called[call] += sum(map(len, mates))
        self.all_bases += sum(map(len, mates))

    def mark(self, key, bin, species):
        """One of its own that begins in this bin"""
        (_, cell, call, *_), of = key, self.db.kept[self.db.stretch_of(bin)]
        target, behind = of[0], of[1] + bin - of[2]     # so far behind its beginning
        self.places[target, behind // 8].add(cell % 32)
        if call is not None and self.tree.species[call] == species:
            self.parts[target][self.part(target, behind)] += 1

    def n_parts(self, target):
        return min(100, self.db.targets[target][2] // (8 * self.db.stride) + 1)

    def part(self, target, behind):
        n = self.n_parts(target)
        return min(n - 1, behind * n // (self.db.targets[target][2] // self.db.stride + 1))

    def coverage(self):
        """As the page has it: by taxid, of species with the most located fragments."""
        by_species, spectra = defaultdict(list), defaultdict(Counter)
        for key, many in self.classes.items():
            best = [s for s, drop in key[0] if drop == 0]
            if self.placed[key] and key[2] is not None and [self.tree.species[key[2]]] == best:
                spectra[best[0]][key[1] % 32] += many
        for target, parts in self.parts.items():
            by_species[self.tree.species[self.db.targets[target][1]]].append((-sum(parts.values()), target))
        out = {}
        for species, targets in by_species.items():
            out[str(self.db.taxa[species][0])] = {
                "reads": sum(spectra[species].values()),
                "references": [{"id": self.db.ids[t], "bases": self.db.targets[t][2], "reads": -many, "bins": [
                    self.parts[t][i] for i in range(self.n_parts(t))]} for many, t in sorted(targets)[:3]],
                "identity": [spectra[species][j] for j in range(32)]}
        return out

    def read_qualities(self, paths):
        """Of the features of long reads, what errors leave, in 2^24ths"""
        shares, seen = [], set()
        for path in paths:
            lines = lines_of(path)
            for text in lines[3::4] if lines and lines[0][:1] == "@" else ():
                if len(text) >= 1000:
                    qualities = [min(93, max(0, ord(c) - 33)) for c in text[::16]]
                    e = sum(CHANCE[q % 10] // 10 ** (q // 10) for q in qualities) // len(qualities)
                    shares.append(pw(Rule.KMER * ((24 << 16) - lb((1 << 24) - e))) if e < 1 << 24 else 0)
                    seen.add(e)
        self.errors_leave = sum(shares) // len(shares) if len(seen) > 1 else 0

    def set_lengths(self):
        last, total, self.bases, self.sequences = None, None, Counter(), Counter()
        for (_, taxon, bases, _, _), name in zip(self.db.targets, self.db.ids):
            name = name.split(".")[0]
            digits = len(name) - len(name.rstrip("0123456789"))
            head = name[:len(name) - min(12, digits)]
            here = (taxon, head, int(name[len(head):] or -1))
            follows = last and digits and last[0] == here[0] and last[1] == here[1] and last[2] + 1 == here[2]
            total = total + bases if follows else bases
            last, species = here, self.tree.species[taxon]
            if species is not None:
                self.bases[species] += bases
                self.sequences[species] += 1
                self.lengths[species] = max(self.lengths.get(species, 2), total // (8 * self.db.stride))
        strains = Counter()
        for _, taxon, bases, _, _ in self.db.targets:
            strains[taxon] += bases
        self.least = dict(self.lengths)
        for taxon, bases in strains.items():
            s, length = self.tree.species[taxon], bases // (8 * self.db.stride)
            if s is not None and 2 * length >= self.lengths[s]:
                self.least[s] = min(self.least[s], length)

    def cost(self, cell, call, s, drop, other=0):
        if cell < 128:
            return drop * DROP
        now = None if call is None else self.tree.species[call]
        return drop * DROP_LONG + (self.costs[s][other][s != now] if self.costs else 0)

    @staticmethod
    def costs_of(share):
        return [1048576 - lb(min(63488, max(2048, x))) for x in (share, 65536 - share)]

    def tell(self):
        """How many of their long fragments are species' own, and what that one is told says of it"""
        long, self.costs = Counter(), {}
        for (_, cell, call, *_), many in self.classes.items():
            if cell >= 128 and call is not None:
                long[self.tree.species[call]] += many
        for s, fit in self.fits.items():
            share = self.told[s] = self.asked[s][1]
            fit.own_long = self.own_long[s] = self.own_of(fit.long, long[s], share)
            self.costs[s] = self.costs_of(share or 32768), self.costs_of(27307 if share else 32768)
            if 2 * fit.long > fit.n and fit.long >= 1280 and self.own_long[s] < 10923:
                self.refuted.add(s)

    @staticmethod
    def own_of(every, told, share):
        """The share of its own long fragments, if so many are told of it"""
        if every == 0 or share == 0:
            return 65536
        mine, most = (told << 24) // every, min(share, 63488)
        if max(0, most - mine) ** 2 <= 4 * (most * (65536 - most) // 32 + most * (65536 - most) * 256 // every):
            return 65536
        return max(0, (mine << 16) // share - 27307 << 16) // (65536 - 27307)

    # --- over how much of its genome a species lies -----------------------------------
    def find_cover(self):
        """(fragments, share of the genome, what that is off, part of what is there, perfect ones alone)"""
        for s, n in self.lone_ones.items():
            alone, sole = self.asked[s][0], self.asked[s][2]
            share = self.share_of(s, n, self.shift(s), self.tracts(s, self.shift(s)))
            every = sum(x for cell, x in self.cells[s].items() if cell < 128 and cell % 32 >= 6)
            alike = sum(map(sum, alone)) * 1024 // 256
            part = min(2 ** 32 - 1, (n << 8) * 1024 // every * 1024 // alike) if every and alike else 0
            self.cover[s] = n, share, math.isqrt(686 * 686 // n), part, alike
            (one, weight), off = self.fits[s].one, self.cover[s][2]
            if n >= 40 and alike >= 52 and not self.is_clear(s, n, every):
                self.borne[s] = self.fits[s].short * min(4096, part) // 1024
            whole = D[one] <= 3 and weight >= EVEN and share >= 973 + 2 * off
            as_it_is = weight >> 4 >= 55705 and alike >= 922 and \
                (D[one] <= 3 or (D[one] <= 10 and sole * 1024 >= 922 * 256))
            if n >= 40 and alike >= 52 and not as_it_is and len(self.fits[s].shapes) == 2 and \
                    (min(1024, share + off) * min(1024, part) < 676 * 1024 or self.lacks_genes(s, n) or
                     (self.lead(s, n) < 573 and not whole)):
                self.refuted.add(s)

    def is_clear(self, s, n, every):
        """Would it stand, and lie all over its genome, if all perfect reads were its alone? Then the text is not asked"""
        f, shift, off = self.fits[s], self.shift(s), math.isqrt(686 * 686 // n)
        share = self.share_of(s, n, shift, self.tracts(s, shift), []) - 1
        part = (n << 8) * 1024 // every if every else 0
        return not f.few and len(f.shapes) == 2 and f.stands and f.long < 1280 and D[f.one[0]] < 40 and \
            share >= 881 + off and min(1024, share + off) * min(1024, part) >= 676 * 1024 and \
            self.sole_ones[s] * 1024 // n >= 573

    def tracts(self, s, shift):
        """So many tracts of 2^shift stretches have any"""
        return len({(target, at >> shift) for (target, at), shares in self.places.items()
                    if self.tree.species[self.db.targets[target][1]] == s and max(shares) >= 6})

    def lacks_genes(self, s, n):
        """Of a species that is far from its reference: does it lack genes that strains have?"""
        if n < 40 or D[self.fits[s].one[0]] < 40 or self.is_even(s):
            return False
        apart = sum(d * many for d, many in self.apart[s].items())
        may = apart // 3200 + 2 * apart * self.sequences[s] // self.bases[s]
        sought = apart <= 512 * sum(self.apart[s].values())
        if sought and self.one_mates[s] > may + math.isqrt(may):
            return True
        has_genes = sought and self.one_mates[s] + 2 * math.isqrt(may) < may
        shift, length = 0, self.least[s] * max(1024, self.cover[s][1]) // 1024
        while shift < self.shift(s) and 8 * self.db.stride << shift + 1 <= 512:
            shift += 1
        (one, weight), short = self.fits[s].one, {c: x for c, x in self.cells[s].items() if c < 128}
        seen = max(1, sum(x * self.shapes.seen[one][cell // 32] for cell, x in short.items()) // sum(short.values()))
        depth, are = min(64 << 20, (n << shift << 20) // length), n - self.tracts(s, shift)
        even, far = weight >= EVEN, 1 + 1024 * seen // (65536 + 320 * D[one])
        may, every = (max(0, n - (length * self.hit(s, depth, a) >> 34 + shift)) for a in (896 if even else far, 1024))
        alike = 61 if even else (1024 if has_genes else weight >> 10) + 4 * D[one] - 890
        return every > 1 and 3072 * (are - may) > (every + 60) * alike

    def is_even(self, s):
        """All of its genes are there, and are as far"""
        n, share, off, *_ = self.cover.get(s, (0, 0, 0))
        return not self.fits[s].by_long and n >= 40 and self.fits[s].even is not None and share + 2 * off >= 973

    def count_lone(self):
        """Short fragments of which a species is the best alone, with a place, which is no chance"""
        self.lone_ones, self.sole_ones, self.one_mates, self.apart = Counter(), Counter(), Counter(), defaultdict(Counter)
        for (found, cell, call, located, _, how), many in self.classes.items():
            if located and cell < 128 and len(found) == 1 and call is not None and self.tree.species[call] == found[0][0]:
                self.one_mates[found[0][0]] += many if how == 1 else 0
                self.apart[found[0][0]][128 * (how - 2) + 64] += many if how > 1 else 0
            if located and cell < 128 and cell % 32 >= 6:
                self.lone_ones[next(s for s, drop in found if drop == 0)] += many
                self.sole_ones[found[0][0]] += many if len(found) == 1 else 0

    def lead(self, s, n):
        """Of those, the ones that no other species is near, of as many as of perfect reads"""
        alone, _, sole = self.asked[s]
        alone = sum(map(sum, alone))
        return 1024 if sole * 1024 < 52 * 256 else self.sole_ones[s] * 1024 * alone // sole // n

    def shift(self, s):
        """A tract is 2^shift stretches"""
        n, length, shift = self.lone_ones[s], self.lengths[s], 0
        while n and 2 * (n << shift) < 3 * length and length >> shift > 4:
            shift += 1
        return shift

    def share_of(self, s, n, shift, tracts, alone=None):
        """The least share that explains so many tracts that have any"""
        length = self.lengths[s]
        depth, found = min(64 << 20, (n << shift << 20) // length), ((tracts << shift << 20) // length) << 14
        low, high = 0, 4096
        while high - low > 1:
            a = (low + high) // 2
            low, high = (a, high) if self.hit(s, depth, a, alone) < found else (low, a)
        return high

    def hit(self, s, depth, a, alone=None):
        """So many tracts have any, if it is all over the share a of them"""
        alone = self.asked[s][0] if alone is None else alone
        mean = sum(map(sum, alone))
        places, mean = ([len(alone) * sum(of) for of in alone], mean) if mean else ([1], 1)
        return a * sum(2 ** 24 - pw(94548 * depth * u // (mean * a << 10)) for u in places) // len(places)

    def lies_over(self, s, share):
        n, covers, off, *_ = self.cover.get(s, (0, 0, 0))
        return not self.fits[s].by_long and n >= 40 and covers >= share + off

    def rescue(self, s, f):
        """Is it a strain that is far, but all over its genome?"""
        little = len(f.shapes) == 3 and f.weights[0] < ONE // 20
        shape, weight = f.one
        if s not in self.refuted and not f.few and (not f.stands or little) and \
                (self.is_even(s) or (D[shape] <= 85 and weight >= ONE // 10 * 8 and self.lies_over(s, 881))):
            if self.is_even(s):
                shape, weight = f.even, max(weight, EVEN)
            f.stands, f.weak, f.low, f.high = True, False, shape, shape
            f.shapes, f.weights = [shape, JUNK], [weight, ONE - weight]

    def limit(self, s, f):
        """What ties gave it beyond what those bear out that are its alone is a relative's"""
        borne = self.borne.get(s, 0)
        if not f.few and len(f.shapes) == 2 and f.stands and not f.by_long and 0 < borne < f.short:
            weight = f.weights[0] * borne // f.short
            f.shapes = [f.shapes[0]] + f.shapes
            f.weights = [weight, f.weights[0] - weight, f.weights[1]]

    def give_back(self):
        """What ties gave a species is its own all the same where no species of the family is missing"""
        own, borne, refuted, total = Counter(), Counter(), Counter(), Counter()
        for s, f in self.fits.items():
            family = self.family(s)
            total[family] += f.short
            refuted[family] += 0 if f.stands else f.short
            first = sum(w for d, w in zip(f.shapes, f.weights) if d == f.shapes[0]) if f.stands else 0
            own[family] += f.short * first >> 20
            borne[family] += (self.borne.get(s, 0) or f.short) * first >> 20
        for s, f in self.fits.items():
            x = self.family(s)
            if 65536 * refuted[x] < 2048 * total[x] and 10 * borne[x] >= 9 * own[x] and \
                    len(f.shapes) == 3 and f.shapes[0] == f.shapes[1]:
                f.shapes, f.weights = f.shapes[1:], [f.weights[0] + f.weights[1], f.weights[2]]

    def is_steady(self, s, f):
        return self.verdict[s] in THERE and not f.few and len(f.shapes) == 2 and self.lies_over(s, 768) and \
            (f.weights[0] >= EVEN or (f.weights[0] >= ONE // 10 * 7 and D[f.shapes[0]] >= 3))

    # --- what the text says of a species' own reads -----------------------------------
    def places_of(self, s, lie):
        """32, spread evenly over its stretches: (stretch, base, bases from there on)"""
        sizes = [len(self.classifier.texts[i]) for i in lie]
        for j in range(32):
            at, which = sum(sizes) * (2 * j + 1) // 64, 0
            while at >= sizes[which]:
                at, which = at - sizes[which], which + 1
            yield lie[which], min(at, max(0, sizes[which] - 4096)), min(sizes[which], 4096)

    def short_reads(self, s, places):
        """of tracts that they are counted in"""
        many = [sum(self.cells[s].get(32 * size + j, 0) for j in range(32)) for size in range(4)]
        tract, size = 8 * self.db.stride << self.shift(s), many.index(max(many))
        for place in places:
            for starts in self.starts(place[2] - 400, tract):
                yield [self.short_read(place, size, x) for x in starts]

    def ask_all(self):
        """(the short reads of each tract, have they it alone as their best?; the share of long ones that is
        told; the short ones that no other species is near)"""
        self.asked, self.probed, lie = {s: ([], 0, 0) for s in self.fits}, {}, defaultdict(list)
        for i, text in enumerate(self.classifier.texts):
            if len(text) >= 2048:
                lie[self.classifier.species(i)].append(i)
        for s, fit in self.fits.items():
            if fit.n < 1280 or s not in lie:
                continue
            self.probed[s] = places = list(self.places_of(s, lie[s]))
            alone, told, sole = [], 0, 0
            if fit.short >= 1280 and self.lone_ones[s] >= 40:
                for reads in self.short_reads(s, places):
                    asked = [self.ask(s, read) for read in reads]
                    alone.append([x[1] for x in asked])
                    sole += sum(x[2] for x in asked)
            if fit.long >= 1280:
                told = 1 + 65534 * sum(self.ask(s, [read])[0] for read in self.long_reads(s, places)) // 32 // 5 * 4
            self.asked[s] = alone, told, sole

    def ask(self, s, mates):
        """Is it told, is that alone at the best, and is no other near?"""
        _, _, call, whole, h, most = self.call(mates)
        told = call is not None and self.tree.species[call] == s
        found = self.candidates(whole, h) if h else None
        alone = told and most is not None and bool(found) and [x for x, drop in found if drop == 0] == [s]
        return told, alone, alone and len(found) == 1

    @staticmethod
    def starts(most, tract):
        """Where short reads of a place begin, by tracts"""
        if tract >= 4096:
            return [[most * i // 8 for i in range(8)]]
        return [[most // 2 * half + min(tract, most // 2) * i // 4 for i in range(4)] for half in (0, 1)]

    def short_read(self, place, size, start):
        kmers = 12 << size if size < 2 else 6 << size
        n, (i, at, _) = 12 + 5 * (kmers - 1), place
        text = self.classifier.texts[i][at + start:][:400]
        return [text[:n]] if size < 2 else [text[:n], reverse_complement(text[-n:])]

    def long_reads(self, s, places):
        cells = [self.cells[s].get(128 + j, 0) for j in range(32)]
        share = 0
        while share < 31 and 2 * sum(cells[:share + 1]) < sum(cells):
            share += 1
        errors = 2 ** 24 - pw((lb(64) - lb(2 * share + 1)) // 12)
        for i, at, bases in places:
            read = ""
            for j in range(at, at + bases):
                x = fmix64(self.db.stretches[i][0] * self.db.stride + j + 1)
                base = self.classifier.texts[i][j]
                other = "ACGT"["ACGT".index(base) ^ (1 + (x >> 32) % 3)]
                what = 1 + (x >> 60) % 4 if x % 2 ** 24 < errors else 0
                read += (base, other, other, base + other, "")[what]
            yield read

    def as_rival(self, s, f):
        """What it has of fragments for others to tie with: of long ones, by those that are called it, which are all
        that a refuted one has; of others, what those bear out that are its alone, but of a refuted one no more than
        it has"""
        borne = self.borne.get(s, 0)
        share = self.told.get(s, 0)
        long = (self.called[s] << 16) // max(2048, share) if share else f.long
        long = self.called[s] if s in self.refuted else long
        return long + (f.short if not borne or (s in self.refuted and borne > f.short) else borne)

    def share_out(self, first):
        cells, called, of = defaultdict(Counter), Counter(), Counter()
        for s, f in () if first else self.fits.items():
            part = 0 if s in self.refuted else lb(max(1, f.own)) - lb(max(1, f.n))
            of[s] = part + lb(max(1, self.as_rival(s, f))) - lb(self.lengths[s])
        for (found, cell, call, *_), many in self.classes.items():
            now = None if call is None else self.tree.species[call]
            weights = [2 ** 23 - self.cost(cell, call, s, drop) + of[s] for s, drop in found]
            powers = [pw(max(weights) - w) for w in weights]
            for (s, _), power in zip(found, powers):
                share = 65536 * power // sum(powers)
                cells[s][cell] += 0
                if share >= 2048:
                    cells[s][cell] += many * share // 256
                    called[s] += many * share // 256 if s == now and cell >= 128 else 0
        self.called = called
        return {s: {cell: x for cell, x in c.items() if x} for s, c in cells.items()}

    def settle(self):
        """Up to six rounds, until what each species has of its own changes by no more than a fragment or 1/256"""
        for i in range(6):
            before = {s: f.own for s, f in self.fits.items()}
            self.cells = self.share_out(not before)
            self.fits = {s: Fit(self.shapes.f, c) for s, c in sorted(self.cells.items())}
            for s, share in self.own_long.items():
                self.fits[s].own_long = share
            if before and all(abs(f.own - before[s]) <= max(256, f.own >> 8) for s, f in self.fits.items()):
                break

    def fit(self):
        self.fits = {}
        self.set_lengths()
        self.cells = None
        self.shapes = Shapes(self.db, self.many)
        self.count_lone()
        self.settle()
        self.ask_all()
        self.find_cover()
        self.tell()
        self.settle()
        self.judge_long()
        for s, f in self.fits.items():
            self.rescue(s, f)
        self.verdict = {s: FEW if f.few else RELATIVE if not f.stands else
                        "divergent" if D[f.shapes[0]] > 40 else "present" for s, f in self.fits.items()}
        self.breadth()
        self.refute()
        self.steady = {s for s, f in self.fits.items() if self.is_steady(s, f)}
        for s, f in self.fits.items():
            self.limit(s, f)

    def judge_long(self):
        """How near species are whose fragments are nearly all long"""
        spectra = {s: [c.get(128 + j, 0) for j in range(32)] for s, c in self.cells.items()}
        lows = [at_rank(x, max(0, sum(x) // 2 - math.isqrt(256 * sum(x)))) for s, x in spectra.items()
                if sum(x) >= 1280 and self.fits[s].stands and s not in self.refuted]
        k = Rule.KMER
        errors = 8192 * self.errors_leave >> 24, 8192 * pw(k * (lb(1000) - lb(900))) >> 24
        best = max(*errors, *lows)
        self.near_long = (best * pw(k * (lb(1000) - lb(918))) >> 24) + 255 >> 8
        for s, x in spectra.items():
            total, f = sum(x), self.fits[s]
            if total < 1280 or f.n - total >= 1280:
                continue
            there, worst, beside = (best * pw(k * (lb(1000) - lb(i))) >> 24 for i in (918, 880, 970))
            under, near = under_share(x, there), total - under_share(x, beside)
            alone = 2 * under <= total
            two = not alone and near >= 1280 and 5 * near >= total
            start = under if two else 0
            median = at_rank(x, start + (total - start) // 2)
            own = total - (under_share(x, worst) if alone else under)
            f.by_long, f.few, f.weak, f.stands = True, False, False, f.stands and (alone or two)
            f.low, f.high = nearest(k, best, median), nearest(k, 8192, median)
            weight = (own << 20) // total
            f.shapes, f.weights = [f.low, JUNK], [max(1, weight), ONE - weight]

    def breadth(self):
        self.counted, self.lone, self.found, self.expected = Counter(), Counter(), Counter(), {}
        own, every, strains, as_fragments = {}, Counter(), {}, Counter()
        for s, f in self.fits.items():
            own[s] = set()
            strains[s] = self.bases[s] // (8 * self.db.stride) > PLACES * self.lengths[s]
            for j in range(32):
                cells = [(self.cells[s].get(32 * i + j, 0), f.parts(self.shapes.f, 32 * i + j)) for i in range(5)]
                if 2 * sum(x for x, (o, r) in cells if o > r) > sum(x for x, _ in cells):
                    own[s].add(j)
                    every[s] += sum(x for x, _ in cells)
        for key, many in self.classes.items():
            best, placed = [s for s, drop in key[0] if drop == 0], self.placed[key]
            if len(best) == 1 and key[1] % 32 in own[best[0]]:
                self.counted[best[0]] += placed
                as_fragments[best[0]] += 256 * many if key[3] else 0
                self.lone[best[0]] += many if placed or strains[best[0]] else 0
        for (target, _), shares in self.places.items():
            s = self.tree.species[self.db.targets[target][1]]
            if s in own and shares & own[s]:
                self.found[s] += 1
        for s in self.fits:
            g, n = self.lengths[s], self.counted[s]
            if strains[s] and as_fragments[s] < every[s]:
                g = max(2, g * as_fragments[s] // every[s])
            self.expected[s] = g * (2 ** 24 - (pw(94548 * n // g) if n < 64 * g else 0)) // 65536

    def family(self, species):
        return self.db.up_to(species, FAMILY) or self.tree.genus[species]

    def refute(self):
        most = Counter()
        for s, f in self.fits.items():
            most[self.family(s)] = max(most[self.family(s)], f.own)
        for s in self.fits:  # of equals the first
            self.rival[s] = min(r for r, f in self.fits.items()
                                if self.family(r) == self.family(s) and f.own == most[self.family(s)])
        gone = {}
        for s, f in self.fits.items():
            if s in self.refuted:
                gone[s] = RELATIVE
            elif self.verdict[s] == FEW:
                continue
            elif f.own > 0 and 2 * f.own < f.n and 32 * f.own < most[self.family(s)]:
                gone[s] = SHARED
            elif f.stands and self.counted[s] >= 5 and \
                    2560 * (self.found[s] + 1) < self.tenths(s, f, most) * self.expected[s]:
                gone[s] = NARROW
            elif f.weak and (self.lone[s] < 5 or 512 * self.lone[s] < f.own):
                gone[s] = RELATIVE
        called, near, not_far = self.near()
        self.called_first, self.near_first = called, near
        for s, verdict in gone.items():
            self.fits[s].stands = False
            self.verdict[s] = verdict
        for s, f in self.fits.items():
            self.is_near = (near[s] > 0 and 2 * near[s] >= called[s]) or \
                (self.found[s] > 1 and 0 < called[s] == not_far[s])
            copies = self.verdict[s] == NARROW and self.found[s] < 5 and self.counted[s] <= 16 * self.found[s]
            if self.is_near and s not in self.refuted and (copies or self.verdict[s] in (RELATIVE, SHARED)):
                self.verdict[s] = FEW
                f.keep(min(ONE - 1, ((near[s] or not_far[s]) << 28) // f.n if f.n else 0))
            self.sure[s] = self.how_sure(s, f)

    def near(self):
        """Fragments called each species, and those of them that are near, and that are not far"""
        called, near, not_far = Counter(), Counter(), Counter()
        least, less = (pw(Rule.KMER * (lb(1000) - lb(i))) * 32 >> 24 for i in (980, 950))
        for (found, cell, call, *_), many in self.classes.items():
            s = None if call is None else self.tree.species[call]
            called[s] += many
            near[s] += many if cell % 32 >= least and len(found) == 1 else 0
            not_far[s] += many if cell % 32 >= less and len(found) == 1 else 0
        return called, near, not_far

    def different(self, s):
        """Its own, as if those in one place were one, if there are more than by chance"""
        own, places, of = self.fits[s].own, 256 * self.found[s], self.expected[s]
        return own * places // of if places < of < 2 ** 32 else own

    def how_sure(self, s, f):
        """What the column `detected` has"""
        if self.verdict[s] == FEW:
            return "low" if self.is_near else "-"
        if self.verdict[s] not in THERE:
            return "no"
        low, high = D[f.low], D[f.high]
        weak = f.weak and not (self.found[s] >= 10 and 4 * self.near_first[s] >= 3 * self.called_first[s])
        if f.by_long:
            sure = self.different(s) >= 2432 and not weak and self.verdict[s] == THERE[0] and f.weights[0] >= ONE // 4 * 3
            return "yes" if sure else "low"
        sure = (self.different(s) >= 2432 and not weak and high - low <= 20 and high <= 70 and
                (high <= 20 or f.weights[0] >= ONE // 4 * 3))
        return "yes" if sure else "low"

    def tenths(self, s, f, most):
        """Of the stretches to be expected, those that have to be found."""
        if f.weak:
            return 8
        if self.found[s] < 20 or 32 * f.own < most[self.family(s)]:
            return 5 if f.by_long else 7
        return 2 if f.weights[0] >= 891280 and D[f.shapes[0]] <= 10 else 5

    def decide(self, key):
        found, cell, call, _, enough, _ = key
        own, other = [], []
        for s, drop in found:
            o, r = self.fits[s].parts(self.shapes.f, cell)
            x = 2 ** 23 - lb(self.lengths[s])
            own.append(x - self.cost(cell, call, s, drop) + lb(o) if o else None)
            other.append(x - self.cost(cell, call, s, drop, 1) + lb(max(1, r)))
        most = max(x for x in own + other if x is not None)
        own = [0 if x is None else pw(most - x) for x in own]
        total = sum(own) + sum(pw(most - x) for x in other)
        at = own.index(max(own))
        best, now = found[at][0], None if call is None else self.tree.species[call]
        sure = own[at] and sum(own) << 16 >= 49152 * total and 2 * own[at] >= sum(own)
        is_long, near = cell >= 128, cell >= 128 + self.near_long
        genus = self.tree.genus
        if sure and best != now and (now is not None or enough) and \
                (not is_long or (call is not None and near if now is None else genus[now] == genus[best])):
            return best
        if now in self.steady or (is_long and self.keeps_long(now, near)):
            return call
        mine = sum(x for x, (s, _) in zip(own, found) if s == now)
        return call if now is None or (mine and mine << 16 >= 10923 * total) else self.tree.raised(call)

    def keeps_long(self, s, near):
        """All long ones that are called it are its own, or those that are near"""
        f = self.fits.get(s)
        return f is not None and s not in self.refuted and f.own_long == 65536 and (f.stands or (f.by_long and near))

    # --- where calls end up that the sample does not support --------------------------
    def find_support(self, decision):
        """Of each taxon, what its calls become"""
        many = Counter()
        for key, n in self.classes.items():
            many[decision[key]] += n
        taxa = range(len(self.db.taxa))
        self.lost = {t: self.clade(many, t) for t in taxa if t and self.genus_of(t) == t and not self.is_supported(t)}
        self.far = {g for g in self.lost if self.is_far(g, decision)}
        self.own = Counter()
        for key, n in self.classes.items():
            genus = decision[key] is not None and self.genus_of(decision[key])
            if key[1] >= 128 and genus and all(self.genus_of(species) == genus for species, _ in key[0]):
                self.own[genus] += n
        self.end_up = {t: self.ends_up(t, many) for t in taxa}
        self.end_up[None] = None

    def genus_of(self, t):
        return self.db.up_to(t, GENUS)

    def is_supported(self, genus):
        """Is a species there, or none refuted?"""
        sure = {self.sure[s] for s in self.fits if genus <= s < self.tree.end[genus]}
        return "no" not in sure or bool(sure & {"yes", "low"})

    def is_far(self, genus, decision):
        """The only genus of its family in the database: is what is called it farther than its species are from each
        other?"""
        up, inside = self.family_of(genus), lambda t, g: t is not None and g <= t < self.tree.end[g]
        if not up or any(inside(t, up) and not inside(t, genus) for _, t, *_ in self.db.targets):
            return False
        total, n = self.mean((key[1], n) for key, n in self.classes.items() if inside(decision[key], genus))
        kin = [self.kin(s, genus) for s in self.probed if inside(s, genus)]
        return n >= 40 and len(kin) > 1 and all(m >= 8 and 10 * (256 * total // n) * m < 7 * 256 * x for x, m in kin)

    @staticmethod
    def mean(cells):
        """Of short fragments of these cells, so many each: the sum of 2 share + 1, and their number"""
        cells = [(2 * (cell % 32) + 1, n) for cell, n in cells if cell < 128]
        return sum(x * n for x, n in cells), sum(n for _, n in cells)

    def kin(self, s, genus):
        """The same of reads of a species that are called the genus without it"""
        self.classifier.hidden = s
        calls = [self.call(mates)[:3] for reads in self.short_reads(s, self.probed[s]) for mates in reads]
        self.classifier.hidden = None
        return self.mean((min(31, 32 * h1 // n), 1) for n, h1, t in calls
                         if t is not None and genus <= t < self.tree.end[genus])

    def is_strain(self, x, s, many):
        """Below species: is it what the reference is, or do nearly all that are called a strain agree?"""
        mine = self.clade(many, x)
        others = sum(n for t, n in many.items() if t is not None and s < t < self.tree.end[s] and
                     not x <= t < self.tree.end[x] and not t <= x < self.tree.end[t])
        f = self.fits.get(s)
        as_it_is = f and self.verdict[s] in THERE and not f.by_long and f.shapes[0] == 0
        if mine and as_it_is and 8 * mine >= mine + others:
            return True
        told = any(s < t < self.tree.end[s] and not x <= t < self.tree.end[x] and not t <= x < self.tree.end[t]
                   for _, t, *_ in self.db.targets)
        return told and mine > 0 and mine >= 16 * others

    def ends_up(self, t, many):
        s, genus, x = self.tree.species[t], self.genus_of(t), t
        while s is not None and x != s and not self.is_strain(x, s, many):
            x = self.tree.parent[x]
        if not genus or (s is not None and self.sure.get(s) != "no"):
            return x
        if not self.is_supported(genus):
            up = self.family_of(genus)
            most = 5 * self.lost[genus] >= 4 * sum(n for g, n in self.lost.items() if self.family_of(g) == up)
            own = self.own[genus] > 0 and 5 * self.own[genus] >= 4 * self.lost[genus]
            if genus in self.far or not (most or own):
                return up or None
        return x if s is None else genus

    def family_of(self, genus):
        """The nearest taxon above it that has a letter in reports, or 0"""
        up = self.tree.parent[genus]
        while up and self.db.taxa[up][3] not in LETTERED:
            up = self.tree.parent[up]
        return up

    # --- outputs ---------------------------------------------------------------------
    def lines(self):
        self.first, self.final = Counter(), Counter()
        change = self.change and len(self.fragments) + 8 * self.many[0] >= 500
        decision = {key: self.decide(key) for key in self.classes} if change else {}
        if change:
            self.find_support(decision)
            direct, self.direct = self.direct, Counter()
            for t, n in direct.items():
                self.direct[self.end_up[t]] += n
        for name, mates, n, h1, call, key in self.fragments:
            self.first[call] += 1
            if change:
                call = self.end_up[decision[key] if key else call]
            self.final[call] += 1
            yield line_of(self.db, name, mates, call, n, h1)

    def clade(self, counts, taxon):
        return sum(x for t, x in counts.items() if t is not None and taxon <= t < self.tree.end[taxon])

    def reads(self, s):
        total = float(self.clade(self.direct, s))
        f = self.fits.get(s)
        if not f:
            return total
        if self.verdict[s] == FEW:
            return float(self.clade(self.final, s))
        seen = sum(x * self.shapes.seen[f.shapes[0]][cell // 32] for cell, x in self.cells[s].items())
        seen = seen // f.n if f.n else 65536
        return total + (self.more * (f.own * 256.0 / seen) if seen else 0)

    @functools.cached_property
    def more(self):
        """As many more than species were given were shared"""
        given = sum(f.n / 256.0 for f in self.fits.values())
        return max(1, sum(self.classes.values()) / given) if given else 1

    def weight(self, s, reads):
        """The bases of a species that is there"""
        if self.verdict.get(s) not in THERE:
            return 0.0
        first, n = self.clade(self.first, s), len(self.fragments)
        return reads * (self.clade(self.bases_called, s) / first if first else self.all_bases / n)

    def is_part(self, s):
        """Are its references part of a genome only?"""
        t, compared = s, False
        while t:
            if self.lengths.get(s, 2) * 8 * self.db.stride < LEAST.get(self.db.taxa[t][0], 0):
                return True
            others = [x for u, x in self.lengths.items() if u != s and t <= u < self.tree.end[t]]
            if self.db.taxa[t][3] in NEAR and others and not compared:
                compared = True
                if 10 * self.lengths[s] * len(others) < sum(others):
                    return True
            t = self.tree.parent[t]
        return False

    def rows(self):
        """In preorder taxid and what the columns in COLUMNS are; and what the unknown has."""
        tree, every = self.tree, range(1, len(self.db.taxa))
        species = [t for t in every if tree.species[t] == t]
        reads = {s: self.reads(s) for s in species}
        weight = {s: self.weight(s, reads[s]) for s in species}
        part = {s for s in species if weight[s] and self.is_part(s)}
        depth = {s: 0 if s in part else weight[s] / self.lengths.get(s, 2) for s in species}
        n = total = len(self.fragments)
        if sum(reads.values()) > n:     # together they are at most all
            reads = {s: x * n / sum(reads.values()) for s, x in reads.items()}
        named, depths = sum(reads.values()), sum(depth.values())
        bases = max(self.all_bases, sum(weight.values()))
        whole = sum(weight[s] for s in species if s not in part) / bases if bases else 0.0
        self.unknown = [max(0.0, n - named), "-", 100 * max(0.0, n - named) / total if n else 0.0,
                        100 - 100 * sum(weight.values()) / bases if bases else 100.0,
                        100 - 100 * whole]
        for t in every:
            if self.db.taxa[t][3] not in LETTERED or tree.species[t] not in (None, t):
                continue
            under = [s for s in species if t <= s < tree.end[t]]
            mine = sum(reads[s] for s in under)
            first, final = self.clade(self.first, t), self.clade(self.final, t)
            if not first and not final and mine < 1:
                continue
            surest, deep = max((self.detected(s) for s in under), key=DETECTED.index), sum(depth[s] for s in under)
            none = t in self.fits and self.verdict[t] == FEW or surest in ("low", "yes") and not deep
            up = self.family_of(t)
            row = [str(self.db.taxa[up][0] if up else 0), str(first), str(final), mine,
                   self.distinct(t, mine) if tree.species[t] == t else "-", 100 * mine / total,
                   100 * sum(weight[s] for s in under) / bases, "-" if none else
                   100 * deep / depths * whole if depths else 0.0, surest]
            yield self.db.taxa[t][0], row + (self.presence(t) if tree.species[t] == t else
                                             self.above(row[-1], under, reads))

    def distinct(self, s, reads):
        places, of = (256 * self.found[s], self.expected[s]) if s in self.fits else (0, 0)
        return reads * places / of if places < of else reads

    def above(self, detected, under, reads):
        """What is said of a taxon by its species that are detected like it"""
        many = {s: self.clade(self.first, s) if detected == "no" else reads[s] for s in under
                if self.detected(s) == detected and (s in self.fits or self.clade(self.first, s))}
        like = sorted(many, key=lambda s: (-many[s], s))
        verdict, names = self.verdict.get(like[0], "-") if like else "-", [self.db.names[s] for s in like]
        little = ", by little evidence" if detected == "low" else ""
        if detected == "no" and verdict == SHARED:
            why = "shared with %s, of which" % self.db.names[self.rival[like[0]]]
        elif detected == "no":
            why = "%s: they are like those of %s" % (verdict, " and ".join(names[:2]))
        elif detected == "-":
            why = "none of its"
        elif len(like) > 1:
            why = "%d of its species are there%s, most of all %s" % (len(like), little, names[0])
        else:
            why = "%s is there%s" % (names[0], little)
        return ["-"] * 6 + [verdict, why]

    def detected(self, s):
        return self.sure.get(s, "-")

    def presence(self, s):
        f = self.fits.get(s)
        if not f:
            return ["-"] * 8
        identity = ["-"] * 3
        fitted = sum(x for cell, x in self.cells[s].items() if cell < 128)
        if not f.few and (f.by_long or fitted >= 1280) and (f.stands or f.weights[0] >= ONE // 2):
            identity = ["%.1f" % ((1000 - D[x]) / 10) for x in (f.shapes[0], f.high, f.low)]
        share = sum(x * (2 * (cell % 32) + 1) // 256 for cell, x in self.cells[s].items())
        return identity + [str(self.found[s]), "%.1f" % (self.expected[s] / 256),
                           "%.2f" % (400 * share / f.n if f.n else 0), self.verdict[s],
                           self.why(s)]

    def why(self, s):
        """What the reason begins with."""
        if self.verdict[s] == SHARED:
            return "shared with %s, of which" % self.db.names[self.rival[s]]
        if self.verdict[s] == NARROW:
            return "in %d place%s only (plasmid, phage?), where %.1f" % (
                self.found[s], "s" * (self.found[s] != 1), self.expected[s] / 256)
        if self.verdict[s] == FEW:
            n, found = self.called_first[s], self.found[s]
            where = " in %d place%s" % (found, "s" * (found != 1)) if found else ""
            return "%s: %d read%s%s" % (FEW, n, "s" * (n != 1), where)
        return "" if self.verdict[s] in THERE else self.verdict[s]


def close(name, have, want):
    """What is printed, of floating point in any order."""
    if isinstance(want, float):
        return abs(float(have) - want) < (0.0051 if name in ("reads", "distinct_reads") else 5.1e-7)
    return have.startswith(want) if name == "why" else have == want


def check_row(have, want, taxid):
    bad = [(n, have[n], x) for n, x in zip(COLUMNS, want) if not close(n, have[n], x)]
    if bad:
        sys.exit("profile of %d: column, what it has and should have: %s" % (taxid, bad))


def check_profile(sample, path):
    with open(path) as f:
        *rows, unknown = csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)
    want = dict(sample.rows())
    if sorted(int(r["taxid"]) for r in rows) != sorted(want):
        sys.exit("rows of %s\nand should be of %s" % ([r["taxid"] for r in rows], list(want)))
    for have in rows:
        check_row(have, want[int(have["taxid"])], int(have["taxid"]))
    check_row(unknown, ["0", *[unknown[n] for n in COLUMNS[1:3]], *sample.unknown], 0)
    check_order(rows)
    check_sums(rows + [unknown])


def check_order(rows):
    """Species first, then each rank above; of each the most abundant first."""
    ranks = ["species", "genus", "family", "order", "class", "phylum", "kingdom"]
    keys = [(ranks.index(r["rank"]) if r["rank"] in ranks else len(ranks),
             *[-float(r[n].replace("-", "0")) for n in ("abundance_percent", "bases_percent", "reads")])
            for r in rows]
    if keys != sorted(keys):
        sys.exit("rows are not in order: %s" % keys)


def check_sums(rows):
    """Species and the unknown add up to all, and children to their parents'."""
    for column in ("abundance_percent", "bases_percent"):
        sums = Counter()
        for r in rows:
            part = 0 if r[column] == "-" else float(r[column])
            sums[r["parent"]] += part if r["taxid"] != "0" else 0
            sums["all"] += part if r["rank"] in ("species", "-") else 0
        if abs(sums["all"] - 100) > 1e-4:
            sys.exit("%s adds up to %f" % (column, sums["all"]))
        for r in rows[:-1]:
            if r["rank"] != "species" and abs(sums[r["taxid"]] - float(r[column].replace("-", "0"))) > 1e-4:
                sys.exit("children of %s add up to %f of %s" % (r["name"], sums[r["taxid"]], r[column]))


def check_page(sample, path):
    """The coverage of a page; of taxa that it has."""
    data = page_data(path)
    want = {t: c for t, c in sample.coverage().items() if int(t) in data["taxa"]["taxid"]}
    have = data["samples"][0].get("coverage", {})
    if have != want or not want:
        sys.exit("coverage is\n%s\nand should be\n%s" % (have, want))
    k = Rule.KMER
    if any(abs(x - (i / 32) ** (1 / k)) > 1e-5 for i, x in enumerate(data["identities"])):
        sys.exit("borders of identity are %s" % data["identities"])


def main(args):
    keep = "--keep" in args
    page = args[args.index("--page") + 1] if "--page" in args else None
    db_path, calls, profile, *reads = [a for a in args if a not in ("--keep", "--page", page)]
    sample = Sample(Database(db_path), not keep)
    for fragment in fragments(reads):
        sample.add(*fragment)
    sample.read_qualities(reads)
    sample.fit()
    same_lines(calls, sample.lines())
    sample.give_back()
    check_profile(sample, profile)
    if page:
        check_page(sample, page)
    print("%d lines, %d classes, %d calls changed" % (len(sample.fragments), len(sample.classes), sum(
        (sample.first - sample.final).values())))


if __name__ == "__main__":
    main(sys.argv[1:])
