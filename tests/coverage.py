#!/usr/bin/env python3
"""coverage.py - what of src/ the tests have run, by room, in percent of lines, of branches and of functions

    coverage.py BUILD           of a build with --coverage in CFLAGS, whose tests have run (make coverage)
    coverage.py BUILD FILE...   the lines of these files that never ran; of 'functions' all that never did
"""
import json
import os
import subprocess
import sys
from collections import defaultdict

SRC = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/src/"


def counts(build):
    """{file: {line: times}}, and the same of branches and functions, of all objects together"""
    found = [defaultdict(lambda: defaultdict(int)) for _ in range(3)]
    notes = [os.path.abspath(os.path.join(at, f)) for at, _, files in os.walk(build) for f in files if f.endswith(".gcno")]
    for note in notes:
        said = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", note], cwd=build,
                              capture_output=True).stdout
        for file in (file for each in said.splitlines() for file in json.loads(each)["files"]):
            path = os.path.abspath(os.path.join(build, file["file"]))
            if not path.startswith(SRC):
                continue
            lines, branches, functions = (kind[path[len(SRC):]] for kind in found)
            for line in file["lines"]:
                lines[line["line_number"]] += line["count"]
                for i, branch in enumerate(line["branches"]):
                    branches[line["line_number"], i] += branch["count"]
            for function in file["functions"]:
                functions[function["name"]] += function["execution_count"]
    return found


def main(build, *files):
    found = lines, _, functions = counts(build)
    for path in files:
        if path == "functions":
            print(*("%s: %s" % (at, name) for at in functions for name, n in functions[at].items() if not n), sep="\n")
        else:
            print(*("%s:%d" % (path, line) for line, n in sorted(lines[path.split("src/")[-1]].items()) if not n), sep="\n")
    if files:
        return
    rooms = defaultdict(lambda: [[0, 0] for _ in found])
    for i, kind in enumerate(found):
        for path, times in kind.items():
            for room in (os.path.dirname(path), "all"):
                rooms[room][i][0] += sum(n > 0 for n in times.values())
                rooms[room][i][1] += len(times)
    print("| room | lines | branches | functions |\n| --- | --- | --- | --- |")
    for room in sorted(rooms, key=lambda room: (room == "all", room)):
        print("| %s | %s |" % (room, " | ".join("%.1f" % (100 * ran / max(1, n)) for ran, n in rooms[room])))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if sys.argv[1:] else __doc__)
