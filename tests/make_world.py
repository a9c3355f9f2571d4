#!/usr/bin/env python3
"""make_world.py - made-up references and reads for the tests, the same ones at any time

    make_world.py reads N OUT GENOME...        N FASTQ reads of the genomes: of 0 to 4000 bases,
                                               with errors, gaps, Ns, both strands, chimeras, random ones
    make_world.py pairs N OUT_1 OUT_2 GENOME...    pairs of such, some of them longer than a span
    make_world.py short N OUT GENOME...        N reads of 25 to 50 bases with 3 % of substitutions
    make_world.py sample N OUT LENGTH SPEC...  N reads of a sample; SPEC: GENOME:WEIGHT:DIVERGENCE
    make_world.py strains N DIR DATA [S]       N strains of a stretch of phiX174, in S species of its
                                               genus (1), with a taxonomy (DIR/taxonomy,
                                               DIR/refs.fa), DIR/reads.fq of them
    make_world.py sisters DIR DATA             four close species of 140 kbp (DIR/taxonomy, DIR/refs.fa),
                                               DIR/reads.fq of one of them and of a fifth one,
                                               DIR/long.fq of 400 to 2500 bases, and
                                               DIR/gaps.fq of 1300 with many gaps
    make_world.py elements DIR DATA            18 species of two strains, all with one element, and 14
                                               of them with another one (DIR/taxonomy, DIR/first.fa,
                                               DIR/second.fa, of each one strain), and DIR/reads.fq of
                                               the first element
    make_world.py isolate DIR DATA             a species of two strains of 40 kbp, 1.5 % apart (DIR/taxonomy,
                                               DIR/refs.fa), and reads of a third one, of one of the two,
                                               and of both: DIR/third.fq, DIR/first.fq, DIR/both.fq
    make_world.py kin DIR DATA                 three species of a genus, 60 kbp: two that are 3 % apart (DIR/taxonomy,
                                               DIR/near.fa), one of these and one 13 % away (DIR/wide.fa),
                                               and DIR/reads.fq of something 13 % from all
    make_world.py below DIR DATA               two species of 12 kbp, one with targets of its own taxon, of two
                                               strains of a serotype, and of a third strain (DIR/taxonomy,
                                               DIR/refs.fa), and of them DIR/reads.fq, DIR/long.fq, and
                                               DIR/pairs_1.fq, DIR/pairs_2.fq
    make_world.py carriers DIR DATA            four close species of 30 kbp, and 30 species that are one element
                                               (DIR/taxonomy, DIR/refs.fa), and DIR/pairs_1.fq, DIR/pairs_2.fq
                                               of the four, 3 to 10 % from them
"""
import os
import random
import sys

from oracle_sampling import records, reverse_complement

RNG = random.Random(7)


def mutated(seq, rate):
    return "".join(RNG.choice("ACGT") if RNG.random() < rate else c for c in seq)


def with_gaps(seq, rate):
    """some bases with another one behind them, and as many that are missing"""
    kinds = {0: lambda c: c + RNG.choice("ACGT"), 1: lambda c: ""}
    return "".join(kinds[RNG.randrange(2)](c) if RNG.random() < rate else c for c in seq)


def stretch(genomes, length):
    seq = RNG.choice(genomes)
    at = RNG.randrange(max(1, len(seq) - length))
    part = mutated(seq[at:at + length], RNG.choice((0, 0, 0.01, 0.03, 0.08, 0.15)))
    return reverse_complement(part) if RNG.random() < 0.5 else part


def read(genomes, number):
    length = RNG.choice((0, 5, 17, 30, 50, 75, 100, 150, 150, 150, 250, 500, 1000, 1008, 1009, 1500, 4000))
    kind = number % 8
    if kind == 0:
        seq = "".join(RNG.choices("ACGT", k=length))
    elif kind == 1:
        seq = stretch(genomes, length // 2) + stretch(genomes, length - length // 2)
    else:
        seq = stretch(genomes, length)
    if kind == 2:
        seq = "".join("N" if RNG.random() < 0.02 else c for c in seq)
    if kind == 3:
        seq = seq.lower()
    if kind >= 6:
        seq = with_gaps(seq, RNG.choice((0.01, 0.03, 0.06)))
    return seq


def short_read(genomes):
    """of any genome, however long"""
    seq, length = RNG.choice(genomes), RNG.randrange(25, 51)
    at = RNG.randrange(len(seq) - length)
    part = mutated(seq[at:at + length], 0.04)
    return reverse_complement(part) if RNG.random() < 0.5 else part


def fastq(out, name, seq):
    out.write("@%s\n%s\n+\n%s\n" % (name, seq, "I" * len(seq)))


def put_reads(path, name, reads):
    with open(path, "w") as out:
        for i, seq in enumerate(reads):
            fastq(out, "%s%d" % (name, i), seq)


def put_refs(path, seqs):
    """(name, taxid, bases) of each"""
    with open(path, "w") as out:
        out.writelines(">%s kraken:taxid|%d\n%s\n" % ref for ref in seqs)


def piece(seq, length, rate):
    at = RNG.randrange(len(seq) - length)
    return mutated(seq[at:at + length], rate)


def random_bases(n):
    return "".join(RNG.choices("ACGT", k=n))


def sister_taxonomy(folder, data, species, leaves):
    """The taxonomy with more species of the genus of phiX174, and taxa (taxid, parent) below these"""
    with open(data + "/taxonomy/nodes.dmp") as nodes:
        genus = next(row.split("|")[1].strip() for row in nodes if row.split("|")[0].strip() == "10847")
    os.makedirs(folder + "/taxonomy")
    with open(data + "/taxonomy/nodes.dmp") as f, open(folder + "/taxonomy/nodes.dmp", "w") as out:
        out.write(f.read())
        out.writelines("%d\t|\t%s\t|\tspecies\t|\n" % (i, genus) for i in species)
        out.writelines("%d\t|\t%d\t|\tstrain\t|\n" % leaf for leaf in leaves)
    with open(data + "/taxonomy/names.dmp") as f, open(folder + "/taxonomy/names.dmp", "w") as out:
        out.write(f.read())
        made = species + [taxid for taxid, _ in leaves]
        out.writelines("%d\t|\tphiX174 made-up %d\t|\t\t|\tscientific name\t|\n" % (i, i) for i in made)


def sisters(folder, data, apart=0.008):
    base = random_bases(140000)
    names, seqs = range(8000001, 8000005), [mutated(base, apart / 2) for _ in range(5)]
    sister_taxonomy(folder, data, list(names), [])
    put_refs(folder + "/refs.fa", (("s%d" % name, name, seq) for name, seq in zip(names, seqs)))
    strains_of = (mutated(seqs[0], 0.003), mutated(seqs[4], 0.003))
    put_reads(folder + "/reads.fq", "s", (piece(strains_of[i % 4 == 0], 150, 0.004) for i in range(6000)))

    def long_read(i):
        seq, length = strains_of[i % 4 == 0], RNG.choice((400, 900, 1300, 1900, 2500))
        at = RNG.randrange(len(seq) - length)
        return mutated(seq[at:at + length], RNG.choice((0, 0.01, 0.05)))
    put_reads(folder + "/long.fq", "l", map(long_read, range(700)))

    def read_with_gaps(i):
        seq = strains_of[i % 4 == 0]
        at = RNG.randrange(len(seq) - 1300)
        return with_gaps(mutated(seq[at:at + 1300], 0.01), 0.02)
    put_reads(folder + "/gaps.fq", "g", map(read_with_gaps, range(150)))


def elements(folder, data):
    names = range(8000001, 8000019)
    shared, first, second = [random_bases(1500) for _ in range(2)], [], []
    sister_taxonomy(folder, data, list(names), [])
    for i, name in enumerate(names):
        parts = [random_bases(800) for _ in range(3)]
        seq = parts[0] + shared[0] + parts[1] + (shared[1] if i < 14 else "") + parts[2]
        first.append(("e%d.1" % name, name, seq))
        second.append(("e%d.2" % name, name, mutated(seq, 0.01)))
    put_refs(folder + "/first.fa", first)
    put_refs(folder + "/second.fa", second)
    put_reads(folder + "/reads.fq", "e", (piece(shared[0][128:1372], 150, 0.02) for _ in range(600)))


def below(folder, data):
    species, serotype, leaves = [8000001, 8000002], 9000001, [9000002, 9000003, 9000004]
    parents = [(serotype, species[0]), (leaves[0], serotype), (leaves[1], serotype), (leaves[2], species[0])]
    sister_taxonomy(folder, data, species, parents)
    repeat = random_bases(500)
    parts = [random_bases(2600) for _ in range(4)]
    base = repeat.join(parts)
    group = mutated(base, 0.004)
    own = {leaves[0]: random_bases(800), leaves[2]: random_bases(800)}
    seqs = [(leaves[0], with_gaps(mutated(group, 0.003), 0.0005) + own[leaves[0]]),
            (leaves[2], own[leaves[2]] + with_gaps(mutated(base, 0.008), 0.0005)),
            (leaves[1], reverse_complement(with_gaps(mutated(group, 0.003), 0.0005))),
            (species[0], mutated(base, 0.008)[:6000]), (species[1], mutated(base, 0.05)), (leaves[2], mutated(repeat, 0.005))]
    put_refs(folder + "/refs.fa", (("b%d" % i, *of) for i, of in enumerate(seqs)))
    reads, ones, twos = (open(folder + name, "w") for name in ("/reads.fq", "/pairs_1.fq", "/pairs_2.fq"))
    for i in range(300):
        taxid, seq = seqs[i % 5]
        at, rate = RNG.randrange(len(seq) - 400), RNG.choice((0, 0.004, 0.02, 0.05))
        part = seq[at:at + 400] if RNG.random() < 0.5 else reverse_complement(seq[at:at + 400])
        fastq(reads, "%d-%d" % (taxid, i), with_gaps(mutated(part[:RNG.choice((60, 100, 150, 250))], rate), rate / 20))
        fastq(ones, "%d-%d/1" % (taxid, i), mutated(part[:120], rate))
        fastq(twos, "%d-%d/2" % (taxid, i), mutated(reverse_complement(part[-120:]), rate))
    for out in (reads, ones, twos):
        out.close()
    with open(folder + "/long.fq", "w") as reads:
        for i in range(60):
            taxid, seq = seqs[i % 5]
            length = RNG.choice((400, 900, 1900, 3500))
            at, rate = RNG.randrange(len(seq) - length), RNG.choice((0, 0.02, 0.06))
            fastq(reads, "%d-%d" % (taxid, i), with_gaps(mutated(seq[at:at + length], rate), rate / 4))


def carriers(folder, data):
    names = list(range(8000001, 8000035))
    sister_taxonomy(folder, data, names, [])
    base, element = random_bases(30000), random_bases(20000)
    seqs = [mutated(base, 0.02) for _ in range(4)] + [element] * 30
    put_refs(folder + "/refs.fa", (("c%d" % name, name, seq) for name, seq in zip(names, seqs)))
    with open(folder + "/pairs_1.fq", "w") as ones, open(folder + "/pairs_2.fq", "w") as twos:
        for i in range(4000):
            at = RNG.randrange(len(base) - 400)
            part, rate, length = seqs[i % 4][at:at + 400], RNG.choice((0.03, 0.06, 0.1)), RNG.choice((100, 150))
            fastq(ones, "c%d/1" % i, mutated(part[:length], rate))
            fastq(twos, "c%d/2" % i, mutated(reverse_complement(part[-length:]), rate))


def isolate(folder, data):
    sister_taxonomy(folder, data, [8000001], [(9000001, 8000001), (9000002, 8000001)])
    base = random_bases(40000)
    one, two, third = (mutated(base, 0.01) for _ in range(3))
    put_refs(folder + "/refs.fa", [("i1", 9000001, one), ("i2", 9000002, two)])
    for name, seqs in (("third", [third]), ("first", [one]), ("both", [one, one, two])):
        put_reads("%s/%s.fq" % (folder, name), "i", (piece(RNG.choice(seqs), 150, 0.003) for _ in range(600)))


def kin(folder, data):
    base = random_bases(60000)
    sister_taxonomy(folder, data, [8000001, 8000002, 8000003], [])
    refs = [("k%d" % i, i, mutated(base, rate)) for i, rate in ((8000001, 0.02), (8000002, 0.02), (8000003, 0.16))]
    put_refs(folder + "/near.fa", refs[:2])
    put_refs(folder + "/wide.fa", refs[1:])
    seq = mutated(base, 0.16)
    put_reads(folder + "/reads.fq", "k", (piece(seq, 150, 0.003) for _ in range(900)))


def strains(n, folder, data, n_species=1):
    base = dict(records(data + "/genomes/Escherichia_virus_phiX174.NC_001422.1.fa.gz"))["NC_001422.1"][:1500]
    species = [10847] + [8000000 + i for i in range(1, n_species)]
    divergence = 0.02 if n_species < 10 else 0.001
    kinds = [mutated(base, divergence) if i else base for i in range(n_species)]
    sister_taxonomy(folder, data, species[1:], [(9000000 + i, species[i % n_species]) for i in range(n)])
    with open(folder + "/refs.fa", "w") as refs, open(folder + "/reads.fq", "w") as reads:
        for i in range(n):
            seq = mutated(kinds[i % n_species], 0.002)
            refs.write(">strain%d kraken:taxid|%d\n%s\n" % (i, 9000000 + i, seq))
            at = RNG.randrange(1350)
            fastq(reads, "strain%d" % i, mutated(seq[at:at + 150], 0.005))


def sample(n, path, length, specs):
    """Reads of genomes as they are, or of strains of them; genes differ in how far they are off."""
    specs = [spec.rsplit(":", 2) for spec in specs]
    total, number = sum(float(weight) for _, weight, _ in specs), 0
    with open(path, "w") as out:
        for genome, weight, divergence in specs:
            seqs = []
            for _, seq in records(genome):
                genes = [seq[at:at + 900] for at in range(0, len(seq), 900)]
                rates = [float(divergence) * RNG.gammavariate(1.5, 1 / 1.5) for _ in genes]
                seqs.append("".join(mutated(g, min(0.3, r)) for g, r in zip(genes, rates)))
            for _ in range(round(n * float(weight) / total)):
                seq = RNG.choice(seqs)
                at = RNG.randrange(max(1, len(seq) - length + 1))
                part = mutated(seq[at:at + length], 0.004)
                fastq(out, "s%d" % number, reverse_complement(part) if RNG.random() < 0.5 else part)
                number += 1


def main(args):
    command = args.pop(0)
    made = {"elements": elements, "isolate": isolate, "below": below, "kin": kin, "carriers": carriers,
            "sample": lambda n, path, length, *specs: sample(int(n), path, int(length), specs),
            "sisters": lambda folder, data, *apart: sisters(folder, data, *map(float, apart)),
            "strains": lambda n, folder, data, *more: strains(int(n), folder, data, *map(int, more))}
    if command in made:
        made[command](*args)
        return
    n = int(args.pop(0))
    files = [open(args.pop(0), "w") for _ in range(2 if command == "pairs" else 1)]
    genomes = [seq for path in args for _, seq in records(path)]
    for i in range(n):
        for mate, out in enumerate(files, 1):
            seq = short_read(genomes) if command == "short" else read(genomes, i)
            fastq(out, "r%d%s" % (i, "/%d" % mate if len(files) > 1 else ""), seq)
    for out in files:
        out.close()


if __name__ == "__main__":
    main(sys.argv[1:])
