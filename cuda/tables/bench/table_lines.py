#!/usr/bin/env python3
"""How many lines of the cache a look-up touches, as ncu counted it, into the rows of the bench.

usage: table_lines.py ROWS.csv COUNTED.csv NCU.csv >ALL.csv

COUNTED.csv is what `kmerhash-bench tables` printed under

    ncu --csv --log-file NCU.csv --profile-from-start off --metrics \\
        lts__t_requests_srcunit_tex_op_read.sum,lts__t_requests_srcunit_tex_op_atom.sum,\\
        lts__t_sectors_srcunit_tex_op_read.sum kmerhash-bench --repeat 1 tables

of fewer pairs, ROWS.csv what it printed without.  A request to the second-level cache is one of a
line of 128 bytes, of which it reads 1 to 4 sectors of 32 bytes.  Kernels of a look-up, up to the
one that ends the line, are added up and divided by the keys asked for; a key's own share of reading the
queries is in it, .03 of a line and .13 of a sector where keys have 32 bits, twice that where 64.
"""

import csv
import sys
from collections import defaultdict

END = "end_of_line"


def counted(path):
    """For each line of the bench: metric -> sum over the kernels of its look-up."""
    with open(path, newline="") as f:
        text = [line for line in f if line.startswith('"')]
    lines, sums, seen = [], defaultdict(float), None
    for row in csv.DictReader(text):
        if END in row["Kernel Name"]:
            if row["ID"] != seen:
                lines.append(sums)
                sums = defaultdict(float)
            seen = row["ID"]
            continue
        name = row["Metric Name"].split("__t_")[1].split("_srcunit")[0]
        sums[name] += float(row["Metric Value"].replace(",", ""))
    return lines


def key(row):
    """Rows that count the same: of any number of pairs."""
    note = row["note"] if row["case"] == "zipf" else ""
    return row["table"], row["case"], row["load"], row["key_bits"], note


def read(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    rows, small = read(sys.argv[1]), read(sys.argv[2])
    counts = counted(sys.argv[3])
    if len(small) != len(counts):
        sys.exit(f"{len(small)} rows, but ncu saw {len(counts)} of them")
    lines = {}
    for row, count in zip(small, counts):
        asked = float(row["n"]) / float(row["multiplicity"])
        if count["requests"]:
            lines[key(row)] = (count["requests"] / asked, count["sectors"] / asked)
    out = csv.DictWriter(sys.stdout, list(rows[0]) + ["lines", "sectors"], lineterminator="\n")
    out.writeheader()
    for row in rows:
        touched = lines.get(key(row))
        row["lines"], row["sectors"] = (f"{x:.2f}" for x in touched) if touched else ("", "")
        out.writerow(row)


if __name__ == "__main__":
    main()
