#!/usr/bin/env python3
"""check_inspect.py DATABASE TEXT - what `kmerhash inspect --json` (standard input) and `kmerhash inspect` (TEXT) say
that a database has, against an independent reader of it"""
import json
import sys

from oracle_db import Database


def main(path, lines):
    db, said = Database(path), json.load(sys.stdin)
    asked = [(alleles, bases) for _, alleles, bases in db.placed if alleles is not None]
    bases = sum(n for *_, n in db.placed)
    text = bases if db.at["text"] != (0, 0) else 0
    want = {"bases_kept": bases, "stretches_kept": len(db.kept), "bases": text, "bases_with_alleles": sum(n for _, n in asked),
            "alleles": len(db.few()) + sum(x > 0 for at, n in asked for x in db.unpacked(at, n)),
            "seeds_a_base": db.locations / bases}
    assert said["text"] == want, (said["text"], want)
    assert (said["scheme"], said["k"], said["s"]) == (("minhash", "syncmer")[db.scheme], db.k, db.s)
    assert said["translated_bytes"] == 0
    lines = dict(line.rstrip("\n").split("\t") for line in open(lines))
    names = "bases kept", "stretches kept", "bases of text", "bases with alleles", "alleles"
    assert [int(lines[name]) for name in names] == list(want.values())[:5], lines
    assert lines["seeds a base kept"] == "%.4f" % want["seeds_a_base"]
    print("%d bases, %d stretches, %d alleles" % (bases, want["stretches_kept"], want["alleles"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
