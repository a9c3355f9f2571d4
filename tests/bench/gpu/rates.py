#!/usr/bin/env python3
"""The table of rates.csv: medians of this version and of the one before, and what is wanted."""
import collections
import statistics
import sys

# row: what it is, unit, what is wanted
WANTED = {
    "gz": ("report, a pair of .fq.gz", "M reads/s", 80),
    "bgzf": ("report, a pair of BGZF", "M reads/s", 90),
    "eight": ("reports, eight samples of .fq.gz", "M reads/s", 90),
    "reads": ("report, plain reads of 100", "M reads/s", 140),
    "pairs": ("report, plain pairs", "M reads/s", 130),
    "off": ("report, plain pairs, 5 % off", "M reads/s", 110),
    "host": ("report, index on the host", "M reads/s", 25),
    "kraken.gz": ("Kraken 2's database, .fq.gz", "M reads/s", 60),
}
# row: what it is, beside which row, what is wanted of the ratio
RATIOS = {
    "pass.gz": ("with --sample-pass, .fq.gz", "gz", .9),
    "profile.gz": ("with --profile, .fq.gz", "gz", .85),
    "pass": ("with --sample-pass, plain", "pairs", .9),
    "profile": ("with --profile, plain", "pairs", .85),
    "build.refs.gz": ("build from .fa.gz, seconds", "build.refs", 1.2),
    "build.small.gz": ("build from a .fa.gz a genome, seconds", "build.refs", 1.2),
}


def main():
    values = collections.defaultdict(list)
    for line in open(sys.argv[1]):
        row, version, value = line.strip().split(",")
        values[row, version].append(float(value))
    middle = {x: statistics.median(v) for x, v in values.items()}
    spread = {x: f"{min(v):g} to {max(v):g}" for x, v in values.items()}
    print("| what | before | now | runs | must |\n| --- | --- | --- | --- | --- |")
    for row, (what, unit, must) in WANTED.items():
        if (row, "now") in middle:
            print(f"| {what}, {unit} | {middle.get((row, 'before'), '')} | {middle[row, 'now']} | "
                  f"{spread[row, 'now']} | {must} |")
    for row, (what, other, must) in RATIOS.items():
        if (row, "now") in middle and (other, "now") in middle:
            before = middle.get((row, "before"), 0) / middle.get((other, "before"), 1) or ""
            print(f"| {what}, of {other} | {before and f'{before:.2f}'} | {middle[row, 'now'] / middle[other, 'now']:.2f} | "
                  f"{spread[row, 'now']} | {must} |")
    for row in "lines", "lines.gz":
        if (row, "now") in middle and (f"{row}.dd", "now") in middle:
            rate = middle[row, "now"] * middle[f"{row}.bytes", "now"] * 1e-3
            for one, name in ("one", "one thread that writes the same"), ("dd", "dd"):
                print(f"| {row}: {middle[row, 'now']} M reads/s, {rate:.2f} GB/s, of {name} | | "
                      f"{rate / middle[f'{row}.{one}', 'now']:.2f} | {spread[row, 'now']} | 0.9 |")


if __name__ == "__main__":
    main()
