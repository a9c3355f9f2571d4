#!/usr/bin/env python3
"""make_genes.py - a made-up collection of genomes that are mostly genes, and reads of species of its
genera that are not in it

    make_genes.py FOLDER [NEAR]

writes refs.fa, taxonomy/ and pairs and single reads: of two families of three genera, each with two
species in the references and a third one only in the reads; genomes of the second family are by genetic
code 4; of the first one a fourth genus is only in long reads.  With NEAR, such a share of codons may change from one to the other, in place of more.
"""
import os
import random
import sys

from oracle_sampling import reverse_complement

STOPS = ("TAA", "TAG", "TGA")
CODONS = [a + b + c for a in "ACGT" for b in "ACGT" for c in "ACGT" if a + b + c not in STOPS]
GENES, FAMILIES, GENERA, SPECIES = 90, 2, 3, 3


def gene(rng):
    return ["ATG"] + rng.choices(CODONS, k=rng.randrange(50, 500)) + [rng.choice(STOPS)]


def drift(rng, codons, share):
    """Some codons change: most of them in their last base."""
    changed = list(codons)
    for i in range(1, len(codons) - 1):
        if rng.random() >= share:
            continue
        at = 2 if rng.random() < 0.8 else rng.randrange(3)
        new = codons[i][:at] + rng.choice("ACGT") + codons[i][at + 1:]
        changed[i] = new if new not in STOPS else codons[i]
    return changed


def genome(rng, genes):
    parts = []
    for codons in genes:
        bases = "".join(codons)
        parts.append(bases if rng.random() < 0.5 else reverse_complement(bases))
        parts.append("".join(rng.choices("ACGT", k=rng.randrange(20, 150))))
    text = "".join(parts)
    at = rng.randrange(len(text))
    return text[:at] + "N" * 40 + text[at + 40:]


def collection(rng, genus_drift, species_drift):
    """(taxid, name, rank, parent) of taxa; (taxid, bases) of species; the ones that are left out; a
    species of a genus that is"""
    taxa, species, absent = [(1, "root", "no rank", 1)], [], []
    for f in range(FAMILIES):
        ancestor = [gene(rng) for _ in range(GENES)]
        if f == 0:
            other = random.Random(26)
            alone = 1200, genome(other, [drift(other, codons, genus_drift) for codons in ancestor])
        if f == 1:
            ancestor = [["TGA" if codon == "TGG" else codon for codon in codons] for codons in ancestor]
        family = 10 + f
        taxa.append((family, f"family {f}", "family", 1))
        for g in range(GENERA):
            genes = [drift(rng, codons, genus_drift) for codons in ancestor]
            genus = 100 + 10 * f + g
            taxa.append((genus, f"genus {genus}", "genus", family))
            for s in range(SPECIES):
                own = genome(rng, [drift(rng, codons, species_drift) for codons in genes])
                taxid = 10 * genus + s
                taxa.append((taxid, f"species {taxid}", "species", genus))
                (species if s < 2 else absent).append((taxid, own))
    # a species without a genus
    taxa.append((9000, "species alone", "species", 1))
    species.append((9000, genome(rng, [gene(rng) for _ in range(10)])))
    return taxa, species, absent, alone


def with_errors(rng, bases, rate):
    return "".join(rng.choice("ACGTN") if rng.random() < rate else base for base in bases)


def fragment(rng, genomes, least, most):
    _, bases = rng.choice(genomes)
    size = rng.randrange(least, most)
    at = rng.randrange(len(bases) - size)
    piece = bases[at:at + size]
    return piece if rng.random() < 0.5 else reverse_complement(piece.replace("N", "A"))


def main():
    folder, rng = sys.argv[1], random.Random(25)
    os.makedirs(folder + "/taxonomy")
    near = [float(share) for share in sys.argv[2:]]
    taxa, species, absent, alone = collection(rng, *(near * 2 or (0.6, 0.5)))
    with open(folder + "/taxonomy/nodes.dmp", "w") as nodes, \
            open(folder + "/taxonomy/names.dmp", "w") as names:
        for taxid, name, rank, parent in taxa:
            code = 4 if str(taxid).startswith("11") else 11
            nodes.write(f"{taxid}\t|\t{parent}\t|\t{rank}\t|\t\t|\t0\t|\t1\t|\t{code}\t|\t1\t|\n")
            names.write(f"{taxid}\t|\t{name}\t|\t\t|\tscientific name\t|\n")
    with open(folder + "/refs.fa", "w") as out:
        for i, (taxid, bases) in enumerate(species):
            for part, at in enumerate(range(0, len(bases), 60000)):
                out.write(f">s{i}.{part}|kraken:taxid|{taxid}\n{bases[at:at + 60000]}\n")
    everyone = species + absent + absent
    with open(folder + "/reads.fq", "w") as out:
        for i in range(900):
            bases = with_errors(rng, fragment(rng, everyone, 50, 560), rng.choice((0, 0.01, 0.05)))
            out.write(f"@r{i}\n{bases}\n+\n{'I' * len(bases)}\n")
    with open(folder + "/long.fq", "w") as out:
        for i in range(200):
            least, most = rng.choice(((513, 700), (700, 3000)))
            bases = with_errors(rng, fragment(rng, everyone, least, most), rng.choice((0, 0.02, 0.05, 0.1)))
            out.write(f"@l{i}\n{bases}\n+\n{'I' * len(bases)}\n")
        for i in range(10):
            bases = fragment(random.Random(i), [alone], 2000, 3000)
            out.write(f"@l{200 + i}\n{bases}\n+\n{'I' * len(bases)}\n")
    with open(folder + "/pairs_1.fq", "w") as one, open(folder + "/pairs_2.fq", "w") as two:
        for i in range(900):
            bases = fragment(rng, everyone, 160, 600)
            size = rng.choice((60, 74, 75, 100, 150))
            for out, end in ((one, bases), (two, reverse_complement(bases.replace("N", "A")))):
                mate = with_errors(rng, end[:size], rng.choice((0, 0.02)))
                out.write(f"@p{i}\n{mate}\n+\n{'I' * len(mate)}\n")


if __name__ == "__main__":
    main()
