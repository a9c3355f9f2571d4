#!/usr/bin/env python3
"""Draws the papers' figures from the CSV of `kmerhash-bench tables`.

    kmerhash-bench tables > tables.csv
    cuda/tables/bench/plot_tables.py tables.csv OUTDIR

One SVG a figure; a figure whose cases are not in the CSV is left out.
"""

import csv
import sys
from collections import Counter
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tables"})
import matplotlib.pyplot as plt  # noqa: E402

NUMBERS = {
    "n": int,
    "load": float,
    "multiplicity": float,
    "group": int,
    "insert_gops": float,
    "retrieve_gops": float,
}


def read(path):
    """Rows that passed their check, numbers as numbers."""
    rows = []
    with open(path, newline="") as f:
        for row in csv.DictReader(f):
            if row["check"] != "ok":
                continue
            for name, kind in NUMBERS.items():
                row[name] = kind(row[name])
            rows.append(row)
    return rows


def curves(rows, x, label):
    """{label: sorted [(x, insert, retrieve)]}; of one x the last row counts."""
    out = {}
    for row in rows:
        point = (row[x], row["insert_gops"], row["retrieve_gops"])
        out.setdefault(label(row), {})[row[x]] = point
    return {name: sorted(points.values()) for name, points in sorted(out.items())}


def one_size(rows):
    """Rows of the number of pairs that most of them have."""
    sizes = Counter(row["n"] for row in rows)
    return [row for row in rows if row["n"] == sizes.most_common(1)[0][0]]


def figure(path, title, x_name, lines, log=False, what=("insert", "retrieve")):
    """Two panels, insert and retrieve; nothing if there is nothing to draw."""
    if not lines:
        return
    fig, axes = plt.subplots(1, len(what), figsize=(5 * len(what), 3.8), squeeze=False)
    for axis, name in zip(axes[0], what):
        column = 1 if name in ("insert", "build") else 2
        for label, points in lines.items():
            axis.plot(
                [p[0] for p in points],
                [p[column] for p in points],
                marker="o",
                markersize=3,
                label=label,
            )
        axis.set_xlabel(x_name)
        axis.set_ylabel(f"{name}, 10⁹/s")
        axis.set_ylim(bottom=0)
        if log:
            axis.set_xscale("log", base=2)
        axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize=7)
    fig.suptitle(title, fontsize=10)
    fig.tight_layout()
    fig.savefig(path, metadata={"Date": None})
    plt.close(fig)
    print(path)


def with_note(row):
    return f"{row['table']} {row['note']}".strip()


def with_group(row):
    text = row["note"].split("restarts")[0].strip()
    note = f", {text}" if text else ""
    group = f", {row['group']} lanes" if row["group"] else ""
    return row["table"] + group + note


def phases(path, rows):
    """Share of each phase in a build, by number of GPUs (multi-GPU HashGraph, Fig. 5)."""
    builds = {r["group"]: r["note"] for r in rows if r["retrieve_gops"] == 0
              and r["key_bits"] == "32" and r["value_bits"] == "0"}
    if not builds:
        return
    fig, axis = plt.subplots(figsize=(5, 3.8))
    shares = {}
    for gpus, note in sorted(builds.items()):
        words = note.split(";")[0].split()[3:]
        times = dict(zip(words[::2], map(float, words[1::2])))
        for name, ms in times.items():
            shares.setdefault(name, []).append(ms / (sum(times.values()) or 1))
    below = [0.0] * len(builds)
    for name, column in shares.items():
        axis.bar([str(gpus) for gpus in sorted(builds)], column, bottom=below, label=name)
        below = [a + b for a, b in zip(below, column)]
    axis.set_xlabel("GPUs")
    axis.set_ylabel("share of the time")
    axis.legend(fontsize=7)
    fig.suptitle("Multi-GPU HashGraph: phases of a build (Fig. 5)", fontsize=10)
    fig.tight_layout()
    fig.savefig(path, metadata={"Date": None})
    plt.close(fig)
    print(path)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    rows = read(sys.argv[1])
    out = Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)

    def case(*names):
        return [r for r in rows if r["case"] in names]

    figure(
        out / "unique.svg",
        "Unique keys by load (WarpCore Fig. 5)",
        "load",
        curves(one_size([r for r in case("unique") if r["load"] > 0]), "load", with_group),
        what=("insert", "find"),
    )
    figure(
        out / "groups.svg",
        "WarpCore SingleValue at load 0.8 by lanes that probe together",
        "lanes",
        curves(case("groups"), "group", lambda r: r["note"]),
        log=True,
        what=("insert", "find"),
    )
    figure(
        out / "multi.svg",
        "Values a key, uniform (WarpCore Fig. 7)",
        "values a key",
        curves(one_size([r for r in case("multi") if r["key_bits"] == "32"]),
               "multiplicity", with_group),
        log=True,
    )
    for name, title in (("duplicates", "HashGraph by duplicates"), ("range", "HashGraph by hash range C")):
        both = [dict(r, table=r["table"] + (" probe-new" if "new" in r["case"] else " probe"))
                for r in case(name, name + " probe-new")]
        x = "multiplicity" if name == "duplicates" else "load"
        figure(out / f"hashgraph-{name}.svg", title, name, curves(both, x, lambda r: r["table"]),
               log=True, what=("build", "probe"))
    figure(
        out / "hashgraph-n.svg",
        "HashGraph by size and order of keys",
        "pairs",
        curves(case("N"), "n", with_note),
        log=True,
        what=("build", "probe"),
    )
    figure(
        out / "dachash-search.svg",
        "DACHash: build and search (Figs. 7.5, 7.6)",
        "keys",
        curves(case("search"), "n", with_note),
        log=True,
        what=("build", "search"),
    )
    mixes = [dict(r, table=r["case"]) for r in rows
             if r["table"] == "dachash" and (r["case"].startswith(("80/20 ", "60/40 ")))]
    figure(
        out / "dachash-mixed.svg",
        "DACHash: mixed batches by expected length (Figs. 7.3, 7.7)",
        "expected length",
        curves(mixes, "load", lambda r: r["table"]),
        log=True,
        what=("operations",),
    )
    figure(
        out / "cuckoo.svg",
        "Cuckoo hashing by load",
        "load",
        curves([dict(r, table=r["case"]) for r in rows if r["case"].endswith(" tables")],
               "load", lambda r: r["table"]),
        what=("insert", "find"),
    )
    def widths(row):
        probe = row["case"].replace("weak scaling", "").replace("gpus duplicates", "").strip()
        return f"{row['key_bits']}/{row['value_bits']} {probe}"

    scaling = [r for r in rows if r["case"].startswith("weak scaling ")]
    figure(
        out / "gpus-scaling.svg",
        "Multi-GPU HashGraph, weak scaling (Fig. 3)",
        "GPUs",
        curves(scaling, "group", widths),
        what=("build", "query"),
    )
    figure(
        out / "gpus-duplicates.svg",
        "Multi-GPU HashGraph by duplicates (Fig. 4)",
        "values a key",
        curves([r for r in rows if r["case"].startswith("gpus duplicates ")],
               "multiplicity", widths),
        log=True,
        what=("build", "query"),
    )
    # One GPU has no exchange that could hide anything: its weak scaling is its phases.
    phases(out / "gpus-phases.svg",
           case("phases") + [r for r in case("weak scaling") if r["group"] == 1])
    figure(
        out / "modes.svg",
        "WarpCore over several GPUs",
        "GPUs",
        curves([r for r in rows if r["case"] in ("distributed retrieve", "independent retrieve")],
               "group", lambda r: f"{r['table']} {r['case'].split()[0]}"),
    )


if __name__ == "__main__":
    main()
