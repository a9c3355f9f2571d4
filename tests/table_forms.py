#!/usr/bin/env python3
"""A table as other programs and people write it: table_forms.py FORM [tab|comma|bar|none] <in >out"""
import random
import sys

form, between = sys.argv[1], {"tab": "\t", "comma": ",", "bar": None, "none": None}[sys.argv[2]]
rows = sys.stdin.read().split("\n")[:-1]
random.seed(form)

if "quotes" in form and sys.argv[2] != "bar":
    rows = [(between or "\t").join(f'"{c}"' for c in r.split(between)) if between else f'"{r}"' for r in rows]
if "more" in form and between:
    rows = [r + random.choice(["", between, between * 2]) if i else r for i, r in enumerate(rows)]
if "blank" in form:
    for at in (len(rows), 1, 0):
        rows.insert(at, random.choice(["", "  ", "\t" if sys.argv[2] != "comma" else ",,,"]))
if "comment" in form:
    for at in (len(rows), random.randrange(1, len(rows) + 1), 0):
        rows.insert(at, "# made by a program; 2 columns")
end = "\r\n" if "crlf" in form else "\n"
sys.stdout.reconfigure(newline="")
sys.stdout.write(("\ufeff" if "bom" in form else "") + "".join(r + end for r in rows))
