#!/usr/bin/env python3
"""The table of rates.csv: of each row the median of its runs, the least and the most, of this version and of the one before."""
import collections
import csv
import statistics
import sys

ROWS = {
    "gz": "report of pairs, .fq.gz",
    "pass.gz": "report with --sample-pass, .fq.gz",
    "profile.gz": "report with --profile, .fq.gz",
    "lines": "report and lines, .fq.gz",
    "lines.null": "report and lines to /dev/null, .fq.gz",
    "lines.gz": "report and lines as .gz, .fq.gz",
    "bgzf": "report of pairs, BGZF",
    "eight": "reports of eight samples of pairs, .fq.gz",
    "eight.alone": "the same, inflated and parsed, by a database that has none of them",
    "pairs": "report of pairs, plain",
    "pass": "report with --sample-pass, plain",
    "profile": "report with --profile, plain",
    "off": "report of pairs with 5 % of other bases, plain",
    "reads": "report of single reads of 100 bases, plain",
    "reads.host": "report of single reads, plain, parsed by the host",
    "reads.device": "report of single reads, plain, parsed by the GPU",
    "pairs.host": "report of pairs, plain, parsed by the host",
    "pairs.device": "report of pairs, plain, parsed by the GPU",
    "pairs.host.8": "report of pairs, plain, parsed by the host, 8 threads",
    "pairs.device.8": "report of pairs, plain, parsed by the GPU, 8 threads",
    "host": "report of single reads, index in the host's memory",
    "two": "report of single reads by two databases, of half of the genomes each",
    "translated": "report of pairs by a database with translated seeds, plain",
    "kraken.gz": "report by Kraken 2's database, .fq.gz",
    "kraken": "report by Kraken 2's database, plain",
    "build.refs": "build from 16 plain files",
    "build.refs.gz": "build from 16 files of .fa.gz",
    "build.small.gz": "build from a .fa.gz a genome",
    "build.translated": "build with translated seeds from 16 plain files",
    "translated.bytes": "database with translated seeds, of the bytes of one without",
}


def unit(row):
    return "ratio" if row.endswith(".bytes") else "s" if row.startswith("build") else "million reads/s"


def main():
    values = collections.defaultdict(list)
    with open(sys.argv[1], newline="") as lines:
        for row, version, value in csv.reader(lines):
            values[row, version].append(float(value))
    for row in ("lines", "lines.gz"):    # of the bytes that one thread writes
        for one in ("one", "dd"):
            if (f"{row}.{one}", "now") in values:
                rate = statistics.median(values[row, "now"]) * values[f"{row}.bytes", "now"][0] * 1e-3
                values[f"{row} of {one}", "now"] = [rate / x for x in values[f"{row}.{one}", "now"]]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("row what unit version median least most runs".split())
    for row, what in ROWS.items():
        for version in ("before", "now"):
            of = values.get((row, version))
            if of:
                out.writerow([row, what, unit(row), version] + [f"{x:g}" for x in (statistics.median(of), min(of), max(of), len(of))])
        for one, what_one in (("one", "a thread that writes the same bytes"), ("dd", "dd")):
            of = values.get((f"{row} of {one}", "now"))
            if of:
                out.writerow([f"{row} of {one}", f"{what}, of the bytes of {what_one}", "ratio", "now"] +
                             [f"{x:.2f}" for x in (statistics.median(of), min(of), max(of))] + [len(of)])


if __name__ == "__main__":
    main()
