#!/usr/bin/env python3
"""What Bracken makes of a database and of a report, by the rules of its programs.

    oracle_bracken.py world DIR            references (DIR/a.fa, DIR/b.fa), DIR/taxonomy, DIR/map of
                                           sequences, DIR/reads.fq of known species (DIR/truth)
    oracle_bracken.py nmers N STEP FASTA...     their N-mers as FASTA, named by their sequence
    oracle_bracken.py distrib MAP          of the lines of those on standard input: N-mers counted
                                           (kmer2read_distr) and put together (generate_kmer_distribution)
    oracle_bracken.py estimate REPORT DISTRIB LEVEL LEAST     the table of est_abundance
"""
import os
import random
import sys

from oracle_sampling import records

LEVELS = "RKDPCOFGS"


# --- made-up references: two genera, species of which some have strains that are much alike ---------
NODES = [(1, 1, "no rank", "root"), (2, 1, "superkingdom", "Bacteria"), (10, 2, "family", "Familia"),
         (20, 10, "genus", "Alpha"), (30, 10, "genus", "Beta"),
         (21, 20, "species", "Alpha una"), (22, 20, "species", "Alpha duo"),
         (31, 30, "species", "Beta una"), (32, 30, "species", "Beta duo"),
         (211, 21, "strain", "Alpha una a"), (212, 21, "strain", "Alpha una b"),
         (2110, 211, "isolate", "Alpha una a 0")]


def world(folder):
    rng = random.Random(11)

    def mutated(seq, rate):
        return "".join(rng.choice("ACGT") if rng.random() < rate else c for c in seq)

    def made(n):
        return "".join(rng.choices("ACGT", k=n))

    os.makedirs(folder + "/taxonomy")
    with open(folder + "/taxonomy/nodes.dmp", "w") as nodes, open(folder + "/taxonomy/names.dmp", "w") as names:
        for taxid, parent, rank, name in NODES:
            nodes.write("%d\t|\t%d\t|\t%s\t|\n" % (taxid, parent, rank))
            names.write("%d\t|\t%s\t|\t\t|\tscientific name\t|\n" % (taxid, name))
    shared = made(700)                          # all of them have this: calls at the family
    una = made(2000) + shared + made(300)
    duo = una[:1500] + mutated(una[1500:], 0.08)
    beta = made(1200) + shared + made(900)
    genomes = {22: duo, 211: una, 212: mutated(una, 0.01), 2110: mutated(una, 0.002), 31: beta,
               32: mutated(beta, 0.02)}
    genomes[32] = genomes[32][:900] + "N" * 40 + genomes[32][900:]
    files = {name: open("%s/%s.fa" % (folder, name), "w") for name in "ab"}
    with open(folder + "/map", "w") as out:
        for i, (taxid, seq) in enumerate(genomes.items()):
            cuts = [0, 60, 131, 400, 399 + rng.randrange(900), len(seq)]
            for j, (start, end) in enumerate(zip(cuts, cuts[1:])):
                files["ab"[(i + j) % 2]].write(">s%d.%d words\n%s\n" % (taxid, j, (seq[start:end]).lower()
                                               if j == 3 else seq[start:end]))
                out.write("s%d.%d\t%d\n" % (taxid, j, taxid))
        out.write("elsewhere\t0\n")
    files["a"].write(">nowhere\n%s\n>empty\n" % made(500))
    with open(folder + "/map", "a") as out:
        out.write("empty\t31\n")
    with open(folder + "/reads.fq", "w") as out, open(folder + "/truth", "w") as truth:
        for species, genome, n in ((21, 212, 1200), (22, 22, 300), (31, 31, 800)):
            truth.write("%d\t%d\n" % (species, n))
            for i in range(n):
                at = rng.randrange(len(genomes[genome]) - 100)
                out.write("@%d.%d\n%s\n+\n%s\n" % (genome, i, mutated(genomes[genome][at:at + 100], 0.002), "I" * 100))


def nmers(n, step, *paths):
    for path in paths:
        for name, seq in records(path):
            for at in range(0, len(seq) - int(n) + 1, int(step)):
                print(">%s\n%s" % (name, seq[at:at + int(n)]))


# --- the table of a database -----------------------------------------------------------------------
def distrib(path):
    genome_of = dict(line.rstrip("\n").split("\t") for line in open(path))
    sequences = {}                              # kmer2read_distr: a line each, calls by taxid
    for line in sys.stdin:
        _, name, call = line.split("\t")[:3]
        if genome_of.get(name, "0") != "0":
            calls = sequences.setdefault(name, {})
            calls[int(call)] = calls.get(int(call), 0) + 1
    genomes, total = {}, {}                     # generate_kmer_distribution
    for name, calls in sequences.items():
        genome = genome_of[name]
        counts = genomes.setdefault(genome, {})
        for call in sorted(calls):
            counts[call] = counts.get(call, 0) + calls[call]
            total[genome] = total.get(genome, 0) + calls[call]
    mapped = {}
    for genome, counts in genomes.items():
        for call in counts:
            mapped.setdefault(call, []).append(genome)
    print("mapped_taxid\tgenome_taxids:kmers_mapped:total_genome_kmers")
    for call, of in mapped.items():
        print("%d\t%s" % (call, "".join("%s:%d:%d " % (g, genomes[g][call], total[g]) for g in of)))


# --- what is made of a report ------------------------------------------------------------------------
class Node:
    def __init__(self, parent, row):
        self.parent, (self.clade, self.direct, code, self.taxid, self.depth, self.name) = parent, row
        self.code = code if len(code) == 1 else None
        if self.code is None:                   # codes of more than a letter are made anew
            base = parent.code if parent else "R"
            self.code = base[0] + str(int(base[1:] or 0) + 1)


def read_report(path):
    nodes, way = [], []
    for line in open(path):
        column = line.rstrip("\n").split("\t")
        name = column[-1].lstrip(" ")
        row = (int(column[1]), int(column[2]), column[3], column[4], (len(column[-1]) - len(name)) // 2, name)
        if row[2] == "U":
            continue
        if row[3] != "1" and not way:
            sys.exit("a taxon stands before the root")
        del way[row[4]:]
        if len(way) != row[4]:
            sys.exit("%s: its parent is not the line before" % name)
        way.append(Node(way[-1] if way else None, row))
        nodes.append(way[-1])
    return nodes


def estimate(report, table, level, least):
    nodes = read_report(report)
    chosen, genomes, now = {}, {}, None         # genomes: [taxon at the level, direct, added]
    for node in nodes:
        if node.code == level:
            now = node if node.clade >= int(least) else None
            if now:
                chosen[now.taxid] = now
                genomes[now.taxid] = [now.taxid, node.direct, 0.0]
        elif now and LEVELS.index(node.code[0]) >= LEVELS.index(level[0]):
            genomes[node.taxid] = [now.taxid, node.direct, 0.0]
        else:
            now = now if node.code[0] == level[0] else None
    shares = {}
    for line in open(table).read().splitlines()[1:]:
        taxid, entries = line.strip().split("\t")
        share = {}
        for entry in entries.split(" "):
            genome, mapped, total = entry.split(":")
            if genome in genomes:
                share[genome] = float(mapped) / float(total)
        if share:
            shares[taxid] = share
    for node in nodes:                          # reads above the level go to genomes below it
        above = LEVELS.index(node.code[0]) < LEVELS.index(level[0])
        if not above or node.direct == 0 or node.taxid not in shares:
            continue
        size = {g: genomes[g][1] / shares.get(g, {}).get(g, 1.0) for g in shares[node.taxid]}
        weight = {g: shares[node.taxid][g] * size[g] for g in size}
        if sum(weight.values()) > 0:
            for genome in weight:
                genomes[genome][2] += node.direct * weight[genome] / sum(weight.values())
    added = {taxid: sum(g[2] for g in genomes.values() if g[0] == taxid) for taxid in chosen}
    everything = sum(node.clade + added[taxid] for taxid, node in chosen.items())
    if not everything:
        sys.exit("no reads at this level")
    print("name\ttaxonomy_id\ttaxonomy_lvl\tkraken_assigned_reads\tadded_reads\tnew_est_reads\tfraction_total_reads")
    for taxid, node in chosen.items():
        new = int(node.clade + added[taxid])
        print("%s\t%s\t%s\t%d\t%d\t%d\t%.5f" % (node.name, taxid, level, node.clade, new - node.clade, new,
                                                new / int(everything)))


if __name__ == "__main__":
    {"world": world, "nmers": nmers, "distrib": distrib, "estimate": estimate}[sys.argv[1]](*sys.argv[2:])
