#!/usr/bin/env python3
"""The figures and the long tables of README.md and doc/, made of the CSV files in doc/.

    figures.py --write    draws doc/*.svg and puts the tables into doc/*.md
    figures.py --check    fails if any of these is another one, or if README.md has a figure that is in none
    figures.py --readme FOLDER    prints the figures of README's tables and text, from the CSV files in FOLDER

The CSV files are those of tests/bench/evidence, but speed.csv, which has what gpu_pass.sh and gpu/rates measured.  Nothing but
Python's library is needed.
"""
import contextlib
import csv
import html
import pathlib
import re
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
    ("12,000 real pairs, SARS-CoV-2 amplicons", "labelled/sarscov2_illumina"),
    ("500 real nanopore reads, mock community", "labelled/zymo_ont"),
    ("4000 simulated pairs, lambda, many N", "labelled/lambda_bt2sim"),
    ("20,000 simulated reads of 100 bases, 5 % from their reference", "simgen/5% 1x100"),
    ("20,000 such reads, 8 % from their reference", "simgen/8% 1x100"),
    ("99,000 simulated pairs, some genomes left out", "all communities"),
]
SHORT_TABLE = re.compile(r"(labelled/\S+|simgen/[358].*1x100|simgen/8% .*|mutated/10% .*|.* communities|strain \S+) species|species [12]x.* genus|"
                         r"(labelled/.*|species|genus) (absent|[12]x[0-9]*) at species|repeats/Homo.* called")
PROGRAMS = [("Kraken 2", "accuracy", "k2"), ("Kraken 2, `--confidence 0.1`", "accuracy_confidence_0.1", "k2"),
            ("MetaCache 2.6.0", "accuracy_metacache", "k2"), ("kmerhash", "accuracy", "kh"), ("with `--sample-pass`", "accuracy_pass", "kh")]
ABSENT = [("Kraken 2", "worlds", "kraken2+bracken"), ("Kraken 2, `--confidence 0.1`", "worlds_confidence_0.1",
          "kraken2+bracken"), ("kmerhash", "worlds", "first pass"), ("with `--sample-pass`", "worlds", "--sample-pass")]
COST = [("build, 374 Mbp: CPU time", "build large", "s"), ("build, 374 Mbp: memory", "build large", "MB"),
        ("classify, 200,000 pairs: CPU time", "classify large", "s"), ("classify, 200,000 pairs: memory", "classify large", "MB")]


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
                yield "any call: 10,000 human pairs, no human genome among the references", column, \
                    f"{many} ({low} to {high})", name, r
    for column, name, program in ABSENT:
        for r in rows(name + ".csv", folder):
            if (r["world"], r["program"]) == ("mean", program):
                shown = f"{r['absent']} ({r['absent_95'].replace('-', ' to ')})"
                yield "species calls: reads of species without a reference, in nine simulated samples of 30,000 reads or pairs", \
                    column, shown, name, r


def cost_cells(folder):
    for label, what, unit in COST:
        for r in rows("cost.csv", folder):
            if r["what"] == what:
                for column in ("kraken2", "kmerhash"):
                    shown = f"{r[column + '_' + unit]} {unit}"
                    yield label, {"kraken2": "Kraken 2"}.get(column, column), shown, "cost", r


def text_cells(folder):
    """What README's text has of other files, in its words."""
    for words, name, tool in (("MetaCache calls {} rightly", "accuracy_metacache", "k2"), ("Kraken 2 {}", "accuracy", "k2"),
                              ("kmerhash {}", "accuracy", "kh")):
        for r in rows(name + ".csv", folder):
            if (r["set"], r["rank"]) == ("labelled/zymo_ont", "species") and r[tool + "_R"] != "-":
                yield "500 nanopore reads", "", words.format(round(int(r["reads"]) * float(r[tool + "_R"]))), name, r
    uneven = [r for r in rows("sisters.csv", folder) if r["kind"] == "uneven"]
    for words, of in (("at most {} of {}", [r for r in uneven if int(r["identity"]) >= 92]),
                      ("{} of {}", [r for r in uneven if int(r["identity"]) < 92])):
        for r in sorted(of, key=lambda r: int(r["kept"]))[:1]:
            yield "uneven strains lost", "", words.format(int(r["species"]) - int(r["kept"]), r["species"]), "sisters", r
    foreign = {(r["half"], r["program"]): r for r in rows("foreign.csv", folder)}
    for half in "01" if foreign else "":
        first, last = (foreign[half, program] for program in ("first pass", "--sample-pass"))
        yield "real strains", "", f"({short(first['F1'])} to {short(last['F1'])})", "foreign", last


def readme_rows(folder):
    for table, cells in (("found", found_cells(folder)), ("wrong", wrong_cells(folder)), ("cost", cost_cells(folder)),
                         ("text", text_cells(folder))):
        for row, column, shown, name, r in cells:
            yield [table, row, column, shown, name + ".csv"] + [r[x] for x in ("commit", "versions", "command")]


def print_readme(folder):
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("table row column shown file commit versions command".split())
    out.writerows(readme_rows(folder))


def readme_table(name, head):
    """One of README's tables, of readme.csv."""
    mine = [r for r in rows("readme.csv") if r["table"] == name]
    columns, lines = list(dict.fromkeys(r["column"] for r in mine)), []
    for r in mine:
        if r["column"] == columns[0]:
            lines.append([r["row"]] + ["not run"] * len(columns))
        lines[-1][1 + columns.index(r["column"])] = r["shown"]
    return lines_of(" | ".join([head] + columns), lines)


def gpu_table():
    lines = [[r["what"], r["shown"]] for r in rows("speed.csv") if "H200" in r["figure"]]
    return lines_of("one NVIDIA H200, 8 Gbp of references, pairs from .fq.gz in memory | million reads/s", lines)


def unknown_figures():
    """Cells of README's tables with figures that readme.csv and speed.csv do not have in that row, and words that README lacks."""
    have, text = {}, " ".join((DOC.parent / "README.md").read_text().split())
    yield from (r["shown"] for r in rows("readme.csv") if r["table"] == "text" and r["shown"] not in text)
    for r in rows("readme.csv") + rows("speed.csv"):
        have.setdefault(r.get("row", r.get("what")), set()).add(r["shown"])
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


def cost_bars():
    """Pairs a second on one thread, of CPU time."""
    r = next(r for r in rows("cost.csv") if r["what"] == "classify large")
    found = [(name, kind, round(int(r["size"].split()[0]) / float(r[column]), -3)) for name, kind, column in (
        ("Kraken 2.17.1", "theirs", "kraken2_s"), ("kmerhash", "ours", "kmerhash_s"))]
    return [{"figure": "One thread, pairs a second, 374 Mbp of references", "what": name, "value": n, "shown": f"{n:,.0f}",
             "kind": kind} for name, kind, n in found]


def speed_picture():
    groups = {}
    for r in cost_bars() + rows("speed.csv"):
        groups.setdefault(r["figure"], []).append(r)
    p = Picture("Reads a second of kmerhash and Kraken 2, on one thread, and of kmerhash on a GPU")
    p.legend([("theirs", "other programs"), ("ours", "kmerhash")])
    for head, lines in groups.items():
        p.head(head)
        bars(p, [(r["what"], float(r["value"]), r["shown"], r["kind"]) for r in lines])
    return p.svg()


# --- tables -------------------------------------------------------------------------
def lines_of(head, lines):
    """A table of Markdown; head names the columns, "|"-separated."""
    columns = [cell.strip() for cell in head.split("|")]
    cells = [columns, ["---"] * len(columns), *lines]
    return "".join("|" + "|".join(f" {c} " if c else "  " for c in line) + "|\n" for line in cells)


# Columns of the tables of accuracy, read by read: head, file, whose columns in it, and which.
ALL, F1 = ("P", "R", "F1"), ("F1",)
BESIDE = [("Kraken 2", "accuracy", "k2", ALL), ("`--confidence 0.1`", "accuracy_confidence_0.1", "k2", F1),
          ("MetaCache", "accuracy_metacache", "k2", F1), ("Centrifuger", "accuracy_centrifuger", "k2", F1),
          ("kmerhash", "accuracy", "kh", ALL), ("`--sample-pass`", "accuracy_pass", "kh", F1)]
SWEEP = [("Kraken 2", "accuracy", "k2", F1)] + [
    (f"`--confidence {x}`", f"accuracy_confidence_{x}", "k2", F1) for x in ("0.05", "0.1", "0.2")] + [
    ("kmerhash", "accuracy", "kh", F1), ("`--sample-pass`", "accuracy_pass", "kh", F1)]
SWEPT = re.compile(r"(labelled/(spneumoniae|zymo|lambda)\S+|simgen/5% 1x100|simgen/8% 2x150|(strain|all) communities) species|"
                   r"species .x1.. at species|repeats/Homo 2x150 called")


def accuracy_table(columns, wanted):
    """Species, and of species that are left out the genus; what cannot be right as a share."""
    tables = {file: {(r["set"], r["rank"]): r for r in rows(file + ".csv")} for _, file, *_ in columns}
    columns = [c for c in columns if tables[c[1]]]

    def cell(key, file, tool, figures):
        r = tables[file].get(key, {})
        return " ".join(short(r[f"{tool}_{x}"]) for x in figures if r.get(f"{tool}_{x}", "-") != "-")
    lines = [[*key, r["reads"]] + [cell(key, *of) for _, *of in columns]
             for key, r in tables["accuracy"].items() if wanted.fullmatch(" ".join(key))]
    return lines_of("reads | rank | number | " + " | ".join(head for head, *_ in columns), lines)


def worlds_table():
    out = ["| world | Kraken 2: P R F1, absent | with Bracken: BC, false | first pass: P R F1, absent | "
           "`--sample-pass`: P R F1, absent | `--profile`: BC, false |", "| --- | --- | --- | --- | --- | --- |"]
    worlds = {}
    for r in rows("worlds.csv"):
        worlds.setdefault(r["world"], {})[r["program"]] = r
    for world, of in worlds.items():
        def calls(program):
            r = of[program]
            return (" ".join(short(r[x]) for x in ("P", "R", "F1")) if r["F1"] != "0.0000" else "-") + f", {r['absent']}"

        def profile(program):
            r = of[program]
            return (short(r["BC"]) if r["F1"] != "0.0000" else "-") + f", {r['false']}"
        out.append(" | ".join([f"| {world.replace('validation-', '')}", calls("kraken2+bracken"), profile("kraken2+bracken"),
                               calls("first pass"), calls("--sample-pass"), profile("--sample-pass")]) + " |")
    return "\n".join(out) + "\n"


def sensitivity_table():
    indexes = {}
    for r in rows("sensitivity.csv") + rows("sensitivity_large.csv"):
        indexes.setdefault(r["index"], []).append(r)
    sets = [r["set"] for r in next(iter(indexes.values()))]
    out = ["| index | k, s | bytes a base | " + " | ".join(sets) + " |", "| --- " * (3 + len(sets)) + "|"]
    for name, lines in indexes.items():
        if name in ("20 Gbp", "60 Gbp"):    # the parameters of 8 Gbp
            continue
        found = [f'{r["species_precision"]} {r["species_recall"]}, {r["genus_recall"]}' for r in lines]
        out.append(f'| {name} | {lines[0]["k"]}, {lines[0]["s"]} | {lines[0]["bytes_a_base"]} | ' + " | ".join(found) + " |")
    return "\n".join(out) + "\n"


def range_of(text):
    """An interval as the CSV files have it: "0.90 to 1.00", or "0.903-1.000"."""
    return " to ".join(map(short, text.replace("-", " to ").split(" to ")))


SIZE_SETS = {"present": "pairs of the references", "strain 2x150": "strain left out, pairs",
             "strain 1x100": "strain left out, 1x100", "genus 2x150": "genus left out, pairs",
             "genus 1x100": "genus left out, 1x100", "strains": "simulated: 9 species of 15 strains",
             "species": "simulated: 2 genera of 60 species"}


def size_table():
    found = {(r["reads"], r["tool"], r["part"]): r for r in rows("size.csv")}
    lines = []
    for name, label in SIZE_SETS.items():
        column = "called" if name.startswith("genus") else "species_f1"
        for tool in ("kraken2", "kmerhash"):
            cells = [short(found[name, tool, f"1/{n}"][column]) for n in (1, 2, 4, 8, 16) if (name, tool, f"1/{n}") in found]
            if len(cells) == 5:
                lines.append([label if tool == "kraken2" else "", {"kraken2": "Kraken 2"}.get(tool, tool), *cells])
    return lines_of("reads | | all | 1/2 | 1/4 | 1/8 | 1/16", lines)


def close_table():
    lines = []
    for file, more in (("close", ", pairs"), ("close_long", ""), ("close_present", ", `--present`")):
        for r in rows(file + ".csv"):
            if r["world"] == "mean":
                calls = [" ".join(short(r[p + x]) for x in ("P", "R", "F1")) + f", {float(r[p + 'absent']):.0f}" for p in ("", "pass_")]
                lines.append([r["sample"] + more, *calls, short(r["L1"])])
    return lines_of("sample | first pass: P R F1, absent | `--sample-pass`: P R F1, absent | L1", lines)


def sisters_table():
    kinds = {(r["identity"], r["kind"]): r for r in rows("sisters.csv")}
    lines = []
    for identity in dict.fromkeys(i for i, _ in kinds):
        cells = [f"{identity} %"]
        for kind in ("strain", "uneven", "sister"):
            r = kinds[identity, kind]
            cells += [f"{r['kept']} of {r['species']}, {range_of(r['kept_95'])}",
                      f"{short(r['called'])}, {short(r['pass_called'])}"]
        lines.append(cells)
    return lines_of("identity | even strains kept | called | uneven strains kept | called | sisters kept | called", lines)


def foreign_table():
    lines = [[{"0": "first", "1": "second"}[r["half"]], r["program"], r["pairs"], f"{short(r['P'])} {short(r['R'])} {short(r['F1'])}",
              r["absent"]] for r in rows("foreign.csv") if r["half"] == "1" or r["half"] and ", " not in r["program"]]
    return lines_of("half | calls | pairs | P R F1 | absent", lines)


def strains_table():
    lines = [[r["strains"], f"{float(r['bytes_a_base']):.3f}", r["reads"], short(r["ceiling"]), f"{float(r['called']):.4f}".lstrip("0"),
              f"{short(r['precision'])} ({short(r['low'])} to {short(r['high'])})",
              f"{12 * float(r['in_report']):.0f}, {3 * float(r['false']):.0f}"] for r in rows("strains.csv") if float(r["errors"])]
    return lines_of("strains | bytes a base | reads | fits one | called a strain | right (95 %) | reports", lines)


def pass_table():
    """What the sample pass changes, of several files: by the first pass, and with it."""
    found = [{r["set"]: r for r in rows(name + ".csv") if r["rank"] == "species"} for name in ("accuracy", "accuracy_pass")]
    lines = [[f"{label}: F1", "`accuracy`"] + [short(of[key]["kh_F1"]) for of in found] for label, key in (
        ("*S. pneumoniae* isolate, real pairs", "labelled/spneumoniae_illumina"), ("nanopore mock community, real", "labelled/zymo_ont"),
        ("strains left out, single reads", "strain 1x100"), ("strains, species, genera left out: reads of all genomes", "all communities"))]
    foreign = {(r["half"], r["program"]): short(r["F1"]) for r in rows("foreign.csv") if r["half"]}
    lines.append(["real strains that are none of the references: F1 of two halves", "`foreign`"] +
                 [", ".join(foreign[half, program] for half in "01") for program in ("first pass", "--sample-pass")])
    for label, kind, most in (("even strains of 90 to 97 %", "strain", 97), ("uneven strains of 90 to 97 %", "uneven", 97)):
        of = [r for r in rows("sisters.csv") if r["kind"] == kind and int(r["identity"]) <= most]
        lines.append([label + " that are kept", "`sisters`", str(sum(int(r["species"]) for r in of)), str(sum(int(r["kept"]) for r in of))])
    of = [r for r in rows("sisters.csv") if r["kind"] == "sister" and int(r["identity"]) <= 95]
    lines.append(["reads of absent sisters, 90 to 95 %, called", "`sisters`"] +
                 [short(sum(float(r[x]) for r in of) / len(of)) for x in ("called", "pass_called")])
    worlds = {(r["world"], r["program"]): r for r in rows("worlds.csv")}
    for label, world, figures in (("much is missing: P, R", "mean", ("P", "R")), ("nothing has a reference: species calls", "validation-8 2x150", ("absent",))):
        cells = [", ".join(short(r[x]) if x != "absent" else r[x] for x in figures)
                 for r in (worlds[world, "first pass"], worlds[world, "--sample-pass"])]
        lines.append([label, "`worlds`"] + cells)
    return lines_of("set | script | first pass | `--sample-pass`", lines)


def detection_table():
    found = [{(r["identity"], r["pairs"]): r for r in rows(name + ".csv")} for name in ("detection", "detection_related")]

    def two(share):
        return "1" if float(share) == 1 else f"{float(share):.2f}".lstrip("0") if float(share) else "0"

    def cell(r):
        return f"{two(r['yes'])}; {two(float(r['yes']) + float(r['low']))} ({' to '.join(map(two, r['interval'].split(' to ')))})"
    lines = [[n] + [cell(of[identity, n]) for of in found for identity in ("100 %", "97 %")] for n in ("1", "4", "16", "64")]
    return lines_of("pairs | without: 100 %, high; found | 97 % | beside: 100 %, high; found | 97 %", lines)


def profiles_table():
    def percent(text):
        name, _, share = text.rpartition(" ")
        return (name and name + ", ") + (f"{float(share):.1f}" if share != "-" else "none" if name else share)
    lines = [[r["set"], r["database"].replace("without-" + r["set"], "without its genera"), r["yes"], r["low"], r["right"],
              r["missing"], percent(r["first"]), percent(r["unknown"])] for r in rows("profiles.csv")]
    return lines_of("reads | database | high | low | right | missing | most abundant, and its abundance, % | unknown, %", lines)


def contigs_table():
    lines = [[r["identity"], f"{r['right']}, {r['wrong']}", f"{r['share']}, {r['second']}",
              f"{r['joined_right']}, {r['joined_second']}, {r['joined_share']}"] for r in rows("contigs.csv")]
    return lines_of("identity | right, wrong | their share of matching 12-mers, and the second's | "
                    "joined: right, and the second is the other part, with a share of", lines)


def communities_table():
    """Of each community and program, means over its samples: what OPAL says of profiles, and AMBER of calls."""
    lines = [[r["community"], r["program"].replace("--sample-pass", "`--sample-pass`"), f"{short(r['completeness'])} {short(r['purity'])}",
              short(r["F1"]), f"{float(r['L1']):.2f}".lstrip("0"), f"{short(r['calls_completeness'])} {short(r['calls_purity'])}",
              short(r["calls_right"])] for r in rows("communities.csv")]
    return lines_of("community | program | profile: completeness, purity | F1 | L1 | calls: completeness, purity | bases called right", lines)


def translated_table():
    """By bases alone, and with translated seeds: new species called their genus, absent genera called another one."""
    at = {r["set"]: r for r in rows("translated.csv")}
    lines = [[name.partition(", ")[2], f"{short(r['dna_right'])}, {short(r['right'])}",
              ", ".join(f"{100 * float(at[name.replace('species', 'genus', 1)][x]):.1f} %" for x in ("dna_genus", "genus"))]
             for name, r in at.items() if name.startswith("species left out")]
    return lines_of("reads | new species called their genus: by bases, with `--translated` | absent genera called another genus", lines)


def exclusion_table(collection, *files):
    """Of each program and layout: family F1, genus F1, and the share that is called a family though it is absent."""
    at = {(r["program"], r["layout"], r["out"]): r for name in files for r in rows(name) if r["collection"] == collection}
    programs, layouts = (list(dict.fromkeys(key[i] for key in at)) for i in (0, 1))

    def cell(program, layout):
        genus, species, family = (at[program, layout, out] for out in ("genus", "species", "family"))
        return f"{short(genus['F1'])}, {short(species['F1'])}, {float(family['absent']):.4f}".replace(" 0.", " .")

    return lines_of(" | ".join(["program"] + layouts), [[p.replace(" --", " `--", 1) + "`" * ("--" in p)]
                                                        + [cell(p, layout) for layout in layouts] for p in programs])


WHAT = {"build refset": "build, 31 genomes", "build large": "build, simulated",
        "classify refset_sim": "classify, pairs 2x150 of the 31 genomes",
        "classify sarscov2_illumina": "classify, real SARS-CoV-2 pairs", "classify large": "classify, pairs 2x150 of the simulated"}


def cost_table():
    out = ["| what | size | Kraken 2.17.1 | kmerhash | ratio | memory, MB |", "| --- | --- | --- | --- | --- | --- |"]
    for r in rows("cost.csv"):
        if r["what"] in WHAT:
            out.append(f"| {WHAT[r['what']]} | {r['size']} | {r['kraken2_s']} s | {r['kmerhash_s']} s | {float(r['ratio']):.1f} | "
                       f"{r['kraken2_MB']}, {r['kmerhash_MB']} |")
    return "\n".join(out) + "\n"


def cost_pass_table():
    lines = [[f"{int(r['pairs']):,}", f"{r['report_million']}, {r['pass_million']}", f"{float(r['ratio']):.2f}"] for r in rows("cost_pass.csv")]
    return lines_of("pairs | million instructions without, with | ratio", lines)


def sizes_table():
    """How large databases are whose other figures are in other tables."""
    small = next(r for r in rows("size.csv") if (r["reads"], r["part"], r["tool"]) == ("present", "1/1", "kmerhash"))
    mbp = float(next(r["size"] for r in rows("cost.csv") if r["what"] == "build refset").split()[0])
    large, many = rows("sensitivity_large.csv")[0], rows("strains.csv")[-1]
    return lines_of("references | bytes a base", [[f"31 genomes, {mbp:.0f} Mbp", f"{int(small['limit']) / 1e6 / mbp:.2f}"],
                                                  ["4000 simulated genomes of as many species, 8 Gbp", large["bytes_a_base"]],
                                                  [f"{4 * int(many['strains'])} simulated genomes of four species, 54 Mbp", f"{float(many['bytes_a_base']):.3f}"]])


TABLES = {"speed.md": {"cost": cost_table, "cost_pass": cost_pass_table},
          "guide.md": {"size": sizes_table},
          "accuracy.md": {"accuracy": lambda: accuracy_table(BESIDE, SHORT_TABLE), "accuracy sweep": lambda: accuracy_table(SWEEP, SWEPT),
                          "accuracy_pass pass": pass_table, "strains": strains_table,
                          "worlds": worlds_table, "sensitivity": sensitivity_table, "foreign": foreign_table,
                          "profiles": profiles_table, "detection": detection_table, "size": size_table,
                          "close": close_table, "sisters": sisters_table, "contigs": contigs_table, "communities": communities_table, "translated": translated_table,
                          "exclusion": lambda: exclusion_table("made-up", "exclusion.csv"),
                          "exclusion_sample": lambda: exclusion_table("made-up", "exclusion_sample.csv"),
                          "exclusion_reference": lambda: exclusion_table("reference", "exclusion_reference.csv", "exclusion_sample.csv")},
          "../README.md": {"readme": lambda: readme_table("found", "reads"), "speed gpu": gpu_table,
                           "readme wrong": lambda: readme_table("wrong", "wrong calls, fewer is better"),
                           "readme cost": lambda: readme_table("cost", "cost, one thread")}}
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
        sys.exit("README.md has other figures than readme.csv and speed.csv:\n" + "\n".join(unknown))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--readme"] and len(sys.argv) == 3:
        print_readme(pathlib.Path(sys.argv[2]))
    elif sys.argv[1:] in (["--write"], ["--check"]):
        main(sys.argv[1])
    else:
        sys.exit(__doc__)
