#!/usr/bin/env python3
"""oracle_classify.py - the rule of kmerhash-method(7), naively, against lines of the program

    oracle_classify.py DATABASE.khdb CALLS.tsv [--confidence C] READS [MATES]

exits 0 if every line of CALLS.tsv is what this says; else shows the first that is not.
"""
import argparse
import re

from oracle_db import PLACES, Database
from oracle_sampling import asked, canonicals, fragments, reverse_complement, same_lines

GENUS, SPECIES = 30, 38         # ranks


class Tree:
    def __init__(self, taxa):
        self.parent, self.end = [t[1] for t in taxa], [t[2] for t in taxa]
        rank, n = [t[3] for t in taxa], len(taxa)
        lineage = [[i] for i in range(n)]
        for i in range(1, n):
            lineage[i] += lineage[self.parent[i]]
        self.species = [next((x for x in line if rank[x] == SPECIES), None) for line in lineage]
        self.genus = [next((x for x in line if rank[x] == GENUS), None) for line in lineage]
        for i in range(n):
            below = [x for x in lineage[i] if rank[x] > GENUS]
            if self.genus[i] is None and below:
                self.genus[i] = self.parent[below[-1]]

    def above(self, a, b):
        return a <= b < self.end[a]

    def raised(self, taxon):
        """What a call that is no species' becomes: its genus, if it has one; None: the root, or no call"""
        up = None if taxon is None else self.genus[taxon]
        return (taxon if up is None else up) or None

    def lca(self, taxa):
        x = min(taxa)
        while max(taxa) >= self.end[x]:
            x = self.parent[x]
        return x


def line_of(db, name, mates, taxon, features, hits):
    """The line of a fragment, which has so many features, and hits in `taxon` (None: no call)."""
    taxid = 0 if taxon is None else db.taxa[taxon][0]
    runs = ["%d:%d" % (taxid, hits)] if taxid else []
    odd = sum(canonicals(seq, db.k).count(None) for seq in mates)
    missed = features - (hits if taxid else 0)
    if missed or not (taxid or odd):
        runs.append("0:%d" % missed)
    if odd:
        runs.append("A:%d" % odd)
    return "\t".join(("C" if taxid else "U", name, str(taxid), "|".join(str(len(s)) for s in mates),
                      " ".join(runs)))


class Rule:
    """All constants of the rule stand here."""
    WHOLE, PART, ENDS, BEYOND, ASIDE, END_SCORE, GAP, WINDOW = 512, 256, 12, 2, 8, 14, 6, 64
    SEEDS, ANCHORS, PLACES, DIAGONALS, SLACK = 128, 256, 32, 8, 16
    SPAN, APART, PART_SCORE = 1008, 20, 20
    NEAR, SHARED, COMMON = 6, 4, 8
    SOME, FEW, AHEAD, JOINED, LONG = 4, 12, 4, 2, 128
    ENOUGH, KEPT_FEW, KEPT = 2, 4, 5
    SPECIES, GENUS = 25, 44
    KMER, STEP, OFF, NEARBY, LONE = 12, 5, 64, 6, 16
    RESCUE_SCORE, RESCUE_NEAR, RESCUE_MOST, RESCUE_LEN, RESCUE_FIT = 30, 8, 4, 32, 14
    BEFORE, BEHIND = 40, 600
    TO_ONE, WRONG, EDGE = 4, 4, 16

    def __init__(self, db):
        self.db, self.apart = db, self.APART

    def least(self, n):
        n = (1 << n.bit_length()) - 1
        x = 0
        while x < 36 and 2 * n * max(1, self.db.bases) * (3 + 2 * x) * 10000 > 3**(x + 1) * 4**self.db.k:
            x += 1
        return self.db.k + x

    def is_random(self, n):
        """has a random fragment a place by chance?"""
        return 2 * ((1 << n.bit_length()) - 1) * max(1, self.db.bases) >= 4**self.db.k

    def names_species(self, bases, compared, matches):
        least = min(4 * self.SPECIES + bases, 2 * self.SPECIES + 2 * bases)
        return 4 * matches >= 16 * (compared - matches) + least

    def names_genus(self, compared, matches):
        return matches >= 4 * (compared - matches) + self.GENUS

    def fits_well(self, bases, compared, matches):
        return matches**2 // 2 >= (compared - matches) * bases

    def names_long(self, bases, score, compared, matches, ahead):
        wrong, own = compared - matches, matches * ahead // score
        fits = self.fits_well(bases, compared, matches) or matches * own // 3 >= wrong * bases // 5
        return score >= self.least(2**32 - 1) and fits


def plain(seq):
    return re.sub("[^ACGT]", "N", seq.upper().replace("U", "T"))


class Classifier:
    """Claims are (score, matches, -bases compared, mates) of a species, so that the greatest is the best, and
    where these mates lie."""
    with_second = with_candidates = False
    hidden = None  # a species in which seeds find nothing

    def __init__(self, db, confidence):
        self.db, self.tree, self.rule, self.confidence = db, Tree(db.taxa), Rule(db), int(1000 * confidence + 0.5)
        # a seed that a place lacks says nothing of it
        self.silent = db.scheme == 0 or db.thin
        # by stretch: its text, and the same with alleles in place of what has some
        self.texts, self.others = [], []
        self.any_alleles = any(alleles is not None for _, alleles, _ in db.placed)
        for first, alleles, bases in db.placed if not db.thin else []:
            text = db.unpacked(first, bases)
            other = [a ^ x for a, x in zip(text, db.unpacked(alleles, bases))] if alleles is not None else text
            self.texts.append("".join("ACGT"[a] for a in text))
            self.others.append("".join("ACGT"[a] for a in other))

    def species(self, target):
        return self.db.own[self.db.stretches[target][1]]

    def matches(self, target, at, base):
        return base in (self.texts[target][at], self.others[target][at])

    def hsp(self, target, read, at, start, stop):
        """(score, matches, bases, from, to) of the best HSP of read[start:stop] that lies at `at`"""
        text, best, total, begin, wrong = self.texts[target], (0, 0, 0, start, start), 0, None, 0
        start, stop = max(start, -at), min(stop, len(text) - at)
        here = zip(read[start:stop], text[at + start:at + stop], self.others[target][at + start:at + stop])
        for i, (base, *alleles) in zip(range(start, stop), here):
            if total == 0:
                begin, wrong = i, 0
            if base in alleles:
                total += 1
            else:
                total, wrong = max(0, total - 1), wrong + 1
            if total > best[0]:
                best = total, i + 1 - begin - wrong, i + 1 - begin, begin, i + 1
        return best

    def aside(self, target, read, here, start, stop, steps):
        """(score, matches, bases, from, to) of the best HSP some bases aside, and where it lies"""
        found = (0, 0, 0, start, start), here
        for d in steps:
            score, *rest = self.hsp(target, read, here + d, start, stop)
            score = 0 if score < self.rule.END_SCORE else score - self.rule.GAP if d else score
            if score > found[0][0]:
                found = (score, *rest), here + d
        return found

    def ends(self, target, read, at, fit, part):
        """What goes on aside of an HSP, and where each of that lies: behind it, then in front of it"""
        rule, (begin, end) = self.rule, fit[3:]
        steps = [d for n in range(1, rule.ASIDE + 1) for d in (n, -n)]
        for behind in (True, False):
            here, edge = at, end if behind else begin
            while (len(read) - edge if behind else edge) >= rule.ENDS:
                window = rule.WINDOW if part else len(read)
                start, stop = (edge, min(len(read), edge + window)) if behind else (max(0, edge - window), edge)
                found, here = self.aside(target, read, here, start, stop, [0] + steps if part else steps)
                if found[0]:
                    yield found, here
                if not part or found[0] == 0 and stop - start < window:
                    break
                edge = found[4 if behind else 3] if found[0] else edge + (window if behind else -window) // 2

    def with_ends(self, target, read, at, fit, part):
        """(score, matches, bases) of an HSP and what goes on aside of it"""
        return tuple(map(sum, zip(fit[:3], *(found for found, _ in self.ends(target, read, at, fit, part)))))

    def along(self, seq, claims):
        """raises the claims of a part by how it fits where the best one has it; {species: its variable columns there}"""
        length, reads = len(seq), (plain(seq), reverse_complement(plain(seq)))
        top = max(claims, key=lambda s: claims[s][0])
        (score, matches, compared, _), where = claims[top]
        (_, strand, _), target, at, _ = where[0]
        fit = self.hsp(target, reads[strand], at, 0, length)
        path = [(*fit[3:], 0)] + [(*found[3:], here - at) for found, here in self.ends(target, reads[strand], at, fit, True)]
        variable = {}
        for species in claims if len(claims) > 1 else ():
            (_, back, _), target, at, _ = claims[species][1][0]
            fit = self.hsp(target, reads[back], at, 0, length)
            turned = [(length - end, length - begin, -aside) if back != strand else (begin, end, aside) for begin, end, aside in path]
            own, same, variable[species] = self.own(target, reads[back], at, fit, turned), 0, 0
            for begin, end, aside in turned:
                here = at + aside - turned[own][2]
                columns = [i for i in range(begin, end) if 0 <= here + i < len(self.texts[target])]
                same += sum(self.matches(target, here + i, reads[back][i]) for i in columns)
                variable[species] += sum(self.texts[target][here + i] != self.others[target][here + i] for i in columns)
            new = score - 2 * (matches - same), same, compared, 1
            if species != top and new > claims[species][0]:
                claims[species] = new, claims[species][1]
        return variable

    def own(self, target, read, at, fit, path):
        """the number of the HSP of a path in which that of a place lies"""
        middle = sum(fit[3:]) // 2
        far = [max(begin - middle, middle - end + 1, 0) for begin, end, _ in path]
        own, common = far.index(min(far)), {}
        for i, (begin, end, _) in enumerate(path):
            columns = range(max(begin, fit[3]), min(end, fit[4]))
            if len(columns) >= self.rule.COMMON:
                right = [0 <= at + x < len(self.texts[target]) and self.matches(target, at + x, read[x]) for x in columns]
                common[i] = 2 * sum(right) - len(right)
        if any(path[i][2] != path[own][2] for i in common):
            own = max(common, key=lambda i: (common[i], -i))
        return own

    def loss(self, length, seeds, lists, region=()):
        """what the seeds cost that a region has no anchor of"""
        total, end, found = 0, 0, {i for _, i in region}
        if self.silent:
            return 0
        for i, (pos, _) in enumerate(seeds):
            if pos >= end and i in lists and i not in found:
                end = pos + self.db.k
                total += 1 if pos == 0 or end == length else 2
        return total

    def regions(self, length, seeds, lists):
        """[(greatest score there, anchors)]"""
        regions, far = [], 1 + (length - self.db.k) // self.db.stride
        for anchor in sorted((b, i) for i in lists for b in lists[i]):
            if not regions or anchor[0] - regions[-1][-1][0] > far:
                regions.append([])
            regions[-1].append(anchor)
        return [(length - self.loss(length, seeds, lists, region), region) for region in regions]

    def compare(self, mate, seq, seeds, region, places, room, part=False):
        """adds the places of a region, of a mate that has so many at most"""
        reads, new, k = (plain(seq), reverse_complement(plain(seq))), [], self.db.k
        for b, i in region:
            starts = seeds[i][0], len(seq) - k - seeds[i][0]
            if len(new) >= self.rule.DIAGONALS:
                break
            target = self.db.stretch_of(b)
            if any((place[2] + starts[place[1]]) // self.db.stride == b and places[place][0] == target for place in new):
                continue
            first = self.db.stretches[target][0]
            for at in range(self.db.stride * (b - first), self.db.stride * (b - first + 1)):
                for strand, read in enumerate(reads):
                    start = starts[strand]
                    if self.texts[target][at:at + k] == read[start:start + k] and self.count(places, mate) < room:
                        most, whose = max(((fit[3], self.species(of)) for p, (of, _, fit) in places.items() if p[0] == mate),
                                          key=lambda x: x[0], default=(0, None))
                        fit = self.hsp(target, read, at - start, 0, len(read))
                        far = fit[:3]
                        own, wanted = whose == self.species(target), self.with_second or self.with_candidates
                        if 4 * fit[0] >= most and (len(region) > 1 or fit[0] >= k + self.rule.BEYOND) if not part else \
                           fit[0] >= most or own and 4 * fit[0] >= most if wanted else fit[0] + own > most:
                            far = self.with_ends(target, read, at - start, fit, part)
                        new.append((mate, strand, self.db.stride * first + at - start))
                        places[new[-1]] = target, at - start, far + fit[:1]

    def seeds(self, seq, whole):
        """(all, those that are looked up)"""
        db = self.db
        found = asked(seq, ("minhash", "syncmer")[db.scheme], db.k, db.s, db.stride, db.least, db.no_repeats)
        found, few, end = list(found), [], 0
        for pos, key in found:
            if pos >= end:
                few.append((pos, key))
                end = pos + db.k
        return found, found if whole else few

    def lists_of(self, seeds):
        """{number of a seed: its bins}, of those that are not passed over"""
        lists = {}
        for i, (_, key) in enumerate(seeds[:self.rule.SEEDS]):
            found = self.db.find(key)
            if found is None:
                lists[i] = []
            elif found[1] is None:
                lists[i] = [b for b in found[0] if self.hidden is None or self.db.species_of(b) != self.hidden]
        while sum(map(len, lists.values())) > self.rule.ANCHORS:
            del lists[max(lists, key=lambda i: (len(lists[i]), i))]
        return lists

    @staticmethod
    def count(places, mate):
        return sum(p[0] == mate for p in places)

    def weight(self, region, beside):
        """anchors of a region, and of the first one beside it of the other mate"""
        near, here = self.rule.SPAN // self.db.stride + 1, region[0][0]
        for other in beside:
            if other[0][0] >= max(0, here - near):
                return len(region) + (len(other) if other[0][0] <= here + near else 0)
        return len(region)

    def first_places(self, mates, seeds, regions, slack, part, some):
        """(places, regions that were not compared, and the greatest weight in a crowd) where each mate could be best"""
        places, left, crowd = {}, [], [0, 0]
        every = [[region for _, region in of] for of in regions] + [[]]
        lone = self.raise_lone(regions, slack) if slack and not part and not self.any_alleles else 0
        all_places = len(mates) == 1 and (not part or self.with_second or self.with_candidates)
        room = self.rule.PLACES if all_places else self.rule.PLACES // 2
        for mate, seq in enumerate(mates):
            of = regions[mate]
            left.append(of)
            while of:
                most = max(of, key=lambda r: r[0])[0]
                if most <= 0 or most + slack < self.best_place(places, mate):
                    break
                if self.take(mate, seq, seeds[mate], of, most, places, room, part):
                    crowd[mate] = max(self.weight(region, every[1 - mate]) for region in every[mate])
                    self.crowd(mate, seq, seeds[mate], of, every[1 - mate], places, room, slack, part, some)
                    break
            if crowd[mate] and some:
                break
        return places, left, crowd, every, room, lone

    def keep(self, regions, kept, some):
        """leaves out regions of a part in other species than those that are kept (None: all are), if in one of these it may
        fit as well; False: other seeds must be looked up first"""
        species = {self.db.species_of(region[0][0]) for _, region in regions} if kept is None else kept
        own = [(most, len(region)) for most, region in regions if self.db.species_of(region[0][0]) in species]
        if some and max((n for _, n in own), default=0) < self.rule.ENOUGH:
            return False
        least = max((most for most, _ in own), default=-1)
        regions[:] = [(most, region) for most, region in regions
                      if self.db.species_of(region[0][0]) in species or most > least]
        return True

    def raise_lone(self, regions, slack):
        """takes `slack` off the regions of a mate in whose species the other one, which has some, has none; or 0"""
        counts = list(map(len, regions))
        if self.silent or len(regions) < 2 or not all(0 < n <= self.rule.LONE for n in counts) or sum(counts) == 2:
            return 0
        species = [{self.db.species_of(region[0][0]) for _, region in of} for of in regions]
        for mate, of in enumerate(regions):
            of[:] = [(most - slack * (self.db.species_of(region[0][0]) not in species[1 - mate]), region) for most, region in of]
        return slack

    def take(self, mate, seq, seeds, regions, least, places, room, part):
        """compares regions that could have such a score; True, and nothing is done: there are too many"""
        wanted = [r for r in regions if r[0] >= least]
        if len(wanted) > room - self.count(places, mate):
            return True
        for region in wanted:
            self.compare(mate, seq, seeds, region[1], places, room, part)
            regions.remove(region)
        return False

    def crowd(self, mate, seq, seeds, regions, beside, places, room, slack, part, some):
        """compares the heaviest regions"""
        while not some and self.count(places, mate) < room:
            least = self.best_place(places, mate) - slack
            may = [r for r in regions if r[0] >= least]
            if not may:
                break
            heaviest = max(may, key=lambda r: self.weight(r[1], beside))
            self.compare(mate, seq, seeds, heaviest[1], places, room, part)
            regions.remove(heaviest)

    @staticmethod
    def best_place(places, mate):
        return max((fit[0] for p, (_, _, fit) in places.items() if p[0] == mate), default=0)

    def at_once(self):
        """Are all seeds of a part looked up at once, and is it compared with all species?"""
        return self.silent or self.with_second or self.with_candidates

    def look(self, mates, whole, slack, part=False, kept=None):
        """(claims, places, taxa of species in a crowd, done) of a segment with all its seeds, or some"""
        every, asked = zip(*(self.seeds(seq, whole) for seq in mates))
        some = sum(map(len, asked)) < sum(map(len, every))
        regions = [self.regions(len(seq), of[:self.rule.SEEDS], self.lists_of(of)) for seq, of in zip(mates, asked)]
        if part and not self.at_once():
            if not self.keep(regions[0], kept, some):
                return {}, {}, set(), False
            some = False
        places, left, crowd, regions, room, lone = self.first_places(mates, asked, regions, slack, part, some)
        if some and any(crowd):
            return {}, {}, set(), False
        claims = self.claims(places)
        best = [self.best_place(places, mate) for mate in range(len(mates))] + [0]
        if len(mates) > 1 and claims and (best[0] and best[1] or lone):
            score = self.best(claims)[0][0]
            for mate in (0, 1):
                least = score - slack - max(best[1 - mate], lone)
                if not crowd[mate] and self.take(mate, mates[mate], asked[mate], left[mate], least, places, room, part):
                    crowd[mate] = max(self.weight(region, regions[1 - mate]) for region in regions[mate])
            claims = self.claims(places)
        if some and any(crowd):
            return {}, {}, set(), False
        best = [self.best_place(places, mate) for mate in range(len(mates))] + [0]
        if some and claims:
            score = self.best(claims)[0][0]
            some = any(score <= len(seq) - self.loss(len(seq), asked[mate][:self.rule.SEEDS], self.lists_of(asked[mate]))
                       + best[1 - mate] for mate, seq in enumerate(mates) if seq)
        return claims, places, (best, left, crowd, regions, asked), not some

    def crowded(self, score, best, left, crowd, regions, _):
        """species of regions that were not compared, and could be as good as the best claim"""
        found = set()
        for mate, of in enumerate(left):
            for most, region in of:
                weight = self.weight(region, regions[1 - mate])
                if weight == crowd[mate] and most + (best[1 - mate] if weight > len(region) else 0) >= score:
                    found.add(self.species(self.db.stretch_of(region[0][0])))
        return found

    def settled(self, mates, part=False, slack=0, kept=None):
        """(claims, places, species in a crowd, regions that were not compared, seeds)"""
        claims, places, crowd, done = self.look(mates, part and self.at_once(), slack, part, kept)
        if not done:
            claims, places, crowd, _ = self.look(mates, True, slack, part, kept)
        if len(mates) > 1 and all(mates) and claims:
            self.rescue(places, mates, claims)
        if not claims:
            return claims, places, set(), None, None
        return claims, places, self.crowded(self.best(claims)[0][0], *crowd), crowd[1], crowd[4]

    @staticmethod
    def both(a, b, less=0):
        (x, here), (y, there) = a, b
        return (x[0] + y[0] - less, x[1] + y[1], x[2] + y[2], x[3] | y[3]), {**here, **there}

    @staticmethod
    def claim(claims, key, new):
        if key not in claims or new[0] > claims[key][0]:
            claims[key] = new

    def claims(self, places):
        claims, single = {}, {}
        one = {p: ((f[0], f[1], -f[2], 1 << p[0]), {p[0]: (p, target, at, f[:3])})
               for p, (target, at, f) in sorted(places.items())}
        for a in one:
            species = self.species(places[a][0])
            self.claim(claims, species, one[a])
            self.claim(single, (species, a[0]), one[a])
            for b in one:
                if a[0] == 0 and b[0] == 1 and a[1] != b[1] and abs(a[2] - b[2]) <= self.rule.SPAN and \
                        places[a][0] == places[b][0]:
                    self.claim(claims, species, self.both(one[a], one[b]))
        for species in claims:
            if (species, 0) in single and (species, 1) in single:
                self.claim(claims, species, self.both(single[species, 0], single[species, 1], self.rule.apart))
        return claims

    @staticmethod
    def best(claims):
        return max(claims.values(), key=lambda c: c[0])

    def around(self, place, places):
        """where a mate lies at a place, and a few bases aside"""
        order = sorted(p for p in places if p[:2] == place[:2])
        if place not in order:
            return [place[2]]
        found, here = [place[2]], order.index(place)
        for side in (order[here + 1:], order[:here][::-1]):
            for p in side:
                if abs(p[2] - place[2]) > self.rule.OFF or places[p][0] != places[place][0]:
                    break
                found.append(p[2])
        return found[:self.rule.DIAGONALS]

    def hits(self, mates, where, places):
        """k-mers of the mates that the reference has where they lie"""
        hits, k = 0, self.rule.KMER
        for mate, (place, target, at, _) in where.items():
            seq = plain(mates[mate])
            read, end = reverse_complement(seq) if place[1] else seq, len(self.texts[target])
            for i in range(0, len(seq) - k + 1, self.rule.STEP):
                start = len(seq) - k - i if place[1] else i
                lies = [at + p - place[2] + start for p in self.around(place, places)]
                hits += any(0 <= x <= end - k and all(self.matches(target, x + j, read[start + j]) for j in range(k))
                            for x in lies)
        return hits

    def kmers(self, seq):
        k, seq = self.rule.KMER, plain(seq)
        return sum("N" not in seq[i:i + k] for i in range(0, len(seq) - k + 1, self.rule.STEP))

    def rescue(self, places, mates, claims):
        rule, best = self.rule, self.best(claims)[0]
        if best[3] == 3:
            return
        near = [p for p in sorted(places, key=lambda p: (-places[p][2][0], p))
                if places[p][2][0] >= max(rule.RESCUE_SCORE, best[0] - rule.RESCUE_NEAR)]
        for place in near[:rule.RESCUE_MOST]:
            target, at, _ = places[place]
            other = plain(mates[1 - place[0]])
            if len(other) < rule.RESCUE_LEN:
                continue
            read = other if place[1] else reverse_complement(other)
            if place[1] == 1:
                end = at + len(mates[place[0]]) - len(read)
                where = range(end - rule.BEHIND, end + rule.BEFORE + 1)
            else:
                where = range(at - rule.BEFORE, at + rule.BEHIND + 1)
            found = []
            for x in where:
                if 0 <= x <= len(self.texts[target]) - len(read):
                    found.append((sum(not self.matches(target, x + j, base) for j, base in enumerate(read[:64])), x))
            if not found or 2 * min(found)[0] > min(64, len(read)):
                continue
            x = min(found)[1]
            fit = self.hsp(target, read, x, 0, len(read))
            if fit[0] >= rule.RESCUE_FIT:
                fit = self.with_ends(target, read, x, fit, False)
                near, there = places[place][2], (1 - place[0], 1 - place[1], place[2] - at + x)
                both = self.both(
                    ((near[0], near[1], -near[2], 1 << place[0]), {place[0]: (place, target, at, near[:3])}),
                    ((fit[0], fit[1], -fit[2], 2 >> place[0]), {there[0]: (there, target, x, fit)}))
                self.claim(claims, self.species(target), both)

    def whole(self, mates, slack=0):
        """(call, hits, {species: score} of those that are near, where the best one lies)"""
        claims, places, crowd, left, asked = self.settled(mates, slack=slack)
        n = sum(len(self.seeds(seq, True)[0]) for seq in mates)
        if not claims or n == 0:
            return None, 0, {}, None
        best, where = self.best(claims)
        chance = best[0] < self.rule.least(n) and self.rule.is_random(n)
        hits = self.hits(mates, where, places)
        self.mates = self.mates_of(mates, where)
        if not crowd and not chance:
            others = {s: claims[s][0] for s in claims if claims[s][1] is not where and claims[s][0][0] >= best[0] - self.rule.NEARBY}
            self.second = self.second_of(others, lambda s: self.hits(mates, claims[s][1], places))
        near = {s: what[0] for s, (what, _) in claims.items() if what[0] >= best[0] - slack}
        near = {} if crowd or chance else near
        (_, _, lies, *_), target, *_ = where[min(where)]
        about = hits, near, max(lies // self.db.stride, self.db.stretches[target][0])
        if best[0] < self.rule.least(n):
            return (None, *about)
        species = {s for s in claims if claims[s][0][0] == best[0]}
        taxon = self.tree.lca({self.db.called[s] for s in species | crowd})
        # matches and bases compared, and bases, of the mates and of each alone
        fits = [(len(mates[mate]), fit[2], fit[1]) for mate, (*_, fit) in where.items()]
        fits.append((sum(fit[0] for fit in fits), -best[2], best[1]))
        if self.tree.species[taxon] is not None and any(self.rule.names_species(*fit) for fit in fits):
            if len(species) == 1 and not crowd:
                taxon = self.strain(mates, min(species), where, places, left, asked)
            return (taxon, *about)
        return (self.tree.raised(taxon) if any(self.rule.names_genus(*fit[1:]) for fit in fits) else None, *about)

    def mates_of(self, mates, where):
        """1 if one mate only has a part, 2 or more by how far both lie apart, or 0"""
        if len(where) == 1:
            return int(len(mates) == 2 and min(map(len, mates)) >= 32)
        (_, strand), target, at = where[0][0][:2], *where[0][1:3]
        (_, other_strand), other, other_at = where[1][0][:2], *where[1][1:3]
        beside = target == other and strand != other_strand and abs(at - other_at) <= 1008
        return 2 + abs(at - other_at) // 128 if beside else 0

    # --- strains ---
    def strain(self, mates, species, where, places, left, asked, part=False):
        """the taxon of a species that the mates are of where they lie"""
        taxa = {self.db.called[species]}
        for mate, (place, target, at, fit) in where.items():
            if not self.is_known(mates[mate], species, place[1], target, at, asked[mate]):
                continue
            reads = plain(mates[mate]), reverse_complement(plain(mates[mate]))
            there = {(place[1], target, at)}
            for p, (of, lies, found) in places.items():
                if p[0] == mate and found[0] >= fit[0] and self.species(of) == species:
                    there.add((p[1], of, lies))
            for strand, of, lies in self.with_alleles(reads, species, left[mate], asked[mate]):
                if self.hsp(of, reads[strand], lies, 0, len(reads[0]))[0] >= fit[0]:
                    there.add((strand, of, lies))
            taxa.add(self.tree.lca({self.strain_of_place(species, of, reads[strand], lies, part) for strand, of, lies in there}))
        return self.lowest(taxa)

    def is_known(self, seq, species, strand, target, at, seeds):
        """Has a seed where the mate lies fewer bins in the species than a list may have?"""
        lists = self.lists_of(seeds)
        for i, bins in lists.items():
            start = len(seq) - self.db.k - seeds[i][0] if strand else seeds[i][0]
            number = self.db.stretches[target][0] + (at + start) // self.db.stride
            of = [self.db.stretch_of(b) for b in bins]
            if number in bins and self.db.stretch_of(number) == target and \
                    sum(self.species(x) == species for x in of) < PLACES:
                return True
        return False

    def with_alleles(self, reads, species, regions, seeds):
        """(strand, stretch, at) of a mate in regions that were not compared, where there are alleles"""
        for _, region in regions:
            first = self.db.stretch_of(region[0][0])
            if self.db.placed[first][1] is None or self.species(first) != species:
                continue
            for b, i in region:
                target, k = self.db.stretch_of(b), self.db.k
                starts = seeds[i][0], len(reads[0]) - k - seeds[i][0]
                begin = self.db.stride * (b - self.db.stretches[target][0])
                for at in range(begin, begin + self.db.stride):
                    for strand in (0, 1):
                        if self.texts[target][at:at + k] == reads[strand][starts[strand]:starts[strand] + k]:
                            yield strand, target, at - starts[strand]

    def lowest(self, taxa):
        """the LCA of those that have no other one below them"""
        return self.tree.lca({x for x in taxa if not any(x != y and self.tree.above(x, y) for y in taxa)})

    def strain_of_place(self, species, target, read, at, part):
        rule, text, other = self.rule, self.texts[target], self.others[target]
        _, matches, compared, begin, end = self.hsp(target, read, at, 0, len(read))
        first, own = self.db.stretches[target][:2]
        ask = range(begin + rule.EDGE if begin > 0 else 0, end if end == len(read) else end - rule.EDGE)
        runs = {}
        for i in range(begin, end):
            number = first + (at + i) // self.db.stride
            record = next((x for x in self.db.strains if x[0] <= number < x[0] + x[1]), None)
            columns = runs.setdefault(record, [0, 0])
            if i in ask and text[at + i] != other[at + i]:
                columns[0] += read[i] == text[at + i]
                columns[1] += read[i] == other[at + i]
        taxa = {self.db.called[species]}
        for record, (as_text, as_other) in runs.items():
            tells = [n > 0 and n >= rule.TO_ONE * m and (part or compared - matches <= rule.WRONG * n)
                     for n, m in ((as_text, as_other), (as_other, as_text))]
            if record is None:
                taxa.add(own)
            elif tells[1]:
                taxa.add(record[3])
            elif tells[0] and self.tree.end[record[3]] == record[3] + 1:
                taxa.add(record[2])
            else:
                taxa.add(self.tree.lca(record[2:]))
        return self.lowest(taxa)

    def agreed(self, species, found):
        """(the taxon of a species that nearly all of these parts are of, whether more of them could say more)"""
        taxon, parts, tree = self.db.called[species], 0, self.tree
        votes = [part[species][6] for part in found if part.get(species, (0,))[0] > 0]
        while True:
            below = {t for t in votes if t != taxon and tree.above(taxon, t)}
            enough = []
            for child in {next(x for x in range(t, taxon, -1) if tree.above(x, t) and tree.parent[x] == taxon) for t in below}:
                agree = sum(tree.above(child, t) for t in votes)
                others = sum(not tree.above(child, t) and not tree.above(t, child) for t in votes)
                if agree >= self.rule.TO_ONE * others:
                    enough.append((child, agree))
            if not enough:
                return taxon, len(below) > 0 or 0 < parts < self.rule.TO_ONE
            taxon, parts = enough[0]

    def second_of(self, species, hits):
        """(the best of some species, its hits), if it has two"""
        if species:
            best = max(species, key=lambda s: (species[s], -self.db.called[s]))
            if hits(best) >= 2:
                return self.db.called[best], hits(best)
        return None

    def part(self, seq, kept=None):
        """species -> (credit, score, matches, -bases compared, score ahead of other genera, hits, strain, variable columns) in a part"""
        claims, places, _, left, asked = self.settled([seq], True, self.rule.SLACK, kept)
        variable = self.along(seq, claims) if claims else {}
        claims = {s: claim for s, claim in claims.items() if claim[0][0] >= self.rule.PART_SCORE}
        found, best = {}, max((what[0] for what, _ in claims.values()), default=0)
        for species, (what, where) in claims.items():
            credit = best if what[0] == best else 0
            other = max((claims[s][0][0] for s in claims if self.genus(s) != self.genus(species)), default=0)
            strain = self.strain([seq], species, where, places, left, asked, True) if credit else None
            found[species] = (credit, *what[:3], max(0, what[0] - other), self.hits([seq], where, places), strain,
                              variable.get(species, 0))
        return found

    def genus(self, species):
        return self.tree.genus[species] or species

    def sums(self, found):
        total = {}
        for part in found:
            for s, what in part.items():
                total[s] = tuple(map(sum, zip(total.get(s, (0,) * 6), what[:6])))
        return total

    def best_sum(self, total):
        return max(total, key=lambda s: (total[s][:5], -s))

    def kept(self, total):
        """the species that parts are compared with that are compared later, or None"""
        order = sorted(total, key=lambda s: (total[s][:5], -s), reverse=True)[:self.rule.KEPT]
        return {s for i, s in enumerate(order) if i < self.rule.KEPT_FEW or 5 * total[s][0] >= 3 * total[order[0]][0]} or None

    def sure(self, total, n, bases):
        """Are these parts enough?"""
        if not total or n < self.rule.LONG:
            return False
        credit, score, matches, less, *_ = total[self.best_sum(total)]
        near = {s for s in total if total[s][1] >= score - score // self.rule.AHEAD or self.rule.JOINED * total[s][0] >= credit}
        return score >= self.rule.least(2**32 - 1) and self.rule.fits_well(bases, -less, matches) \
            and self.tree.species[self.tree.lca({self.db.called[s] for s in near})] is not None

    def parts(self, mates):
        rule, parts, others = self.rule, self.parts_of(mates, True), self.parts_of(mates, False)
        found = [self.part(seq) for seq in parts]
        total = self.sums(found)
        if not self.sure(total, sum(map(self.kmers, parts)), sum(map(len, parts))) or self.agreed(self.best_sum(total), found)[1]:
            parts += others
            found += [self.part(seq, self.kept(total)) for seq in others]
        n, total = sum(map(self.kmers, parts)), self.sums(found)
        if not total:
            return n, None, 0, {}, None
        best = self.best_sum(total)
        credit, score, matches, less, ahead, hits = total[best]
        self.second = self.second_of({s: total[s][:5] for s in total if s != best}, lambda s: total[s][5])
        tops = [max(what[1] for what in part.values()) for part in found if part]
        odds = {s: sum(self.odds((top - part[s][1] + 1) // 2, part[s][7])
                       for part, top in zip(filter(None, found), tops) if s in part)
                for s in total if total[s][0] > 0}
        if not rule.names_long(sum(map(len, parts)), score, -less, matches, ahead):
            return n, None, hits, odds, None
        shared = [part for part in found if part.get(best, (0,))[0] > 0]
        alike = {best}
        for s, what in total.items():
            some = sum(part[s][0] for part in shared if s in part)
            if what[0] >= credit - credit // rule.NEAR and rule.SHARED * some >= what[0]:
                alike.add(s)
        taxon = self.tree.lca({self.db.called[s] for s in alike})
        kin = sum(max(what[0] for what in part.values()) for part in found
                  if any(what[0] and self.genus(s) == self.genus(best) for s, what in part.items()))
        own = self.tree.species[taxon] is not None and 3 * credit >= 2 * kin
        if own and len(alike) == 1:
            taxon = self.agreed(best, found)[0]
        return n, taxon if own else self.tree.raised(taxon), hits, odds, None

    @staticmethod
    def odds(behind, variable):
        """What a part says for a species that has so many mismatches more than the best one there, and such columns"""
        if behind > 3:
            return -7 if behind <= 5 else -4 if behind <= 9 else 0
        return (6, -3, -8, -8)[behind] - variable.bit_length()

    def parts_of(self, mates, first):
        """Those that are compared first, or the others"""
        parts = []
        for seq in mates:
            n = -(-len(seq) // self.rule.PART)
            each = 2 if n < self.rule.FEW else self.rule.SOME
            for i in range(n):
                if (i % each == each // 2) == first:
                    parts.append(seq[len(seq) * i // n:len(seq) * (i + 1) // n])
        return parts

    def fragment(self, mates, slack=0):
        """(n, whether it is one segment, and what whole() or parts() say: of parts the odds of species)"""
        two = len(mates) > 1 and len(mates[1]) > 0
        if all(len(seq) <= (self.rule.WHOLE if two else self.rule.PART) for seq in mates):
            return (sum(map(self.kmers, mates)), True, *self.whole(mates, slack))
        n, *says = self.parts(mates)
        return (n, False, *says)

    def line(self, name, mates):
        self.second = None
        n, _, taxon, hits, _, _ = self.fragment(mates, self.rule.NEARBY if self.with_second or self.any_alleles else 0)
        if 1000 * hits < self.confidence * n:
            taxon = None
        line = line_of(self.db, name, mates, taxon, n, hits)
        if self.with_second:
            line += "\t%d:%d" % (self.db.taxa[self.second[0]][0], min(n, self.second[1])) if self.second else "\t-"
        return line


class ThinRule(Rule):
    COVER = 4

    def least(self, n):
        return self.db.k + 1

    def names_species(self, bases, compared, matches):
        return matches > self.db.k and self.COVER * matches >= compared

    def names_genus(self, compared, matches):
        return self.names_species(0, compared, matches)

    def names_long(self, bases, score, compared, matches, ahead):
        return score >= self.least(0) and self.names_species(bases, compared, matches)


class ThinClassifier(Classifier):
    """A place is the bases that seeds on a diagonal cover; a match is one of these, and compared are those that
    all seeds cover"""

    def __init__(self, db, confidence):
        super().__init__(db, confidence)
        self.rule = ThinRule(db)
        self.rule.apart = db.k

    def diagonal(self, seq, pos, b, strand):
        return b * self.db.stride - (len(seq) - self.db.k - pos if strand else pos)

    def on(self, seq, seeds, anchors, target, strand, at):
        """numbers of the seeds on a diagonal, or a few bases aside"""
        far = self.db.stride + self.rule.ASIDE
        return {i for b, i in anchors if self.db.stretch_of(b) == target and
                abs(self.diagonal(seq, seeds[i][0], b, strand) - at) < far}

    def covered(self, seeds, numbers):
        return len({x for i in numbers for x in range(seeds[i][0], seeds[i][0] + self.db.k)})

    def compare(self, mate, seq, seeds, region, places, room, part=False):
        every = self.covered(seeds, self.lists_of(seeds))
        for target in sorted({self.db.stretch_of(b) for b, _ in region}):
            here = [(b, i) for b, i in region if self.db.stretch_of(b) == target]
            best = []
            for strand in (0, 1):
                ats = [self.diagonal(seq, seeds[i][0], b, strand) for b, i in here]
                scores = [self.covered(seeds, self.on(seq, seeds, here, target, strand, at)) for at in ats]
                best.append((max(scores), strand, ats[scores.index(max(scores))]))
            for score, strand, at in best:
                if score == max(best)[0] and self.count(places, mate) < room:
                    places[mate, strand, at, target] = target, at, (score, score, every, score)

    def hits(self, mates, where, places):
        hits = 0
        for mate, ((_, strand, at, _), target, *_) in where.items():
            seeds = self.seeds(mates[mate], True)[0]
            lists = self.lists_of(seeds)
            hits += len(self.on(mates[mate], seeds, [(b, i) for i in lists for b in lists[i]], target, strand, at))
        return hits

    def kmers(self, seq):
        return len(self.seeds(seq, True)[0])

    def rescue(self, places, mates, claims):
        pass

    def along(self, seq, claims):
        return {}

    def strain(self, mates, species, *_):
        return self.db.called[species]


def main(args):
    db = Database(args.database)
    Classifier.with_second = args.second_best
    classifier = (ThinClassifier if db.thin else Classifier)(db, args.confidence)
    print("%d lines" % same_lines(args.calls, (classifier.line(*fragment) for fragment in fragments(args.reads))))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--confidence", type=float, default=0)
    parser.add_argument("--second-best", action="store_true")
    for name, many in ("database", None), ("calls", None), ("reads", "+"):
        parser.add_argument(name, nargs=many)
    main(parser.parse_intermixed_args())
