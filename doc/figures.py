#!/usr/bin/env python3
"""The figures and the long tables of README.md and doc/, made of the CSV files in doc/.

    figures.py --write    draws doc/*.svg and puts the tables into doc/*.md
    figures.py --check    fails if any of these is another one, or if README.md has a figure that is in none
    figures.py --readme FOLDER    prints the figures of README's tables and text, from the CSV files in FOLDER

The CSV files are those of tests/bench/evidence.
Nothing but Python's library is needed.
"""
import contextlib
import csv
import html
import pathlib
import re
import statistics
import sys

DOC = pathlib.Path(__file__).resolve().parent
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


def rows(name, folder=DOC):
    path = folder / name
    if not path.exists():
        return []
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


# --- README's tables: cell by cell ------------------------------------------------------
FOUND = [
    ("12,000 real pairs, *S. pneumoniae* isolate", "labelled/spneumoniae_illumina"),
    ("500 real nanopore reads, mock community", "labelled/zymo_ont"),
    ("20,000 simulated reads of 100 bases; 5 % of their bases differ from the reference", "simgen/5% 1x100"),
    ("20,000 such reads; 8 % of their bases differ", "simgen/8% 1x100"),
    ("99,000 simulated pairs; the strain, species or genus of 15,174 of them is not in the database", "all communities"),
]
PROGRAMS = [("Kraken 2", "accuracy", "k2"), ("Kraken 2, `--confidence 0.1`", "accuracy_confidence_0.1", "k2"),
            ("MetaCache 2.6.0", "accuracy_metacache", "k2"), ("kmerhash", "accuracy", "kh"), ("with `--sample-pass`", "accuracy_pass", "kh")]
ABSENT = [("Kraken 2", "worlds", "kraken2+bracken"), ("Kraken 2, `--confidence 0.1`", "worlds_confidence_0.1",
          "kraken2+bracken"), ("kmerhash", "worlds", "first pass"), ("with `--sample-pass`", "worlds", "--sample-pass")]
COST = [("one thread, CPU time and memory: build of 374 Mbp", "build large"),
        ("one thread, CPU time and memory: classify of 200,000 pairs", "classify large")]
GPU = [("one NVIDIA H200, 8 Gbp of references: writing only a report", "gz"), ("the same: a report with `--sample-pass`", "pass.gz"),
       ("the same: a report, and a line for each read", "lines")]



def short(share):
    return f"{float(share):.3f}".lstrip("0") if float(share) < 0.9995 else "1"


def found_cells(folder):
    """What README's table of what is found has: row, column, what is shown, and the row of CSV."""
    for label, key in FOUND:
        for column, name, tool in PROGRAMS:
            for r in rows(name + ".csv", folder):
                if (r["set"], r["rank"]) == (key, "species") and r[tool + "_F1"] != "-":
                    low, high = map(short, r[tool + "_95"].split("-"))
                    yield label, column, f"{short(r[tool + '_F1'])} ({low} to {high})", name, r


def wrong_cells(folder):
    """The same of its table of wrong calls."""
    for column, name, tool in PROGRAMS:
        for r in rows(name + ".csv", folder):
            if (r["set"], r["rank"]) == ("repeats/Homo 2x150", "called") and r[tool + "_F1"] != "-":
                n = int(r["reads"])
                many, low, high = (round(n * float(x)) for x in [r[tool + "_F1"]] + r[tool + "_95"].split("-"))
                yield "wrong calls for 10,000 human pairs (the database has no human genome)", column, \
                    f"{many} ({low} to {high})", name, r
    for column, name, program in ABSENT:
        for r in rows(name + ".csv", folder):
            if (r["world"], r["program"]) == ("mean", program):
                shown = f"{r['absent']} ({r['absent_95'].replace('-', ' to ')})"
                yield "wrong species calls for 93,168 simulated reads or pairs whose species is not in the database (nine samples)", \
                    column, shown, name, r


def cost_cells(folder):
    """Of its table of costs: CPU and memory beside Kraken 2, and what a GPU makes."""
    for label, what in COST:
        for r in rows("cost.csv", folder):
            if r["what"] == what:
                for column in ("kraken2", "kmerhash"):
                    yield label, {"kraken2": "Kraken 2"}.get(column, column), f"{r[column + '_s']} s, {r[column + '_MB']} MB", "cost", r
    found = gpu_rates(folder)
    for label, row in GPU:
        if row in found:
            yield label, "kmerhash", f"{float(found[row]['median']):.0f} million reads/s", "gpu", found[row]


def gpu_rates(folder=DOC, name="gpu.csv"):
    return {r["row"]: r for r in rows(name, folder) if r["version"] == "now"}


def text_cells(folder):
    """What README's text has of other files, in its words."""
    for words, name, tool in (("MetaCache calls {} rightly", "accuracy_metacache", "k2"), ("Kraken 2: {}", "accuracy", "k2"),
                              ("kmerhash: {}", "accuracy", "kh")):
        for r in rows(name + ".csv", folder):
            if (r["set"], r["rank"]) == ("labelled/zymo_ont", "species") and r[tool + "_R"] != "-":
                yield "500 nanopore reads", "", words.format(round(int(r["reads"]) * float(r[tool + "_R"]))), name, r
    foreign = {(r["half"], r["program"]): r for r in rows("foreign.csv", folder)}
    for half in "01" if foreign else "":
        first, last = (foreign[half, program] for program in ("first pass", "--sample-pass"))
        yield "real strains", "", f"from {short(first['F1'])} to {short(last['F1'])}", "foreign", last


def readme_rows(folder):
    for table, cells in (("found", found_cells(folder)), ("found", wrong_cells(folder)), ("cost", cost_cells(folder)),
                         ("text", text_cells(folder))):
        for row, column, shown, name, r in cells:
            yield [table, row, column, shown, name + ".csv"] + [r[x] for x in ("commit", "versions", "command")]


def print_readme(folder):
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("table row column shown file commit versions command".split())
    out.writerows(readme_rows(folder))


def readme_table(name, head, missing):
    """One of README's tables, of readme.csv."""
    mine = [r for r in rows("readme.csv") if r["table"] == name]
    columns, lines = list(dict.fromkeys(r["column"] for r in mine)), {}
    for r in mine:
        line = lines.setdefault(r["row"], [r["row"]] + [missing] * len(columns))
        line[1 + columns.index(r["column"])] = r["shown"]
    return lines_of(" | ".join([head] + columns), lines.values())


def unknown_figures():
    """Cells of README's tables with figures that readme.csv does not have in that row, and words that README lacks."""
    have, text = {}, " ".join((DOC.parent / "README.md").read_text().split())
    yield from (r["shown"] for r in rows("readme.csv") if r["table"] == "text" and r["shown"] not in text)
    for r in rows("readme.csv"):
        have.setdefault(r["row"], set()).add(r["shown"])
    for line in (DOC.parent / "README.md").read_text().splitlines():
        label, *cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        yield from (f"{label}: {cell}" for cell in cells if line.startswith("| ") and
                    re.match(r"[*]*[.0-9]", cell) and cell not in have.get(label, ()))


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
    absent = {r["program"]: int(r["absent"]) for r in worlds if r["world"] == "mean"}
    counts = [(name, absent[program], kind) for name, program, kind in (
        ("Kraken 2.17.1", "kraken2+bracken", "theirs"), ("kmerhash", "first pass", "ours"),
        ("kmerhash --sample-pass", "--sample-pass", "ours"))]
    bars(p, [(name, n, f"{n:,}", kind) for name, n, kind in counts])
    return p.svg()


def speed_picture():
    p = Picture("Reads a second of kmerhash and Kraken 2, on one thread, and of kmerhash on a GPU")
    p.legend([("theirs", "Kraken 2.17.1"), ("ours", "kmerhash")])
    p.head("One thread, pairs a second, 374 Mbp of references")
    r = next(r for r in rows("cost.csv") if r["what"] == "classify large")
    pairs = [(name, round(int(r["size"].split()[0]) / float(r[column]), -3), kind) for name, kind, column in (
        ("Kraken 2.17.1", "theirs", "kraken2_s"), ("kmerhash", "ours", "kmerhash_s"))]
    bars(p, [(name, n, f"{n:,.0f}", kind) for name, n, kind in pairs])
    p.head("Million reads a second on one H200, 8 Gbp of references, from .fq.gz")
    found = gpu_rates()
    bars(p, [(re.sub("^.*: |`", "", label), float(found[row]["median"]), f"{float(found[row]['median']):.0f}", "ours")
             for label, row in GPU])
    return p.svg()


# --- tables -------------------------------------------------------------------------
def lines_of(head, lines):
    """A table of Markdown; head names the columns, "|"-separated."""
    columns = [cell.strip() for cell in head.split("|")]
    first, *others = ("|" + "|".join(f" {c} " if c else "  " for c in line) + "|\n" for line in [columns, *lines])
    return first + "|---" * len(columns) + "|\n" + "".join(others)


# The rows of the table of accuracy, read by read, of accuracy.csv, and what they are called; and its columns: head, file, whose.
READ = {"labelled/spneumoniae_illumina species": "*S. pneumoniae*, real pairs", "labelled/sarscov2_illumina species": "SARS-CoV-2, real pairs",
        "labelled/zymo_ont species": "mock community, real nanopore", "labelled/zymo_ont absent at species": "absent species of it: called",
        "labelled/lambda_bt2sim species": "lambda, simulated, many N", "repeats/Homo 2x150 called": "human, 2x150: called",
        "strain 2x150 species": "strain left out, 2x150", "strain 1x100 species": "strain left out, 1x100",
        "species 2x150 genus": "species left out, 2x150: genus", "species 2x150 at species": "species left out, 2x150: called",
        "species 1x100 at species": "species left out, 1x100: called", "genus 2x150 at species": "genus left out, 2x150: called",
        "strain communities species": "strain left out, all reads", "all communities species": "strain, species, genus left out"}
# Of what tuning has seen of a row.
SEEN = {"labelled/spneumoniae_illumina species": "calls", "labelled/sarscov2_illumina species": "looked at", "labelled/zymo_ont species": "looked at",
        "labelled/zymo_ont absent at species": "looked at", "labelled/lambda_bt2sim species": "looked at", "repeats/Homo 2x150 called": "looked at"}
BESIDE = [("Kraken 2", "accuracy", "k2"), ("`--confidence 0.1`", "accuracy_confidence_0.1", "k2"), ("MetaCache", "accuracy_metacache", "k2"),
          ("Centrifuger", "accuracy_centrifuger", "k2"), ("ganon", "accuracy_ganon", "k2"), ("kmerhash", "accuracy", "kh"), ("`--sample-pass`", "accuracy_pass", "kh")]


def accuracy_table():
    """F1 of species, or of what the label says; where no call can be right, the share that is called."""
    found = {file: {f"{r['set']} {r['rank']}": r for r in rows(file + ".csv")} for _, file, _ in BESIDE}

    def cell(key, file, tool):
        share = found[file].get(key, {}).get(tool + "_F1", "-")
        return "" if share == "-" else short(share)
    lines = [[label, found["accuracy"][key]["reads"], SEEN.get(key, "genomes")] + [cell(key, file, tool) for _, file, tool in BESIDE]
             for key, label in READ.items()]
    return lines_of("reads | number | seen in tuning | " + " | ".join(head for head, *_ in BESIDE), lines)


def far_table():
    """F1 of species, of strains at some distance from their references."""
    found = {file: {(r["set"], r["rank"]): r for r in rows(file + ".csv")} for _, file, _ in BESIDE}
    beside = [b for b in BESIDE if ("simgen/5% 1x100", "species") in found[b[1]]]
    lines = [[f"{share} %, {layout}"] + [short(found[file][f"simgen/{share}% {layout}", "species"][tool + "_F1"]) for _, file, tool in beside]
             for share in (1, 3, 5, 8) for layout in ("2x150", "1x100")]
    return lines_of("differ from the reference | " + " | ".join(head for head, *_ in beside), lines)


def worlds_table():
    """Means of the worlds; the last one has no species with a reference."""
    lines = []
    for label, name, program in (("Kraken 2", "worlds", "kraken2+bracken"),
                                 ("`--confidence 0.1`", "worlds_confidence_0.1", "kraken2+bracken"), ("sylph", "worlds_sylph", "sylph"),
                                 ("kmerhash", "worlds", "first pass"), ("`--sample-pass --profile`", "worlds", "--sample-pass")):
        of = {r["world"]: r for r in rows(name + ".csv") if r["program"] == program}
        r = of["mean"]
        calls = [" ".join(short(r[x]) for x in ("P", "R", "F1")), f"{r['absent']} ({r['absent_95'].replace('-', ' to ')})",
                 of["validation-8 2x150"]["absent"]] if r["P"] != "-" else [""] * 3
        lines.append([label, *calls, "" if r["BC"] == "-" else f"{short(r['BC'])}, {r['false']}, {r['missed']}"])
    return lines_of("program | P R F1 | absent (95 %) | all absent | profile: BC, false, missed", lines)


def sensitivity_table():
    """Recall of species; two rows are left out that have the parameters of 8 Gbp, and one between."""
    found = {}
    for r in rows("sensitivity.csv") + rows("sensitivity_large.csv"):
        found.setdefault(r["index"], []).append(r)
    lines = [[name, of[0]["bytes_a_base"]] + [f"{float(r['species_recall']):.3f}".lstrip("0") for r in of]
             for name, of in found.items() if name not in ("2 Gbp", "20 Gbp", "60 Gbp")]
    return lines_of("index | bytes a base | " + " | ".join(r["set"].replace("%", " %") for r in next(iter(found.values()))), lines)


def range_of(text):
    """An interval as the CSV files have it: "0.90 to 1.00", or "0.903-1.000"."""
    return " to ".join(map(short, text.replace("-", " to ").split(" to ")))


SIZE_SETS = {"strain 2x150": "strain left out, 2x150", "strain 1x100": "strain left out, 1x100",
             "genus 2x150": "genus left out, 2x150: called",
             "strains": "9 species of 15 strains", "species": "2 genera of 60 species"}


def size_table():
    """Kraken 2, and kmerhash, with as many bytes."""
    found = {(r["reads"], r["tool"], r["part"]): r for r in rows("size.csv")}
    lines = [[label] + [", ".join(short(found[name, tool, part]["called" if "called" in label else "species_f1"])
                                  for tool in ("kraken2", "kmerhash")) for part in ("1/1", "1/4", "1/16")] for name, label in SIZE_SETS.items()]
    return lines_of("reads | all | 1/4 | 1/16", lines)


def close_table():
    lines = []
    for file, more in (("close", ", pairs"), ("close_long", "")):
        for r in rows(file + ".csv"):
            if r["world"] == "mean":
                calls = [" ".join(short(r[p + x]) for x in ("P", "R", "F1")) + f", {float(r[p + 'absent']):.0f}" for p in ("", "pass_")]
                lines.append([r["sample"] + more, *calls, short(r["L1"])])
    return lines_of("sample | first pass: P R F1, absent | `--sample-pass`: P R F1, absent | L1", lines)


def sisters_table():
    kinds = {(r["identity"], r["kind"]): r for r in rows("sisters.csv")}

    def cells(r):
        return [f"{r['kept']} ({range_of(r['kept_95'])})", f"{short(r['called'])}, {short(r['pass_called'])}"]
    lines = [[f"{identity} %"] + cells(kinds[identity, "uneven"]) + cells(kinds[identity, "sister"]) for identity in ("90", "92", "96")]
    return lines_of("identity | uneven strains kept, of 36 | called | sisters kept, of 36 | called", lines)


def foreign_table():
    found = {(r["half"], r["program"]): r for r in rows("foreign.csv")}
    lines = [[label] + [f"{short(r['P'])} {short(r['R'])} {short(r['F1'])}, {r['absent']}"
                        for r in (found[half, program + names] for program in ("first pass", "--sample-pass"))]
             for label, half, names in (("first", "0", ""), ("second", "1", ""), ("second, names of now", "1", ", names of now"))]
    return lines_of("half | first pass: P R F1, absent | `--sample-pass`", lines)


def strains_table():
    lines = [[r["strains"], short(r["ceiling"]), f"{float(r['called']):.4f}".lstrip("0"),
              f"{short(r['precision'])} ({short(r['low'])} to {short(r['high'])})",
              f"{12 * float(r['in_report']):.0f}, {3 * float(r['false']):.0f}"] for r in rows("strains.csv")
             if float(r["errors"]) and r["reads"] == "2x150"]
    return lines_of("strains | fits one | called a strain | right (95 %) | reports", lines)


def detection_table():
    found = [{(r["identity"], r["pairs"]): r for r in rows(name + ".csv")} for name in ("detection", "detection_related")]

    def two(share):
        return "1" if float(share) == 1 else f"{float(share):.2f}".lstrip("0") if float(share) else "0"

    def cell(r):
        return f"{two(r['yes'])}; {two(float(r['yes']) + float(r['low']))} ({' to '.join(map(two, r['interval'].split(' to ')))})"
    lines = [[n] + [cell(of[identity, n]) for of in found for identity in ("100 %", "97 %")] for n in ("1", "16", "64")]
    return lines_of("pairs | without: 100 %, high; found | 97 % | beside: 100 %, high; found | 97 %", lines)


def communities_table():
    """Of each community and program, means over its samples: what OPAL says of profiles, and AMBER of calls."""
    lines = [[r["community"], r["program"].replace("--sample-pass", "`--sample-pass`"), f"{short(r['completeness'])} {short(r['purity'])}",
              f"{float(r['L1']):.2f}".lstrip("0"), "" if r["calls_purity"] == "nan" else f"{short(r['calls_completeness'])} {short(r['calls_purity'])}"]
             for r in rows("communities.csv")]
    return lines_of("community | program | profile: completeness, purity | L1 | calls: completeness, purity", lines)


def translated_table():
    """By bases alone, and with translated seeds: new species called their genus, absent genera called another one."""
    at = {r["set"]: r for r in rows("translated.csv")}
    lines = [[layout] + [", ".join(short(at[f"{out} left out, {layout}"][x]) for x in columns)
                         for out, columns in (("species", ("dna_right", "right")), ("genus", ("dna_genus", "genus")))]
             for layout in ("2x150", "1x100", "HiFi, 8 kb", "ONT, 4 kb")]
    return lines_of("reads | new species called their genus | absent genera called another genus", lines)


LAYOUTS, SEEDS = ("2x150", "1x100", "HiFi, 8 kb"), ("", "_13", "_20", "_21")    # the seeds of exclusion_sample*.csv: the first one is 12


def excluded(name, collection):
    """Of a file: program, layout, and what is left out; family F1, genus F1, and the share that is called a family though it is absent."""
    at = {(r["program"], r["layout"], r["out"]): r for r in rows(name) if r["collection"] == collection}
    return {(program, layout): [float(at[program, layout, out][x]) for out, x in (("genus", "F1"), ("species", "F1"), ("family", "absent"))]
            for program, layout, out in at if out == "species"}


def program_name(program):
    program = program.replace("metabuli --min-score 0.15 --min-sp-score 0.5", "metabuli, least scores")
    return program.replace(" --", " `--", 1) + "`" * ("--" in program)


def exclusion_cell(of):
    return "{}, {}, {}".format(short(of[0]), short(of[1]), f"{of[2]:.4f}".lstrip("0"))


def exclusion_table(collection, *files):
    at = {key: of for name in files for key, of in excluded(name, collection).items()}
    return lines_of(" | ".join(("program",) + LAYOUTS), [[program_name(program)] + [exclusion_cell(at[program, layout]) for layout in LAYOUTS]
                                                         for program in dict.fromkeys(program for program, _ in at) if program != "metacache"])


def exclusion_sample_table():
    """Pairs: means of the seeds, and of the ratios of F1 to Metabuli's with their 95 % intervals, by Student's t; other reads: of the first seed."""
    seeds, lines = [excluded(f"exclusion_sample{seed}.csv", "made-up") for seed in SEEDS], []
    for program in ("kmerhash --sample-pass --set unknown=balanced", "kmerhash --set unknown=sensitive", "metabuli"):
        of = [seed[program, "2x150"] for seed in seeds]
        ratios = [[a / b for a, b in zip(mine, seed["metabuli", "2x150"])][:2] for mine, seed in zip(of, seeds)]
        spread = [3.182 * statistics.stdev(x) / len(seeds) ** .5 for x in zip(*ratios)]     # t of three degrees of freedom
        lines.append([program_name(program), exclusion_cell([statistics.mean(x) for x in zip(*of)])] +
                     [f"{m:.2f} ({m - d:.2f} to {m + d:.2f})" if d else "1" for m, d in zip(map(statistics.mean, zip(*ratios)), spread)] +
                     [exclusion_cell(seeds[0][program, layout]) for layout in LAYOUTS[1:]])
    return lines_of("program | 2x150, four seeds | ratio: family | genus | 1x100 | HiFi, 8 kb", lines)


WHAT = {"build refset": "build, 31 genomes", "build large": "build, simulated",
        "classify refset_sim": "classify, pairs 2x150 of the 31 genomes",
        "classify sarscov2_illumina": "classify, real SARS-CoV-2 pairs", "classify large": "classify, pairs 2x150 of the simulated",
        "classify large, kraken2's database": "the same, both with Kraken 2's database"}


def cost_table():
    lines = [[WHAT[r["what"]], r["size"], f"{r['kraken2_s']} s, {r['kmerhash_s']} s", f"{float(r['ratio']):.1f}", f"{r['kraken2_MB']}, {r['kmerhash_MB']}"]
             for r in rows("cost.csv") if r["what"] in WHAT]
    return lines_of("what | size | Kraken 2.17.1, kmerhash | ratio | memory, MB", lines)


def cost_pass_table():
    lines = [[f"{int(r['pairs']):,}", f"{r['report_million']}, {r['pass_million']}", f"{float(r['ratio']):.2f}"] for r in rows("cost_pass.csv")]
    return lines_of("pairs | million instructions without, with | ratio", lines)


def cost_simd_table():
    return lines_of("what | size | ratio", [[r["what"], r["size"].replace("200000", "200,000"), r["ratio"]] for r in rows("cost_simd.csv")])


def cost_long_table():
    what = {"ONT": "nanopore reads of 5 kb, 5 % of errors", "HiFi": "HiFi reads of 10 kb"}
    lines = [[f"{r['many']} {what[r['reads']]}", f"{r['before_million']}, {r['now_million']}", r["ratio"],
              f"{r['before_s']}, {r['now_s']}", r["ratio_s"]] for r in rows("cost_long.csv")]
    return lines_of("reads | million instructions, counting and now | ratio | CPU seconds, counting and now | ratio", lines)


def rate_cell(r, unit=""):
    median, least, most = (f"{float(r[x]):.3g}" for x in ("median", "least", "most"))
    return f"{median}{unit} ({least} to {most})"


PARSED = [("single reads of 100 bases", "reads.{}"), ("pairs", "pairs.{}"), ("pairs, 8 threads", "pairs.{}.8")]
BY = ("host", "device")


def rates_table(name, others=()):
    lines = [[r["what"].replace("--sample-pass", "`--sample-pass`").replace("--profile", "`--profile`"), rate_cell(r)]
             for row, r in gpu_rates(name=name).items() if r["unit"] == "million reads/s" and row not in others]
    return lines_of("one H200, 8 Gbp | million reads/s", lines)


def gpu_table():
    return rates_table("gpu.csv")


def more_table():
    """All rates of the second run, but those of the next table."""
    return rates_table("gpu_more.csv", {row.format(by) for _, row in PARSED for by in BY})


def parse_table():
    found = gpu_rates(name="gpu_more.csv")
    lines = [[label] + [rate_cell(found[row.format(by)]) for by in BY] for label, row in PARSED if row.format("device") in found]
    return lines_of("plain files, million reads/s | parsed by the host | by the GPU", lines)


def build_table():
    """Seconds of builds; and the bytes of a database, which are the same in each run."""
    large = gpu_rates(name="gpu_build.csv")
    lines = [[r["what"], rate_cell(r, " s"), rate_cell(large[row], " s") if row in large else ""]
             for row, r in gpu_rates(name="gpu_more.csv").items() if row.startswith("build.")]
    lines += [[r["what"], f"{float(r['median']):.2f}", ""] for row, r in gpu_rates(name="gpu_more.csv").items() if row.endswith(".bytes")]
    return lines_of("16 cores | 8 Gbp | 20 Gbp", lines)


def sizes_table():
    """How large databases are whose other figures are in other tables."""
    small = next(r for r in rows("size.csv") if (r["reads"], r["part"], r["tool"]) == ("present", "1/1", "kmerhash"))
    mbp = float(next(r["size"] for r in rows("cost.csv") if r["what"] == "build refset").split()[0])
    large, many = rows("sensitivity_large.csv")[0], rows("strains.csv")[-1]
    return lines_of("references | bytes a base", [[f"31 genomes, {mbp:.0f} Mbp", f"{int(small['limit']) / 1e6 / mbp:.2f}"],
                                                  ["4000 simulated genomes of as many species, 8 Gbp", large["bytes_a_base"]],
                                                  [f"{4 * int(many['strains'])} simulated genomes of four species, 54 Mbp", f"{float(many['bytes_a_base']):.3f}"]])


TABLES = {"speed.md": {"cost": cost_table, "cost_pass": cost_pass_table, "cost_long": cost_long_table, "cost_simd": cost_simd_table,
                       "gpu": gpu_table, "gpu_more": more_table, "gpu_more parse": parse_table, "gpu_more build": build_table},
          "guide.md": {"size": sizes_table},
          "accuracy.md": {"accuracy": accuracy_table, "accuracy far": far_table, "strains": strains_table, "worlds": worlds_table, "sensitivity": sensitivity_table,
                          "foreign": foreign_table, "detection": detection_table, "size": size_table,
                          "close": close_table, "sisters": sisters_table, "communities": communities_table,
                          "translated": translated_table, "exclusion": lambda: exclusion_table("made-up", "exclusion.csv"),
                          "exclusion_sample": exclusion_sample_table,
                          "exclusion_reference": lambda: exclusion_table("reference", "exclusion_reference.csv", "exclusion_sample.csv")},
          "../README.md": {"readme found": lambda: readme_table("found", "reads", "not run"),
                           "readme cost": lambda: readme_table("cost", "speed and memory", "no GPU version")}}
PICTURES = {"accuracy.svg": accuracy_picture, "speed.svg": speed_picture}


def made():
    """Each file, and what it should be."""
    for name, draw in PICTURES.items():
        yield DOC / name, draw()
    for name, tables in TABLES.items():
        text = (DOC / name).read_text()
        for table, make in tables.items():
            file, _, part = table.partition(" ")
            begin, end = f"<!-- {file}.csv{' ' * bool(part)}{part}: make figures -->\n", "<!-- end -->\n"
            before, rest = text.split(begin)
            text = before + begin + make() + end + rest[re.search(re.escape(end), rest).end():]
        yield DOC / name, text


def main(mode):
    if mode == "--write":
        with open(DOC / "readme.csv", "w") as out, contextlib.redirect_stdout(out):
            print_readme(DOC)
    for path, text in made():
        if mode == "--write":
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path.name} is not what make figures makes")
    unknown = list(unknown_figures())
    if unknown:
        sys.exit("README.md has other figures than readme.csv:\n" + "\n".join(unknown))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--readme"] and len(sys.argv) == 3:
        print_readme(pathlib.Path(sys.argv[2]))
    elif sys.argv[1:] in (["--write"], ["--check"]):
        main(sys.argv[1])
    else:
        sys.exit(__doc__)
