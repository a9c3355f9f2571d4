#!/usr/bin/env python3
"""Tables of several reports, made as kmerhash-merge(1) says, to be compared with the program's.

    oracle_merge.py table VALUE NAME=REPORT...
    oracle_merge.py cami NAME=REPORT...     checks a profile on standard input
"""
import sys

from oracle_sampling import lines_of

LETTERS = "DKPCOFGS"


def read(path):
    """Rows of a report: (clade, direct, code, taxid, name, taxid of the parent)."""
    path_of, rows = [], []
    for line in lines_of(path):
        column = line.split("\t")
        name = column[-1].lstrip(" ")
        depth = (len(column[-1]) - len(name)) // 2
        taxid = int(column[-2])
        if taxid:
            path_of[depth:] = [taxid]
        rows.append((int(column[1]), int(column[2]), column[-3], taxid, name,
                     path_of[depth - 1] if taxid and depth else None))
    return rows


def main():
    what, operands = sys.argv[1], sys.argv[2:]
    value = operands.pop(0) if what == "table" else None
    samples = {word.split("=")[0]: read(word.split("=")[1]) for word in operands}
    taxa, children, counts = {}, {}, {}
    for name, rows in samples.items():
        for clade, direct, code, taxid, title, parent in rows:
            counts[name, taxid] = (direct, clade)
            if taxid and taxid not in taxa:
                taxa[taxid] = (code, title, parent)
                children.setdefault(parent, []).append(taxid)

    def lineage(taxid):
        ranks = {}
        while taxid:
            code, title, parent = taxa[taxid]
            if code in tuple(LETTERS):
                ranks.setdefault(code, (taxid, title))
            taxid = parent
        return [(c, *ranks[c]) for c in LETTERS if c in ranks]

    def preorder(taxid):
        yield taxid
        for child in sorted(children.get(taxid, [])):
            yield from preorder(child)

    total = {s: sum(counts.get((s, t), (0, 0))[1] for t in (0, 1)) for s in samples}
    order = list(preorder(1)) if 1 in taxa else []
    if what == "table":
        heads = [f"{s}_{v}" for s in samples for v in ("reads", "clade", "share")]
        print("taxid", "rank", "name", "lineage",
              *(heads if value == "all" else samples), sep="\t")
        for taxid in [0] + order:
            code, title, _ = taxa[taxid] if taxid else ("U", "unclassified", None)
            row = [taxid, code, title, ";".join(
                f"{c.lower()}__{n.replace(';', '_')}" for c, _, n in lineage(taxid))]
            for s in samples:
                direct, clade = counts.get((s, taxid), (0, 0))
                cells = {"reads": direct, "clade": clade,
                         "share": f"{clade / total[s] if total[s] else 0:.8f}"}
                row += cells.values() if value == "all" else [cells[value]]
            print(*row, sep="\t")
        return
    names = dict(zip("DPCOFGS", "superkingdom phylum class order family genus species".split()))
    want = []
    for s in samples:
        for letter, rank in names.items():
            for taxid in order:
                clade = counts.get((s, taxid), (0, 0))[1]
                if taxa[taxid][0] != letter or not clade:
                    continue
                path = {c: (str(t), n) for c, t, n in lineage(taxid)}
                upto = list(names)[:list(names).index(letter) + 1]
                want.append([str(taxid), rank] + [
                    "|".join(path[c][i] if c in path else "" for c in upto) for i in (0, 1)] +
                    [f"{100 * clade / counts[s, 1][1]:.6f}"])
    got = [line.rstrip("\n").split("\t") for line in sys.stdin
           if line.strip() and not line.startswith("@")]
    if got != want:
        sys.exit(f"found {[g for g in got if g not in want][:3]}, "
                 f"expected {[w for w in want if w not in got][:3]}")


main()
