#!/usr/bin/env python3
"""Runs a bench of the folder above and keeps its table as CSV, each row with where it comes from.

    record.py --commit ID --peers "PROGRAM ..." --out FILE NAME=VALUE... -- BENCH OPTION...

A word of the command that is a NAME gets its VALUE.  Cells of what it prints are separated by tabs, commas,
or two blanks and more; lines that have another number of cells than the head are rows of one cell, `note`.
The last columns are commit, versions, and command.
"""
import argparse
import csv
import pathlib
import re
import shlex
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parent.parent


def version(program):
    """Of the first way to ask for it that gets one."""
    name = pathlib.Path(program).stem
    for word in ("--version", "-v", "info"):
        said = subprocess.run([program, word], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        found = re.search(rf"(?im)(?:\bv|version:? +|{name}(?:[.]py)?[ -]|^)([0-9]+[.][0-9.]*[0-9]|[0-9a-f]{{7}})", said.stdout + said.stderr)
        if found:
            return f"{name} {found[1]}"
    sys.exit(f"{name} does not say its version")


def cells(line):
    line = line.rstrip("\n")
    if "\t" in line:
        return line.split("\t")
    return re.split(r"  +", line.strip()) if "  " in line else next(csv.reader([line]))


def rows(lines, more):
    """The head, and a row a line."""
    table = [cells(line) for line in lines if line.strip()]
    head = table[0]
    yield head + ["note", "commit", "versions", "command"]
    for row in table[1:]:
        right = row + [""] if len(row) == len(head) else [""] * len(head) + [" ".join(row)]
        yield right + more


def run(words, names):
    """The lines that the bench prints."""
    def known(word):
        name, _, rest = word.partition("/")
        return names.get(name, name) + ("/" + rest if rest else "")
    argv = [str(BENCH / words[0]), *map(known, words[1:])]
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines(True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--peers", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("words", nargs="+")
    at = sys.argv.index("--")
    args = parser.parse_args(sys.argv[1:at])
    names, words = dict(word.split("=", 1) for word in args.words), sys.argv[at + 1:]
    more = [args.commit, "; ".join(map(version, [names["KMERHASH"]] + args.peers.split())),
            shlex.join(["tests/bench/" + words[0]] + words[1:])]
    lines = run(words, names)
    draft = args.out.with_suffix(".draft")
    with open(draft, "w", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(rows(lines, more))
    draft.rename(args.out)


if __name__ == "__main__":
    main()
