"""check_sam.py SAM PAF READS[,MATES] REFERENCE...: SAM beside PAF of the same run, and beside the
bases of reads and references

An independent reader: the stretch of the reference is made of the read, CIGAR and MD.  Prints what
is wrong, and sums; exit status 1 if anything is.
"""
import re
import sys

from check_paf import records, runs
from oracle_sampling import lines_of, reverse_complement


def qualities(path):
    """Of FASTQ with four lines a record, by id."""
    lines = lines_of(path)
    if lines[0][:1] != "@":
        return {}
    return {lines[i][1:].split()[0]: lines[i + 3] for i in range(0, len(lines) - 3, 4)}


def stretch(seq, cigar, md):
    """The bases of the reference, and how many columns differ."""
    columns, i, gaps = [], 0, 0
    for n, what in runs(cigar):
        if what == "M":
            columns += seq[i:i + n]
        i += n if what in "MIS" else 0
        columns += ["-"] * n if what == "D" else []
        gaps += n if what in "ID" else 0
    made, k, differ = "", 0, gaps
    for same, gone, other in re.findall(r"(\d+)|\^([ACGT]+)|([ACGT])", md):
        if same:
            made += "".join(columns[k:k + int(same)])
            k += int(same)
        else:
            made += gone or other
            k += len(gone or other)
            differ += bool(other)
    return made, differ, k == len(columns)


def check(f, paf, read, quality, targets):
    """What is wrong with a line; "" is nothing."""
    flag, at, mapq = int(f[1]), int(f[3]) - 1, int(f[4])
    back = bool(flag & 16)
    if (f[2], at, mapq, back) != (paf[5], int(paf[7]), int(paf[11]), paf[4] == "-"):
        return "place"
    if f[9] != (reverse_complement(read) if back else read):
        return "bases of the read"
    if f[10] != (quality[::-1] if back else quality):
        return "qualities"
    front, behind = int(paf[2]), int(paf[1]) - int(paf[3])
    if back:
        front, behind = behind, front
    clips = (f"{front}S" if front else "") + paf[16][5:] + (f"{behind}S" if behind else "")
    if f[5] != clips:
        return "CIGAR"
    tags = dict((x[:4], x[5:]) for x in f[11:])
    made, differ, whole = stretch(f[9], f[5], tags["MD:Z"])
    text = "".join(c if c in "CGT" else "A" for c in targets[f[2]][at:int(paf[8])])
    if made != text or not whole or int(tags["NM:i"]) != differ:
        return "MD or NM"
    return ""


def check_mates(lines):
    """Flags and mates of a pair whose mates have a line each."""
    a, b = lines
    bad = int(a[1]) & 64 == 0 or int(b[1]) & 128 == 0
    for x, y in ((a, b), (b, a)):
        bad |= (int(x[1]) & 32 > 0) != (int(y[1]) & 16 > 0) or x[7] != y[3]
        bad |= x[6] != ("=" if x[2] == y[2] else y[2])
    return bad or int(a[8]) != -int(b[8])


def main():
    targets = dict(x for path in sys.argv[4:] for x in records(path))
    mates = sys.argv[3].split(",")
    reads, quality = [dict(records(p)) for p in mates], [qualities(p) for p in mates]
    head = [x.rstrip("\n").split("\t") for x in open(sys.argv[1]) if x[0] == "@"]
    lines = [x.rstrip("\n").split("\t") for x in open(sys.argv[1]) if x[0] != "@"]
    paf = [x.rstrip("\n").split("\t") for x in open(sys.argv[2])]
    listed = {x[1][3:]: int(x[2][3:]) for x in head if x[0] == "@SQ"}
    bad = [n for n, size in listed.items() if len(targets[n]) != size]
    bad += ["lines"] if len(lines) != len(paf) or head[0][1] != "VN:1.6" else []
    of = {}
    for f, p in zip(lines, paf):
        mate = 1 if int(f[1]) & 128 else 0
        name = next(n for n in (f[0], f"{f[0]}/{mate + 1}") if n in reads[mate])
        wrong = "not in the header" if f[2] not in listed else check(
            f, p, reads[mate][name], quality[mate].get(name, "*"), targets)
        bad += [f"{wrong}: {f}"] if wrong else []
        of.setdefault(f[0], []).append(f)
    pairs = [x for x in of.values() if len(mates) > 1 and len(x) == 2]
    bad += [f"mates: {x}" for x in pairs if check_mates(x)]
    print(*bad[:5], sep="\n")
    print(f"{len(lines)} lines, {len(listed)} targets, {len(pairs)} pairs, {len(bad)} wrong")
    return bool(bad) or not lines


if __name__ == "__main__":
    sys.exit(main())
