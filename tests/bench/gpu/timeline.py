#!/usr/bin/env python3
"""What trace.c has written, summed up as CSV.

A line for each kernel and kind of copy: how many, their times, the time in which any of them was
under way, and the time in which nothing else was.  `all`: any kernel; `span`: from the first kernel
to the last one; `idle`: no kernel.  All in seconds.
"""
import argparse
import collections
import re


def union(spans):
    """Seconds in which any is under way."""
    total, end = 0, 0
    for a, b in sorted(spans):
        total += max(0, b - max(a, end))
        end = max(end, b)
    return total * 1e-9


def short(name):
    """The name of a kernel without namespaces and parameters of templates."""
    known = re.findall(r"[0-9]([a-z_]+_kernel|Device[A-Za-z]+Kernel)", name)
    return known[-1] if known else re.sub(r"[^A-Za-z0-9_]", "", name)[:40]


def alone(spans):
    """Seconds of each name in which nothing else is under way."""
    events = sorted([(a, 1, n) for n, a, b in spans] + [(b, -1, n) for n, a, b in spans])
    now, before, out = collections.Counter(), 0, collections.Counter()
    for at, step, name in events:
        there = [n for n in now if now[n] > 0]
        if len(there) == 1:
            out[there[0]] += (at - before) * 1e-9
        now[name] += step
        before = at
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace")
    args = parser.parse_args()
    rows = [line.rstrip("\n").split("\t") for line in open(args.trace)]
    rows = [(kind, short(name) if kind == "kernel" else name, int(a), int(b))
            for kind, name, _, a, b in rows]
    kernels = [(n, a, b) for kind, n, a, b in rows if kind == "kernel"]
    by = collections.defaultdict(list)
    for kind, name, a, b in rows:
        by[kind, name].append((a, b))
    single = alone(kernels)
    print("kind,name,n,seconds,any,alone")
    for (kind, name), spans in sorted(by.items(), key=lambda x: -union(x[1])):
        print(f"{kind},{name},{len(spans)},{sum(b - a for a, b in spans) * 1e-9:.4f},"
              f"{union(spans):.4f},{single[name] if kind == 'kernel' else 0:.4f}")
    every = [(a, b) for _, a, b in kernels]
    span = (max(b for _, b in every) - min(a for a, _ in every)) * 1e-9
    print(f"kernel,all,{len(every)},{sum(b - a for a, b in every) * 1e-9:.4f},{union(every):.4f},")
    print(f"kernel,idle,,,{span - union(every):.4f},")


if __name__ == "__main__":
    main()
