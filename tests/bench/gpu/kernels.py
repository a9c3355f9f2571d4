#!/usr/bin/env python3
"""ncu's CSV, a line a launch, as a line a kernel: the sum of times and the means by time."""
import collections
import csv
import re
import sys

METRICS = {"us": "gpu__time_duration.sum", "warp_instructions": "smsp__inst_executed.sum",
           "lanes": "smsp__thread_inst_executed_per_inst_executed.ratio",
           "l1_hit": "l1tex__t_sector_hit_rate.pct", "l2_hit": "lts__t_sector_hit_rate.pct",
           "warps": "sm__warps_active.avg.pct_of_peak_sustained_active",
           "issue": "smsp__issue_active.avg.pct_of_peak_sustained_active",
           "registers": "launch__registers_per_thread"}
UNITS = {"ns": 1e-3, "nsecond": 1e-3, "us": 1, "usecond": 1, "ms": 1e3, "msecond": 1e3}


def number(text):
    return float(text.replace(",", "") or 0)


def main():
    lines = [x for x in open(sys.argv[1]) if x.startswith('"')]
    rows = list(csv.DictReader(lines))
    unit, rows = rows[0], rows[1:]
    by = collections.defaultdict(list)
    for row in rows:
        name = re.sub(r"[<(].*", "", row["Kernel Name"].replace("<unnamed>::", ""))
        by[name].append({m: number(row.get(c, "")) for m, c in METRICS.items()})
    scale = UNITS.get(unit[METRICS["us"]], 1e-3)
    print("kernel,launches," + ",".join(METRICS))
    for name, runs in sorted(by.items(), key=lambda x: -sum(r["us"] for r in x[1])):
        us = sum(r["us"] for r in runs)
        out = [f"{us * scale:.0f}", f"{sum(r['warp_instructions'] for r in runs):.0f}"]
        out += [f"{sum(r[m] * r['us'] for r in runs) / us:.1f}" for m in list(METRICS)[2:]]
        print(f"{name},{len(runs)}," + ",".join(out))


if __name__ == "__main__":
    main()
