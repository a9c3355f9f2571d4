#!/usr/bin/env python3
"""divide.py - references divided at random by species: the parts, and all of them in that order

    divide.py SEED N REFS.fa TAXONOMY OUT      OUT.1.fa ... OUT.N.fa, none empty, and OUT.all.fa;
                                               the headers have taxid|T
"""
import random
import re
import sys


def species_of(taxonomy):
    rows = [re.split(r"\t\|\t?", line) for line in open(taxonomy + "/nodes.dmp")]
    parent = {row[0]: row[1] for row in rows}
    rank = {row[0]: row[2] for row in rows}

    def find(taxid):
        up = taxid
        while rank[up] != "species" and up != "1":
            up = parent[up]
        return up if up != "1" else taxid
    return find


def main(seed, n, refs, taxonomy, out):
    rng, find = random.Random(int(seed)), species_of(taxonomy)
    records = [">" + text for text in open(refs).read().split(">")[1:]]
    of = [find(re.search(r"taxid\|(\d+)", text.split("\n")[0])[1]) for text in records]
    species = sorted(set(of))
    rng.shuffle(species)
    # each part has one species, and the others are thrown
    part = {s: i if i < int(n) else rng.randrange(int(n)) for i, s in enumerate(species)}
    with open(out + ".all.fa", "w") as all_of_them:
        for i in range(int(n)):
            text = "".join(text for text, s in zip(records, of) if part[s] == i)
            all_of_them.write(text)
            with open(f"{out}.{i + 1}.fa", "w") as f:
                f.write(text)


main(*sys.argv[1:])
