#!/usr/bin/env python3
"""Valid inputs that a careless reader takes long for: eight times the bytes may take three times
eight times the CPU time and half a second, so what grows with their square is found.

    slow_inputs.py KMERHASH [-v]        in a folder with tax/ and d.khdb; a line a case
"""
import resource
import subprocess
import sys

program = sys.argv[1]
N, TIMES = 10000, 8
REFERENCE = ">a\n" + "ACGTTGCAAGGCTTAACCGATCGATTACGGCATCAGCATTCGA" * 3 + "\n"
BUILD = ["build", "-q", "--db", "x.khdb", "-k", "12"]
TAX = BUILD + ["--taxonomy", "tax"]
NODES, NAMES = "%d\t|\t%d\t|\t%s\t|\n", "%d\t|\t%s\t|\t\t|\tscientific name\t|\n"


def put(name, parts):
    with open(name, "w") as f:
        f.writelines(parts)


def tree(parents, names=()):
    """A taxonomy of nodes 1, 2, ...; reference a is of the last one."""
    put("tax/nodes.dmp", (NODES % (i + 1, p, "no rank") for i, p in enumerate(parents)))
    put("tax/names.dmp", [NAMES % (i + 1, f"taxon {i + 1}") for i in range(len(parents))] + list(names))
    put("tax/merged.dmp", [])
    put("map", f"a\t{len(parents)}\n")
    put("a.fa", REFERENCE)


def tables(rows):
    tree([1, 1])
    put("map", rows)


def references(parts):
    tree([1, 1])
    put("map", "a\t2\n")
    put("b.fa", [REFERENCE] + list(parts))


def lineages(rows):
    put("a.fa", REFERENCE)
    put("lineages", list(rows) + ["a\td__D;s__last\n"])


def merged(n):
    tree([1, 1])
    put("tax/merged.dmp", [f"{i}\t|\t{i + 1}\t|\n" for i in range(10, n)] + [f"{n}\t|\t2\t|\n"])
    put("map", "a\t10\n")


def deep(n):                    # indented, so its bytes are the square of its rows
    n = int((100 * n) ** 0.5)
    put("s.report", ("%6.2f\t1\t%d\t%s\t%d\t%s\n" % (100, i + 1 == n, f"R{i}" if i else "R", i + 1, "  " * i + "t")
                     for i in range(n)))


def sheet(rows):
    put("r.fq", "@r\nACGT\n+\nIIII\n")
    put("sheet", ["sample\treads1\n"] + list(rows))


SEQID = TAX + ["--seqid2taxid", "map"]
LINEAGE = BUILD + ["--lineage", "lineages", "a.fa"]
CLASSIFY = ["classify", "-q", "--device", "cpu", "--threads", "1", "--db", "d.khdb", "--output", "lines", "--report", "report", "r"]
MERGE = ["merge", "-o", "table", "s.report"]
CASES = {
    "a taxonomy as deep as it has taxa": (lambda n: tree([max(i, 1) for i in range(n)]), SEQID + ["a.fa"]),
    "a taxon with all others below it": (lambda n: tree([1] * n), SEQID + ["a.fa"]),
    "a taxon of many names": (lambda n: tree([1, 1], ["2\t|\tx%d\t|\t\t|\tsynonym\t|\n" % i for i in range(n)]), SEQID + ["a.fa"]),
    "taxids merged one after another": (merged, SEQID + ["a.fa"]),
    "a table of other ids": (lambda n: tables(["a\t2\n"] + [f"NC_{i:09d}.1\t2\n" for i in range(n)]), SEQID + ["a.fa"]),
    "a table of one id": (lambda n: tables(["a\t2\n"] * n), SEQID + ["a.fa"]),
    "a table of ids with one beginning": (lambda n: tables(["a\t2\n"] + ["a" * 60 + f"{i}\t2\n" for i in range(n)]), SEQID + ["a.fa"]),
    "blank rows and comments": (lambda n: tables(["\n# x\n"] * n + ["a\t2\n"]), SEQID + ["a.fa"]),
    "lineages of a species each": (lambda n: lineages(f"i{i}\td__D;g__G;s__s{i}\n" for i in range(n)), LINEAGE),
    "lineages that are one": (lambda n: lineages(f"i{i}\td__D;g__G;s__s\n" for i in range(n)), LINEAGE),
    "a list of blank rows": (lambda n: (tree([1, 1]), put("list", ["\n"] * n + ["a.fa\n"])), SEQID + ["--list", "list"]),
    "sequences of a base": (lambda n: references(f">{i}\nA\n" for i in range(n)), SEQID + ["--max-unmapped", "1", "b.fa"]),
    "a base a line": (lambda n: references([">b\n"] + ["A\nC\nG\n"] * n), SEQID + ["--max-unmapped", "1", "b.fa"]),
    "a header of many bytes": (lambda n: references([">b " + "x" * 60 * n + "\nACGT\n"]), SEQID + ["--max-unmapped", "1", "b.fa"]),
    "unknown bases": (lambda n: references([">b\n" + "N" * 60 * n + "\n"]), SEQID + ["--max-unmapped", "1", "b.fa"]),
    "bases and unknown ones in turn": (lambda n: references([">b\n" + "ACGTN" * 10 * n + "\n"]), SEQID + ["--max-unmapped", "1", "b.fa"]),
    "blank lines behind the last sequence": (lambda n: references(["\n" * 60 * n]), SEQID + ["b.fa"]),
    "reads of a base": (lambda n: put("r", (f"@{i}\nA\n+\nI\n" for i in range(n))), CLASSIFY),
    "one read": (lambda n: put("r", [">r\n" + "ACGTTGCAAGGCTTA" * 4 * n + "\n"]), CLASSIFY),
    "one read, a base a line": (lambda n: put("r", [">r\n" + "A\nC\n" * n]), CLASSIFY),
    "a report as deep as it has rows": (deep, MERGE),
    "a report of one level": (lambda n: put("s.report", ["100.00\t%d\t0\tR\t1\troot\n" % n] + [
        "%6.2f\t1\t1\tS\t%d\t  t\n" % (100 / n, i + 2) for i in range(n)]), MERGE),
    "a sheet of many samples": (lambda n: sheet(f"s{i}\tr.fq\n" for i in range(n)), ["classify", "--set", "check-sheet=sheet"]),
}


def cpu(words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.run([program, *words], capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, p


def main():
    for name, (make, words) in CASES.items():
        make(N)
        few, p = cpu(words)
        make(TIMES * N)
        many, q = cpu(words)
        good = p.returncode == 0 and q.returncode == 0 and many < 3 * TIMES * few + 0.5
        print(f"{'ok' if good else 'not ok'} - slow but valid: {name}")
        if not good:
            print(f"# {few:.3f} s, {many:.3f} s; exit {p.returncode}, {q.returncode}: {(p.stderr + q.stderr)[:300]}")
        elif "-v" in sys.argv:
            print(f"# {few:.3f} s, {many:.3f} s")


main()
