#!/usr/bin/env python3
"""The figures and the long tables of README.md and doc/, made of the CSV files in doc/.

    figures.py --write    draws doc/*.svg and puts the tables into doc/*.md
    figures.py --check    fails if any of these is another one

accuracy.csv is the table of tests/bench/accuracy, worlds.csv that of tests/bench/worlds,
sensitivity.csv that of tests/bench/sensitivity, and speed.csv has what tests/bench/speed and gpu.sh measured.  Nothing but Python's library is needed.
"""
import csv
import html
import pathlib
import re
import sys

DOC = pathlib.Path(__file__).resolve().parent.parent.parent / "doc"
WIDTH, LEFT, RIGHT, ROW = 760, 268, 60, 24
STYLE = """text { font: 13px system-ui, sans-serif; fill: #16202b; }
.soft { fill: #5a6775; font-size: 12px; } .head { font-weight: 600; }
.grid { stroke: #dfe4ea; } .gap { stroke: #b8c1cb; stroke-width: 3; }
.ours { fill: #0a62a5; } .theirs { fill: #8b96a3; }
@media (prefers-color-scheme: dark) {
  text { fill: #e8edf2; } .soft { fill: #9aa8b5; } .grid { stroke: #2a333c; }
  .gap { stroke: #52606d; } .ours { fill: #5db0f0; } .theirs { fill: #a3adb8; } }"""

# The sets of the figure: as accuracy.csv calls them, and as people do.
SHOWN = [
    ("labelled/refset_sim", "30 references, 2×150"),
    ("labelled/spneumoniae_illumina", "S. pneumoniae, real 2×100"),
    ("labelled/sarscov2_illumina", "SARS-CoV-2, real amplicons"),
    ("labelled/zymo_ont", "mock community, real nanopore"),
    ("labelled/lambda_bt2sim", "lambda, 30 to 250 bp, many N"),
    ("simgen/8% 2x150", "strains 8 % off, 2×150"),
    ("simgen/5% 1x100", "strains 5 % off, 1×100"),
    ("strain 2x150", "strain left out, 2×150"),
    ("all communities", "communities, some genomes left out"),
    ("labelled/minigut_sim", "two gut species, one absent"),
]


def rows(name):
    with open(DOC / name, newline="") as f:
        return list(csv.DictReader(f))


# --- drawing ------------------------------------------------------------------------
class Picture:
    def __init__(self, title):
        self.title, self.parts, self.height = title, [], 0

    def text(self, x, y, text, kind="", anchor="start"):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{html.escape(text)}</text>')

    def line(self, x, y, x2, y2, kind):
        self.parts.append(f'<line x1="{x:g}" y1="{y:g}" x2="{x2:g}" y2="{y2:g}" class="{kind}"/>')

    def dot(self, x, y, kind, text):
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="5.5" class="{kind}"><title>{html.escape(text)}</title></circle>')

    def bar(self, x, y, width, kind):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="15" rx="3" class="{kind}"/>')

    def legend(self, entries):
        x = LEFT
        for kind, name in entries:
            self.dot(x + 6, self.height + 14, kind, name)
            self.text(x + 18, self.height + 18, name, "soft")
            x += 34 + 7 * len(name)
        self.height += 34

    def head(self, text):
        self.height += 10
        self.text(0, self.height + 14, text, "head")
        self.height += 28

    def svg(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height + 8:g}" role="img" '
                f'aria-label="{html.escape(self.title)}">\n<style>\n{STYLE}\n</style>\n' +
                "\n".join(self.parts) + "\n</svg>\n")


def dots(p, lines, low, high, ticks):
    """A line a row: two values on one axis, theirs and ours."""
    def at(v):
        return LEFT + (WIDTH - LEFT - RIGHT) * (max(v, low) - low) / (high - low)

    top = p.height
    for tick in ticks:
        p.line(at(tick), top, at(tick), top + ROW * len(lines), "grid")
        p.text(at(tick), top + ROW * len(lines) + 16, f"{tick:g}", "soft", "middle")
    for i, (name, theirs, ours) in enumerate(lines):
        y = top + ROW * i + ROW / 2
        p.text(LEFT - 14, y + 4, name, "", "end")
        p.line(at(theirs), y, at(ours), y, "gap")
        p.dot(at(theirs), y, "theirs", f"{theirs:.4f}")
        p.dot(at(ours), y, "ours", f"{ours:.4f}")
    p.height += ROW * len(lines) + 26


def bars(p, lines):
    """A bar a row, (name, value, what is written, kind); from 0 to the greatest."""
    most = max(value for _, value, _, _ in lines)
    for name, value, text, kind in lines:
        width = (WIDTH - LEFT - RIGHT - 40) * value / most
        p.text(LEFT - 14, p.height + 12, name, "", "end")
        p.bar(LEFT, p.height, max(width, 1), kind)
        p.text(LEFT + width + 8, p.height + 12, text, "soft")
        p.height += ROW


def accuracy_picture():
    found = {(r["set"], r["rank"]): r for r in rows("accuracy.csv")}
    p = Picture("Species F1 of kmerhash and Kraken 2 on ten sets of reads, and wrong species calls with the sample pass")
    p.legend([("theirs", "Kraken 2.17.1"), ("ours", "kmerhash")])
    p.head("Species F1, read by read")
    lines = [(name, float(found[key, "species"]["k2_F1"]), float(found[key, "species"]["kh_F1"])) for key, name in SHOWN]
    dots(p, lines, 0.55, 1, (0.6, 0.7, 0.8, 0.9, 1))
    worlds = rows("worlds.csv")
    p.head("Reads of absent species that are called a species, nine made-up samples of 30,000")
    counts = [(name, sum(int(r[column]) for r in worlds), kind) for name, column, kind in (
        ("Kraken 2.17.1", "k2_absent", "theirs"), ("kmerhash", "first_absent", "ours"),
        ("kmerhash --sample-pass", "pass_absent", "ours"))]
    bars(p, [(name, n, f"{n:,}", kind) for name, n, kind in counts])
    return p.svg()


def speed_picture():
    groups = {}
    for r in rows("speed.csv"):
        if r["figure"]:
            groups.setdefault(r["figure"], []).append(r)
    p = Picture("Reads a second of kmerhash and Kraken 2, on one thread, and of kmerhash on a GPU")
    p.legend([("theirs", "other programs"), ("ours", "kmerhash")])
    for head, lines in groups.items():
        p.head(head)
        bars(p, [(r["what"], float(r["value"]), r["shown"], r["kind"]) for r in lines])
    return p.svg()


# --- tables -------------------------------------------------------------------------
def accuracy_table():
    out = ["| reads | rank | number | Kraken 2.17.1: P / R / F1 | kmerhash: P / R / F1 |", "| --- | --- | ---: | --- | --- |"]
    for r in rows("accuracy.csv"):
        if r["k2_P"] == "-":
            theirs, ours = r["k2_F1"], r["kh_F1"]
        else:
            theirs, ours = (" / ".join(r[f"{tool}_{x}"] for x in ("P", "R", "F1")) for tool in ("k2", "kh"))
        out.append(f'| {r["set"]} | {r["rank"]} | {r["reads"]} | {theirs} | {ours} |')
    return "\n".join(out) + "\n"


def worlds_table():
    out = ["| world | Kraken 2: P / R / F1, absent | with Bracken: BC, false | first pass: P / R / F1, absent | "
           "`--sample-pass`: P / R / F1, absent | `--profile`: BC, false |", "| --- | --- | --- | --- | --- | --- |"]
    for r in rows("worlds.csv"):
        def calls(tool):
            return " / ".join(r[f"{tool}_{x}"] for x in ("P", "R", "F1")) if r[f"{tool}_P"] != "-" else "-"
        out.append(f'| {r["world"]} | {calls("k2")}, {r["k2_absent"]} | {r["bracken_bc"]}, {r["bracken_false"]} | '
                   f'{calls("first")}, {r["first_absent"]} | {calls("pass")}, {r["pass_absent"]} | '
                   f'{r["profile_bc"]}, {r["profile_false"]} |')
    return "\n".join(out) + "\n"


def sensitivity_table():
    indexes = {}
    for r in rows("sensitivity.csv"):
        indexes.setdefault(r["index"], []).append(r)
    sets = [r["set"] for r in next(iter(indexes.values()))]
    out = ["| index | k, s | bytes a base | " + " | ".join(sets) + " |", "| --- " * (3 + len(sets)) + "|"]
    for name, lines in indexes.items():
        found = [f'{r["species_precision"]} / {r["species_recall"]}, {r["genus_recall"]}' for r in lines]
        out.append(f'| {name} | {lines[0]["k"]}, {lines[0]["s"]} | {lines[0]["bytes_a_base"]} | ' + " | ".join(found) + " |")
    return "\n".join(out) + "\n"


TABLES = {"accuracy.md": {"accuracy": accuracy_table, "worlds": worlds_table, "sensitivity": sensitivity_table}}
PICTURES = {"accuracy.svg": accuracy_picture, "speed.svg": speed_picture}


def made():
    """Each file, and what it should be."""
    for name, draw in PICTURES.items():
        yield DOC / name, draw()
    for name, tables in TABLES.items():
        text = (DOC / name).read_text()
        for table, make in tables.items():
            begin, end = f"<!-- {table}.csv: make figures -->\n", "<!-- end -->\n"
            before, rest = text.split(begin)
            text = before + begin + make() + end + rest[re.search(re.escape(end), rest).end():]
        yield DOC / name, text


def main(mode):
    for path, text in made():
        if mode == "--write":
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path.name} is not what make figures makes")


if __name__ == "__main__":
    if sys.argv[1:] not in (["--write"], ["--check"]):
        sys.exit(__doc__)
    main(sys.argv[1])
