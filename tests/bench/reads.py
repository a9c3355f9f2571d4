"""Reads, simulated from genomes or random.

All of it follows from the seed.  Reads are named r<number>_<taxid of the
genome>, a mate with /1 or /2 after it.
"""
import collections
import contextlib
import csv
import gzip
import math
import os
import random

SEED = 20240229
OTHER = {"A": "CGT", "C": "AGT", "G": "ACT", "T": "ACG"}
COMPLEMENT = str.maketrans("ACGTN", "TGCAN")
INDELS = 0.03  # share of the events that are insertions or deletions
SLACK = 12  # bases taken beyond a read's length, for what deletions take away
INSERT, INSERT_SD, INSERT_MAX = 350, 40, 500


# Files of reads with the truth: a function from read name to taxid or None.
ReadSet = collections.namedtuple("ReadSet", "name files truth")


def taxid_in_name(name):
    return int(name.rsplit("_", 1)[1])


def open_text(path):
    return gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)


def table_rows(path):
    """The rows of a table with tabs, by the names of its columns."""
    with open_text(path) as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def load_sequences(path):
    """The sequences of a FASTA file, upper case."""
    records = []
    with open_text(path) as lines:
        for line in lines:
            if line.startswith(">"):
                records.append([])
            else:
                records[-1].append(line.strip().upper())
    return ["".join(parts) for parts in records]


def mutate(rng, bases, rate, indels=INDELS):
    """bases with events at this rate a base; 1 - indels of them are substitutions."""
    if rate <= 0:
        return bases
    parts, at, scale = [], 0, -1.0 / math.log1p(-rate)
    while True:
        hit = at + int(rng.expovariate(1.0) * scale)
        if hit >= len(bases):
            parts.append(bases[at:])
            return "".join(parts)
        parts.append(bases[at:hit])
        at, kind = hit + 1, rng.random()
        if kind >= indels:
            parts.append(rng.choice(OTHER.get(bases[hit], "ACGT")))
        elif kind < indels / 2:
            parts.append(bases[hit] + rng.choice("ACGT"))


def fragments(rng, sequences, count, length=0):
    """Random stretches, either strand, as long as an insert, or a long read, and the slack."""
    usable = [s for s in sequences if len(s) >= max(length, INSERT_MAX) + SLACK]
    weights = [len(s) for s in usable]
    for source in rng.choices(usable, weights, k=count) if usable else ():
        span = length or min(INSERT_MAX, max(INSERT // 2, round(rng.gauss(INSERT, INSERT_SD))))
        span += SLACK
        start = rng.randrange(len(source) - span + 1)
        piece = source[start : start + span]
        yield piece if rng.random() < 0.5 else piece.translate(COMPLEMENT)[::-1]


class Layout:
    """How reads are made: their length, one or two a fragment, and the rates.

    One that is longer than an insert has as many bases as errors leave."""

    def __init__(self, name, length, mates, error=0.005, indels=INDELS):
        self.name, self.length, self.mates, self.error = name, length, mates, error
        self.indels = indels
        self.span = length if length > INSERT_MAX else 0

    def reads_of(self, rng, fragment):
        ends = (fragment, fragment.translate(COMPLEMENT)[::-1])
        for end in ends[: self.mates]:
            bases = mutate(rng, end[: self.length + SLACK], self.error, self.indels)
            yield bases[: self.length]

    def files(self, folder, name):
        if self.mates == 1:
            return [folder / f"{name}.fq"]
        return [folder / f"{name}_{mate}.fq" for mate in (1, 2)]


PAIRS_150 = Layout("2x150", 150, 2)
SINGLE_100 = Layout("1x100", 100, 1)


@contextlib.contextmanager
def written(paths):
    """Open files that get their names only when all of them are whole."""
    drafts = [path.with_suffix(f".{os.getpid()}.draft") for path in paths]
    paths[0].parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(open(draft, "w")) for draft in drafts]
    for draft, path in zip(drafts, paths):
        draft.rename(path)


def write_reads(paths, pairs):
    """Files of the mates of fragments, each with its taxid."""
    with written(paths) as outs:
        for number, (taxid, mates) in enumerate(pairs):
            for mate, bases in enumerate(mates):
                suffix = f"/{mate + 1}" if len(paths) == 2 else ""
                outs[mate].write(f"@r{number}_{taxid}{suffix}\n{bases}\n+\n{'I' * len(bases)}\n")


def simulated(folder, name, layout, seed, draw):
    """Reads of the fragments that draw(rng) gives with their taxids; made where they are not there."""
    paths = layout.files(folder, name)
    if not paths[-1].exists():
        rng = random.Random(seed)
        write_reads(paths, ((taxid, layout.reads_of(rng, fragment)) for taxid, fragment in draw(rng)))
    return ReadSet(name, paths, taxid_in_name)


def simulate(genomes, layout, count, paths, divergence=0.0):
    """count fragments of each genome (FASTA path, taxid), mutated, then read."""
    def pairs():
        for path, taxid in genomes:
            rng = random.Random(f"{SEED} {path.name} {layout.name} {divergence}")
            for fragment in fragments(rng, load_sequences(path), count, layout.span):
                yield taxid, layout.reads_of(rng, mutate(rng, fragment, divergence))
    write_reads(paths, pairs())


def random_reads(length, count, folder):
    def draw(rng):
        return ((0, "".join(rng.choices("ACGT", k=length))) for _ in range(count))
    return simulated(folder, f"random-{length}", Layout("random", length, 1, 0), f"{SEED} random {length}", draw)
