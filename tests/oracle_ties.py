#!/usr/bin/env python3
"""oracle_ties.py - calls of single reads against all places of a database's text

    oracle_ties.py DATABASE.khdb CALLS.tsv READS

Each read is compared, by both strands, wherever the text, or an allele in it, has any 12 of its bases: so with no more
than 3 mismatches no place is missed, whatever the index has.  Where the best place is such a one, the call is the LCA of
all species that have as good a one, or of the genus of that; of one species also a strain of it.  Exits 0 if it is; says how many reads fit several.
"""
import itertools
import sys
from collections import defaultdict

from oracle_classify import Classifier
from oracle_db import Database
from oracle_sampling import records, reverse_complement

K, NEAR = 12, 6


def places_of(classifier):
    """12 bases: where the text has them, with any of its alleles"""
    places = defaultdict(set)
    for number, (text, other) in enumerate(zip(classifier.texts, classifier.others)):
        bases = [a if a == b else a + b for a, b in zip(text, other)]
        for at in range(len(text) - K + 1):
            window = bases[at:at + K]
            if sum(len(x) > 1 for x in window) <= 6:
                for kmer in itertools.product(*window):
                    places["".join(kmer)].add((number, at))
    return places


def best_of(classifier, places, seq):
    """By species, the best score of a read anywhere"""
    best = {}
    for read in (seq, reverse_complement(seq)):
        lies = {(number, at - i) for i in range(len(read) - K + 1) for number, at in places.get(read[i:i + K], ())}
        for number, at in lies:
            score = classifier.hsp(number, read, at, 0, len(read))[0]
            species = classifier.species(number)
            best[species] = max(best.get(species, 0), score)
    return best


def main(args):
    db_path, calls, reads = args
    db = Database(db_path)
    classifier = Classifier(db, 0)
    places, taxon_of = places_of(classifier), {taxon[0]: i for i, taxon in enumerate(db.taxa)}
    near = several = 0
    with open(calls) as lines:
        for (name, seq), line in zip(records(reads), lines):
            best = best_of(classifier, places, seq)
            most = max(best.values(), default=0)
            if most < len(seq) - NEAR:
                continue
            fit = {s for s in best if best[s] == most}
            taxid = int(line.split("\t")[2])
            lca = classifier.tree.lca(fit)
            want = lca if classifier.tree.species[lca] is not None else classifier.tree.raised(lca)
            near += 1
            several += len(fit) > 1
            called = taxon_of[taxid] if taxid else None
            # of one species the call may be a strain
            if called != want and not (fit == {want} and called is not None and classifier.tree.species[called] == want):
                sys.exit("%s is called %d, and fits %s" % (name, taxid, [db.taxa[s][0] for s in fit]))
    print("%d reads, %d of which fit several species" % (near, several))
    sys.exit(several < 10)


if __name__ == "__main__":
    main(sys.argv[1:])
