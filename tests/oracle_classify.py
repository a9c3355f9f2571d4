#!/usr/bin/env python3
"""oracle_classify.py - the rule of kmerhash-method(7), naively, against lines of the program

    oracle_classify.py DATABASE.khdb CALLS.tsv [--confidence C] READS [MATES]

exits 0 if every line of CALLS.tsv is what this says; else shows the first that is not.
"""
import sys
from collections import Counter

from oracle_db import Database
from oracle_sampling import canonicals, features, records

GENUS, SPECIES = 30, 38         # ranks


class Rule:
    """All constants of the rule stand here."""

    def __init__(self, db, confidence):
        self.db, self.confidence = db, int(1000 * confidence + 0.5)

    def of_share(self, hits):
        """as many of these as the database has of all features, and one more"""
        return min(hits, 1 - (-hits * (2**32 - self.db.least) // 2**32))

    def least(self, n):
        """hits needed: genus, species"""
        m = max(self.db.minima[n.bit_length() - 1], n >> 6)
        species = self.of_share(3 if n < 17 else 4)
        return max(self.of_share(3), m), max(species, m)

    def near_species(self, h1, n):
        t = 0 if 2 * h1 >= n else 2 if 4 * h1 >= n else 3
        return max(1, h1 - t - (h1 >> 5))

    def near_genus(self, h1):
        return max(1, h1 - 1 - (h1 >> 5))


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

    def lca(self, taxa):
        x = min(taxa)
        while max(taxa) >= self.end[x]:
            x = self.parent[x]
        return x


class Segment:
    """Distinct features of some stretches, and where they occur."""

    def __init__(self, db, keys, span, found):
        self.db = db
        self.n, self.window = len(keys), 1 + -(-span // db.stride)
        self.lists, self.over = [], []
        for key in keys:
            if key not in found:
                found[key] = db.find(key)
            if found[key] is not None and found[key][1] is not None:
                self.over.append(found[key][1])
            elif found[key] is not None:
                self.lists.append(found[key][0])
        self.matches = Counter(b for bins in self.lists for b in bins if b not in db.voters)
        self.votes = Counter(db.voters[b] for bins in self.lists for b in bins if b in db.voters)
        self.hits = {b: min(self.n, sum(self.matches[b + i] for i in range(self.window)))
                     for b in self.matches}

    def best(self, taxon_of):
        """taxon -> hits of its best window"""
        best = Counter()
        for b, hits in self.hits.items():
            best[taxon_of(b)] = max(best[taxon_of(b)], hits)
        return best

    def best_window(self, taxon_of):
        """(its first bin, its last, its species)"""
        db = self.db
        score = {b: hits + self.votes[db.own[taxon_of(b)]] for b, hits in self.hits.items()}
        score.update((db.vote_bin[s], votes) for s, votes in self.votes.items())
        first = min(b for b, most in score.items() if most == max(score.values()))
        if first in db.voters:
            return first, first, db.voters[first]
        return first, first + self.window - 1, db.own[taxon_of(first)]

    def rivals(self, taxon_of):
        """(taxa, species) that have a feature which the best window lacks: at a place, by a vote."""
        first, last, species = self.best_window(taxon_of)
        lacks = [bins for bins in self.lists
                 if not any(first <= b <= last or self.db.voters.get(b) == species for b in bins)]
        lacking = {b for bins in lacks for b in bins}
        return ({taxon_of(b) for b in lacking if b not in self.db.voters},
                {self.db.voters[b] for b in lacking if b in self.db.voters})


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


class Classifier:
    def __init__(self, db, rule):
        self.db, self.rule, self.tree, self.found = db, rule, Tree(db.taxa), {}
        self.scheme = ("minhash", "syncmer")[db.scheme]
        self.hosts = {}

    def taxon_of(self, number):
        if number not in self.hosts:
            self.hosts[number] = self.db.targets[self.db.target_of(number)][1]
        return self.hosts[number]

    def own_species(self, taxon):
        species = self.tree.species[taxon]
        return taxon if species is None else species

    def sample(self, seq, start, stop):
        """Features that start in seq[start:stop]"""
        db = self.db
        part = seq[start:stop + db.k - 1]
        return [key for _, key in features(part, self.scheme, db.k, db.s, db.stride, db.least,
                                         db.no_repeats)]

    def segments(self, mates):
        span = self.db.max_span
        if sum(map(len, mates)) <= span:
            keys = {key for seq in mates for key in self.sample(seq, 0, len(seq))}
            yield Segment(self.db, keys, span if len(mates) > 1 else len(mates[0]), self.found)
            return
        for seq in mates:
            for at in range(0, len(seq), span):
                keys = set(self.sample(seq, at, at + span))
                yield Segment(self.db, keys, min(len(seq), span), self.found)

    def votes(self, segments):
        h, over, votes = Counter(), [t for s in segments for t in s.over], Counter()
        for s in segments:
            h.update(s.best(self.taxon_of))
            votes.update(s.votes)
        for taxon in h:
            h[taxon] += votes[self.db.own[taxon]]
        for species in votes:
            h[species] = max(h[species], votes[species])
        if h:
            for taxon in h:
                h[taxon] += sum(self.tree.above(t, taxon) or self.tree.above(taxon, t) for t in over)
            return h, False
        for taxon in set(over):
            h[taxon] = sum(self.tree.above(t, taxon) for t in over)
        return h, True

    def decide(self, h, n, segments):
        tree, rule = self.tree, self.rule
        h1 = max(h.values(), default=0)
        if n == 0 or h1 < rule.least(n)[0] or 1000 * h1 < rule.confidence * n:
            return None
        if h1 >= rule.least(n)[1]:
            near = {t for t in h if h[t] >= rule.near_species(h1, n)}
            if tree.species[tree.lca(near)] is not None:
                return tree.lca(near)
            if len(segments) == 1 and (segments[0].hits or segments[0].votes):
                rivals, by_vote = segments[0].rivals(self.taxon_of)
                near = {t for t in near
                        if h[t] == h1 or t in rivals or self.own_species(t) in by_vote}
                if tree.species[tree.lca(near)] is not None:
                    return tree.lca(near)
        taxon = tree.lca({t for t in h if h[t] >= rule.near_genus(h1)})
        if tree.genus[taxon] is not None:
            taxon = tree.genus[taxon]
        return taxon or None

    def line(self, name, mates):
        segments = list(self.segments(mates))
        n = sum(s.n for s in segments)
        h, only_over = self.votes(segments)
        hits = min(n, max(h.values(), default=0))
        taxon = self.decide(h, n, segments)
        if taxon is not None and only_over and self.tree.species[taxon] is not None:
            taxon = self.tree.species[taxon]
        return line_of(self.db, name, mates, taxon, n, hits)


def main(args):
    confidence = 0.0
    if "--confidence" in args:
        at = args.index("--confidence")
        confidence = float(args[at + 1])
        del args[at:at + 2]
    db_path, calls, *reads = args
    db = Database(db_path)
    classifier = Classifier(db, Rule(db, confidence))
    number = 0
    with open(calls) as got:
        for number, fragment in enumerate(zip(*map(records, reads)), 1):
            name = fragment[0][0]
            if len(reads) > 1 and name[-2:] in ("/1", "/2"):
                name = name[:-2]
            want = classifier.line(name, [seq for _, seq in fragment])
            line = got.readline().rstrip("\n")
            if line != want:
                sys.exit("line %d is    %s\nand should be %s" % (number, line, want))
        if got.readline():
            sys.exit("more lines than the %d fragments" % number)
    print("%d lines" % number)


if __name__ == "__main__":
    main(sys.argv[1:])
