#!/usr/bin/env python3
"""make_world.py - made-up references and reads for the tests, the same ones at any time

    make_world.py reads N OUT GENOME...        N FASTQ reads of the genomes: of 0 to 4000 bases,
                                               with errors, Ns, both strands, chimeras, random ones
    make_world.py pairs N OUT_1 OUT_2 GENOME...    pairs of such, some of them longer than a span
    make_world.py strains N DIR DATA           N strains of a stretch of phiX174 with a taxonomy
                                               (DIR/taxonomy, DIR/refs.fa), DIR/reads.fq of them
"""
import os
import random
import sys

from oracle_sketch import records

RNG = random.Random(7)
PAIRS = str.maketrans("ACGT", "TGCA")


def mutated(seq, rate):
    return "".join(RNG.choice("ACGT") if RNG.random() < rate else c for c in seq)


def stretch(genomes, length):
    seq = RNG.choice(genomes)
    at = RNG.randrange(max(1, len(seq) - length))
    part = mutated(seq[at:at + length], RNG.choice((0, 0, 0.01, 0.03, 0.08, 0.15)))
    return part.translate(PAIRS)[::-1] if RNG.random() < 0.5 else part


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
    return seq


def fastq(out, name, seq):
    out.write("@%s\n%s\n+\n%s\n" % (name, seq, "I" * len(seq)))


def strains(n, folder, data):
    base = dict(records(data + "/genomes/Escherichia_virus_phiX174.NC_001422.1.fa.gz"))["NC_001422.1"][:1500]
    os.makedirs(folder + "/taxonomy")
    for name, row in (("nodes", "%d\t|\t10847\t|\tstrain\t|\n"),
                      ("names", "%d\t|\tphiX174 made-up strain\t|\t\t|\tscientific name\t|\n")):
        with open("%s/taxonomy/%s.dmp" % (data, name)) as f, open("%s/taxonomy/%s.dmp" % (folder, name), "w") as o:
            o.write(f.read())
            o.writelines(row % (9000000 + i) for i in range(n))
    with open(folder + "/refs.fa", "w") as refs, open(folder + "/reads.fq", "w") as reads:
        for i in range(n):
            seq = mutated(base, 0.002)
            refs.write(">strain%d kraken:taxid|%d\n%s\n" % (i, 9000000 + i, seq))
            at = RNG.randrange(1350)
            fastq(reads, "strain%d" % i, mutated(seq[at:at + 150], 0.005))


def main(args):
    command = args.pop(0)
    if command == "strains":
        strains(int(args[0]), args[1], args[2])
        return
    n = int(args.pop(0))
    files = [open(args.pop(0), "w") for _ in range(2 if command == "pairs" else 1)]
    genomes = [seq for path in args for _, seq in records(path)]
    for i in range(n):
        for mate, out in enumerate(files, 1):
            fastq(out, "r%d%s" % (i, "/%d" % mate if len(files) > 1 else ""), read(genomes, i))
    for out in files:
        out.close()


if __name__ == "__main__":
    main(sys.argv[1:])
