#!/usr/bin/env python3
"""Taxonomies as they are published, through build, classify and merge: which taxon of each rank a
read belongs to, and how many reads a taxon has, must be the same in every result.

    oracle_ranks.py KMERHASH FORM       in an empty folder; ncbi2023, ncbi2025, ...: see FORMS
"""
import collections
import os
import random
import re
import subprocess
import sys

LETTERS = "DKPCOFGS"
READS = 8                       # of each species; of the i-th one i more

# A species is the list of its lineage from the root on: (rank, name).
CELL = ("no rank", "cellular organisms")
COLI = [("phylum", "Pseudomonadota"), ("class", "Gammaproteobacteria"), ("order", "Enterobacterales"),
        ("family", "Enterobacteriaceae"), ("genus", "Escherichia"), ("species", "Escherichia coli")]
HAFNIA = COLI[:3] + [("family", "Hafniaceae"), ("genus", "Hafnia"), ("species", "Hafnia alvei")]
FLY = [("clade", "Opisthokonta"), ("kingdom", "Metazoa"), ("phylum", "Arthropoda"), ("class", "Insecta"),
       ("order", "Diptera"), ("family", "Muscidae"), ("genus", "Musca"), ("subgenus", "Musca (x)"),
       ("species", "Musca domestica")]
SARS = [("realm", "Riboviria"), ("kingdom", "Orthornavirae"), ("phylum", "Pisuviricota"),
        ("family", "Coronaviridae"), ("genus", "Betacoronavirus"), ("species", "SARS-related coronavirus"),
        ("no rank", "SARS-CoV-2")]
VIROID = [("family", "Avsunviroidae"), ("species", "Avocado sunblotch viroid")]
T4 = [("realm", "Duplodnaviria"), ("subrealm", "Subrealm x"), ("class", "Caudoviricetes"),
      ("genus", "Tequatrovirus"), ("species", "Tequatrovirus T4")]


def ncbi2023():
    top = lambda name: [("superkingdom", name)]
    return [[CELL] + top("Bacteria") + COLI, [CELL] + top("Bacteria") + HAFNIA,
            [CELL] + top("Eukaryota") + FLY, top("Viruses") + SARS, top("Viruses") + VIROID]


def ncbi2025():
    cell = ("cellular root", "cellular organisms")
    top, virus = lambda name: [cell, ("domain", name)], [("acellular root", "Viruses")]
    kingdom = [("kingdom", "Pseudomonadati")]
    return [top("Bacteria") + kingdom + COLI, top("Bacteria") + kingdom + HAFNIA, top("Eukaryota") + FLY,
            virus + SARS, virus + T4, virus + VIROID]


def mixed():                    # a superkingdom below a domain
    top = lambda name: [("cellular root", "cells"), ("domain", name), ("superkingdom", name + " proper")]
    return [top("Bacteria") + COLI, top("Bacteria") + HAFNIA, top("Eukaryota") + FLY,
            [("acellular root", "Viruses"), ("superkingdom", "RNA viruses")] + SARS]


def ictv():                     # realms are the uppermost
    return [SARS, T4, [("realm", "Ribozyviria"), ("family", "Kolmioviridae"), ("genus", "Deltavirus"),
                       ("species", "Deltavirus italiense")]]


def gtdb():
    top = [("domain", "Bacteria")]
    return [top + COLI, top + HAFNIA, [("domain", "Archaea"), ("phylum", "Halobacteriota"),
            ("class", "Halobacteria"), ("order", "Halobacteriales"), ("family", "Haloarculaceae"),
            ("genus", "Haloarcula"), ("species", "Haloarcula sp001488575")]]


def greengenes():
    top = [("domain", "Bacteria")]
    odd = top + [("phylum", "Firmicutes"), ("class", "Clostridia"), ("order", "Clostridiales"),
                 ("family", "Ruminococcaceae"), ("genus", "[Ruminococcus]"), ("species", "[Ruminococcus] gnavus")]
    return [top + COLI, top + HAFNIA, odd, top + HAFNIA[:5], odd[:4]]


def unite():
    top = [("kingdom", "Fungi"), ("phylum", "Ascomycota")]
    return [top + [("class", "Saccharomycetes"), ("order", "Saccharomycetales"), ("family", "Saccharomycetaceae"),
                   ("genus", "Saccharomyces"), ("species", "Saccharomyces_cerevisiae")],
            top + [("class", "Dothideomycetes"), ("order", "Abrothallales"), ("family", "Abrothallaceae"),
                   ("genus", "Abrothallus"), ("species", "Abrothallus_subhalei")]]


def silva():
    top, animal = [("domain", "Bacteria")], [("domain", "Eukaryota"), ("no rank", "Opisthokonta")]
    fly = [(r if r == "species" else "no rank", n) for r, n in FLY[1:]]
    return [top + COLI, top + HAFNIA[:5] + [("species", "uncultured bacterium")], animal + fly,
            # of seven parts, but its domain has longer ones
            animal + [("no rank", n) for n in "abcd"] + [("species", "Amoeba x")],
            animal + [("species", "metagenome")]]


def dada2():
    top = [("domain", "Bacteria")]
    return [top + COLI[:5], top + HAFNIA[:5], top + COLI[:4], top + COLI, top + COLI[:5]]


FORMS = dict(ncbi2023=ncbi2023, ncbi2025=ncbi2025, mixed=mixed, ictv=ictv, gtdb=gtdb, silva=silva,
             greengenes=greengenes, unite=unite, dada2=dada2)
LETTER_OF = {"superkingdom": "D", "domain": "D", "acellular root": "D", "realm": "D", "subrealm": "D",
             **{r: r[0].upper() for r in "kingdom phylum class order family genus species".split()}}


def named(lineage):
    """{letter: name}: the root-most taxon that can have a letter has it."""
    out = {}
    for rank, name in lineage:
        if rank in LETTER_OF:
            out.setdefault(LETTER_OF[rank], name)
    return out


def write_dump(species):
    taxid, nodes = {(): 1}, [(1, 1, "no rank", "root")]
    for lineage in species:
        for i in range(1, len(lineage) + 1):
            path = tuple(lineage[:i])
            if path not in taxid:
                taxid[path] = 10239 if lineage[i - 1][1] == "Viruses" else 100 + len(taxid)
                nodes.append((taxid[path], taxid[path[:-1]], *lineage[i - 1]))
    with open("nodes.dmp", "w") as f:
        f.writelines("%d\t|\t%d\t|\t%s\t|\n" % n[:3] for n in nodes)
    with open("names.dmp", "w") as f:
        f.writelines("%d\t|\t%s\t|\t\t|\tscientific name\t|\n" % (n[0], n[3]) for n in nodes)
    with open("m.tsv", "w") as f:
        f.writelines("s%d\t%d\n" % (i, taxid[tuple(s)]) for i, s in enumerate(species))
    return ["--taxonomy", ".", "-m", "m.tsv"]


def part(form, rank, name, lineage):
    letter = "k" if form == "greengenes" and rank == "domain" else rank[0]
    if form == "greengenes" and rank == "species":
        name = name.split()[-1]
    return letter + "__" + name


def header(form, i, lineage):
    """The header line of a form, and the options that read it."""
    names = [n for _, n in lineage]
    prefixed = [part(form, r, n, lineage) for r, n in lineage]
    if form == "silva":
        return f"s{i}.1.99 " + ";".join(names)
    if form == "unite":
        return f"{names[-1]}|MT{i}|SH{i}.10FU|refs|" + ";".join(prefixed)
    if form == "dada2":
        return ";".join(names) + ";"
    if form == "greengenes":
        prefixed += [x + "__" for x in "kpcofgs"[len(prefixed):]]
    with open("l.tsv", "a") as f:
        f.write(f"s{i}\t" + ("; " if form == "greengenes" else ";").join(prefixed) + "\n")
    return f"s{i}"


def make(form):
    random.seed(form)
    species, reads = FORMS[form](), []
    dump = form in ("ncbi2023", "ncbi2025", "mixed", "ictv")
    with open("g.fa", "w") as g, open("r.fa", "w") as r:
        for i, lineage in enumerate(species):
            bases = "".join(random.choice("ACGT") for _ in range(4000))
            g.write(f">{f's{i}' if dump else header(form, i, lineage)}\n{bases}\n")
            for k in range(READS + i):
                at = random.randrange(3800)
                r.write(f">r{len(reads)}\n{bases[at:at + 200]}\n")
                reads.append(lineage)
    options = (write_dump(species) if dump else ["--lineage", "l.tsv"] if form in ("gtdb", "greengenes")
               else ["--header-lineage"])
    return species, reads, options


def bracken(run, check, want, reads):
    """By est_abundance's rules a taxon of a rank gets its clade's reads and its part of those above
    it, which all have taxa of the rank below them or are not estimated."""
    run("bracken-distrib", "-q", "--db", "d.khdb", "--read-length", "100", "--step", "20", "--outdir", ".", "g.fa")
    for c in LETTERS:
        if not want[c]:
            continue
        p = subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "oracle_bracken.py"), "estimate",
                            "s.report", "database100mers.kmer_distrib", c, "1"], capture_output=True, text=True)
        check("Bracken -l " + c, (p.returncode, p.stderr), (0, ""))
        table = [line.split("\t") for line in p.stdout.splitlines()[1:]]
        check("Bracken -l " + c, {r[0]: int(r[3]) for r in table}, dict(want[c]))
        most = sum(int(r[5]) for r in table)
        check("Bracken -l " + c + ": all reads at most", sum(want[c].values()) <= most <= len(reads), True)


def main():
    program, form = sys.argv[1:]

    def run(*words):
        p = subprocess.run([program, *words], capture_output=True, text=True)
        if p.returncode:
            sys.exit(f"{form}: {' '.join(words)}: exit {p.returncode}: {p.stderr}")
        return [line.split("\t") for line in p.stdout.splitlines()]

    def check(what, got, want):
        if got != want:
            sys.exit(f"{form}: {what}: found {got}, expected {want}")

    species, reads, options = make(form)
    run("build", "-q", "--db", "d.khdb", *options, "g.fa")
    run("classify", "-q", "--db", "d.khdb", "--report", "s.report", "--output", "s.lines",
        "--set", "lineage-column", "r.fa")
    # how many reads each taxon with a letter has
    want = {c: collections.Counter(named(x)[c] for x in reads if c in named(x)) for c in LETTERS}
    got, above = {c: collections.Counter() for c in LETTERS}, []
    with open("s.report") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    for row in rows:
        name = row[5].lstrip(" ")
        depth = (len(row[5]) - len(name)) // 2
        above[depth:] = [row[3]]
        if row[3] in want:
            got[row[3]][name] += int(row[1])
            check("letters above " + name, above[:-1].count(row[3]), 0)
        elif depth:
            letter = next(c for c in reversed(above) if len(c) == 1)
            check("code of " + name, row[3], letter + str(depth - max(i for i, c in enumerate(above) if len(c) == 1)))
    check("report", got, want)
    for c in LETTERS:
        table = run("merge", "--rank", c, "s.report")[1:]
        check("merge --rank " + c, {r[2]: int(r[4]) for r in table}, dict(want[c]))
    # lines, one a read
    lineage = lambda x: ";".join(f"{c.lower()}__{named(x)[c]}" for c in LETTERS if c in named(x)) or "-"
    with open("s.lines") as f:
        check("lineages of lines", [line.rstrip("\n").split("\t")[5] for line in f], [lineage(x) for x in reads])
    krona = collections.Counter()
    for row in run("merge", "--format", "krona", "s.report"):
        krona[tuple(row[1:])] += int(row[0])
    check("Krona", krona, collections.Counter(
        tuple(named(x)[c] for c in LETTERS if c in named(x)) for x in reads))
    cami = [r for r in run("merge", "--format", "cami-profile", "s.report") if len(r) == 5 and r[0][0] != "@"]
    ranks = dict(zip("superkingdom phylum class order family genus species".split(), "DPCOFGS"))
    check("CAMI", {(ranks[r[1]], r[3].split("|")[-1]): r[4] for r in cami},
          {(c, n): f"{100 * k / len(reads):.6f}" for c in "DPCOFGS" for n, k in want[c].items()})
    for row in cami:
        x = next(named(s) for s in species if named(s).get(ranks[row[1]]) == row[3].split("|")[-1])
        upto = "DPCOFGS"[:"DPCOFGS".index(ranks[row[1]]) + 1]
        check("CAMI's path", row[3], "|".join(x.get(c, "") for c in upto))
    # as taxpasta standardises a report: the reads of each taxid, which are all reads
    direct = collections.Counter()
    for row in rows:
        direct[row[4]] += int(row[2])
    check("taxpasta: reads of all taxids", (sum(direct.values()), len(direct)), (len(reads), len(rows)))
    # as MultiQC reads one: by a rule for a line, and the clades of each letter
    multiqc = {c: collections.Counter() for c in LETTERS}
    with open("s.report") as f:
        for line in f:
            m = re.match(r"^\s{0,2}(\d{1,3}\.\d{1,2})\t(\d+)\t(\d+)\t([URDKPCOFGS]\d{0,2})\t(\d+)(\s+)(.+)", line)
            check("MultiQC: a line", bool(m), True)
            if m.group(4) in multiqc:
                multiqc[m.group(4)][m.group(7)] += int(m.group(2))
    check("MultiQC", multiqc, want)
    bracken(run, check, want, reads)
    run("classify", "-q", "--db", "d.khdb", "--report", "mpa", "--output", "-", "--set", "mpa-style", "r.fa")
    mpa = collections.Counter()
    for x in reads:
        for end in [k + 1 for k in range(len(named(x)))]:
            mpa["|".join(f"{c.lower()}__{named(x)[c]}" for c in [c for c in LETTERS if c in named(x)][:end])] += 1
    with open("mpa") as f:
        check("--set mpa-style", {l.split("\t")[0]: int(l.split("\t")[1]) for l in f}, dict(mpa))
    run("classify", "-q", "--db", "d.khdb", "--profile", "s.profile", "--sample-pass", "--output", "-", "r.fa")
    for c in "DPCOFG":
        table = run("merge", "--value", "reads", "--rank", c, "s.profile")[1:]
        check("profile, rank " + c, {r[2] for r in table}, set(want[c]))


main()
