#!/usr/bin/env python3
"""oracle_sampling.py - both sampling schemes, letter by letter, as kmerhash-db(5) states them

    oracle_sampling.py DUMP_FEATURES GENOME.fa.gz...    speaks TAP

compares them with what the program samples of the genomes and of made-up sequences.
"""
import gzip
import random
import subprocess
import sys
from functools import lru_cache, partial

CODE = {c: i for i, pair in enumerate(("Aa", "Cc", "Gg", "TtUu")) for c in pair}
COMPLEMENT = str.maketrans("ACGT", "TGCA")
M32, M64 = (1 << 32) - 1, (1 << 64) - 1
INDEX_SEED, ORDER_SEED = 0x6B6D657268617368, 0x9E3779B97F4A7C15
RANK_SEED = 0x7468696E206F7574


def reverse_complement(seq):
    return seq.translate(COMPLEMENT)[::-1]


def fmix64(x):
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & M64
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & M64
    return x ^ x >> 33


def key_of(canonical):
    return fmix64(canonical ^ INDEX_SEED) >> 16


@lru_cache(16)
def canonicals(seq, k):
    """The canonical k-mer at each position, None where a base is not one."""
    out, fwd, rev, run = [], 0, 0, 0
    for c in seq:
        b = CODE.get(c)
        run = 0 if b is None else run + 1
        fwd = (fwd << 2 | (b or 0)) & (1 << 2 * k) - 1
        rev = rev >> 2 | 3 - (b or 0) << 2 * (k - 1)
        out.append(min(fwd, rev) if run >= k else None)
    return out[k - 1:]


def smer_order(c):
    x = (c & M32) ^ (c >> 32) * 0x9E3779B1 & M32 ^ 0x5BD1E995
    x = (x ^ x >> 16) * 0x85EBCA6B & M32
    x = (x ^ x >> 13) * 0xC2B2AE35 & M32
    return x ^ x >> 16


def syncmers(seq, k, s):
    kmers = canonicals(seq, k)
    orders = [None if c is None else smer_order(c) for c in canonicals(seq, s)]
    width = k - s + 1
    for at, c in enumerate(kmers):
        if c is None:
            continue
        window = orders[at:at + width]
        middle = window.pop(width // 2)
        if middle < min(window):
            yield at, c


def minhash(seq, k, s, stride):
    kmers = canonicals(seq, k)
    for at in range(0, len(kmers), stride):
        window = {c for c in kmers[at:at + stride] if c is not None}
        for c in sorted(window, key=lambda c: fmix64(c ^ ORDER_SEED))[:s]:
            yield at, c


def may(seq, k, s, stride):
    """what of a read minhash may have kept: the order is one of the s + s / 2 + 3 lowest of stride parts"""
    most = s + s // 2 + 3
    for at, c in enumerate(canonicals(seq, k)):
        if c is not None and (most >= stride or fmix64(c ^ ORDER_SEED) <= M64 // stride * most):
            yield at, c


def rank_of(key):
    return fmix64(key ^ RANK_SEED) >> 32


def is_repeat(c, k):
    bases = [c >> 2 * i & 3 for i in range(k)]
    longest = min(6, k // 3)
    return any(4 * sum(a != b for a, b in zip(bases, bases[p:])) < k - p
               for p in range(longest // 2 + 1, longest + 1))


def features(seq, scheme, k, s, stride, least=0, no_repeats=0, of_windows=minhash):
    """(position, key) pairs; minhash: position of the window."""
    found = syncmers(seq, k, s) if scheme == "syncmer" else of_windows(seq, k, s, stride)
    pairs = [(at, key_of(c)) for at, c in found if not (no_repeats and is_repeat(c, k))]
    return [(at, key) for at, key in pairs if rank_of(key) >= least]


asked = partial(features, of_windows=may)   # of a read that is compared with text


def lines_of(path):
    """The lines of a text, plain or gz."""
    with open(path, "rb") as f:
        data = f.read()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode().splitlines()


def records(path):
    """(id, sequence) of a FASTA or FASTQ file (one line a sequence there), plain or gz."""
    lines = lines_of(path)
    if lines and lines[0][:1] == "@":
        for i in range(0, len(lines) - 3, 4):
            yield lines[i][1:].split(None, 1)[0], lines[i + 1]
        return
    name, parts = None, []
    for line in lines:
        if line.startswith(">"):
            if name is not None:
                yield name, "".join(parts)
            name, parts = line[1:].split(None, 1)[0], []
        else:
            parts.append(line.strip())
    if name is not None:
        yield name, "".join(parts)


def fragments(paths):
    """(name, its mates) of a file of reads, or of two"""
    for fragment in zip(*map(records, paths)):
        name = fragment[0][0]
        yield name[:-2] if len(paths) > 1 and name[-2:] in ("/1", "/2") else name, [seq for _, seq in fragment]


def same_lines(path, wanted):
    """Ends the program where a file has not these lines; their number"""
    with open(path) as got:
        number = 0
        for number, want in enumerate(wanted, 1):
            line = got.readline().rstrip("\n")
            if line != want:
                sys.exit("line %d is    %s\nand should be %s" % (number, line, want))
        if got.readline():
            sys.exit("more lines than the %d fragments" % number)
    return number


def worn(rng, repeat):
    """with a base of six, or so, drawn anew"""
    return "".join(rng.choice("ACGT") if rng.random() < 1 / 6 else c for c in repeat)


def main(dump, genomes):
    rng = random.Random(1)
    made = ["", "A", "ACGTN" * 40, "A" * 300, "AC" * 200, "acgtu" * 50]
    made += [worn(rng, unit * (240 // len(unit))) for unit in ("A", "AC", "GGA", "GATA", "TTAGG", "TTAGGG", "ACGTTGCA")]
    made += ["".join(rng.choices("ACGTacgtN", [9] * 8 + [1], k=n)) for n in range(10, 900, 37)]
    for period in range(1, 13):
        repeat = "".join(rng.choices("ACGT", k=period)) * (250 // period)
        made += [repeat, worn(rng, repeat)]
    # as many bases as words, windows and tiles of the program have, or one more or less
    made += ["".join(rng.choices("ACGTN", [100] * 4 + [few], k=n)) for few in (0, 1) for size in (8, 18, 32, 64, 128, 1024, 1056)
             for n in (size - 1, size, size + 1)]
    real = [seq for path in genomes for _, seq in records(path)]
    cases = [("syncmer", 18, 12, 112, 0, 1, real), ("minhash", 16, 16, 112, 0, 1, real)]
    cases += [(*case, made) for case in (
        ("syncmer", 8, 2, 16, 0, 0), ("syncmer", 31, 15, 112, 0, 0), ("syncmer", 22, 16, 112, 0, 0),
        ("syncmer", 31, 29, 50, 0, 0), ("minhash", 8, 64, 16, 0, 0), ("minhash", 31, 1, 112, 0, 0),
        ("minhash", 22, 16, 4096, 0, 0), ("syncmer", 18, 14, 112, 3 << 30, 0), ("minhash", 16, 16, 112, 1 << 31, 0),
        ("syncmer", 8, 2, 16, 0, 1), ("syncmer", 10, 6, 16, 0, 1), ("syncmer", 13, 9, 112, 0, 1), ("syncmer", 15, 11, 16, 0, 1),
        ("syncmer", 18, 14, 112, 3 << 30, 1), ("syncmer", 31, 27, 50, 0, 1), ("minhash", 8, 64, 16, 0, 1),
        ("minhash", 22, 16, 4096, 0, 1), ("minhash", 16, 16, 112, 1 << 31, 1), ("asked", 18, 7, 64, 0, 1),
        ("asked", 31, 1, 16, 0, 0), ("asked", 8, 64, 64, 1 << 30, 1))]
    print("1..%d" % len(cases))
    for number, (scheme, k, s, stride, least, no_repeats, seqs) in enumerate(cases, 1):
        got = subprocess.run([dump, *map(str, (scheme, k, s, stride, least, no_repeats))], text=True, check=True,
                             input="".join(seq + "\n" for seq in seqs), stdout=subprocess.PIPE)
        got = sorted(tuple(map(int, line.split())) for line in got.stdout.splitlines())
        want = sorted((i, at, key) for i, seq in enumerate(seqs)
                      for at, key in (asked if scheme == "asked" else features)(seq, scheme, k, s, stride, least, no_repeats))
        print("%sok %d - %s k %d s %d stride %d least %d no_repeats %d: %d features" % (
            "" if got == want else "not ", number, scheme, k, s, stride, least, no_repeats, len(want)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
