"""Per-read precision, recall and F1 of calls at the ranks of a taxonomy.

At a rank R, over the reads whose true taxon has an ancestor (or itself) at R:
  right   the call has the same ancestor at R
  wrong   the call has another ancestor at R
  missed  the call stops above R, or there is none
A read that comes from no reference (truth 0) and is called at R or below is
wrong too.  precision = right / (right + wrong), recall = right / reads.
"""
import collections
import random

BLOCK = 100  # reads that an interval takes or leaves together where a set has one genome
RANKS = ("species", "genus")
Figures = collections.namedtuple("Figures", "precision recall f1")


class Taxonomy:
    """Parents, ranks and scientific names of nodes.dmp and names.dmp."""

    def __init__(self, folder):
        self.parent, self.rank, self.name = {}, {}, {}
        for taxid, parent, rank in dump_rows(folder / "nodes.dmp", 3):
            self.parent[int(taxid)], self.rank[int(taxid)] = int(parent), rank
        for taxid, name, _, kind in dump_rows(folder / "names.dmp", 4):
            if kind == "scientific name":
                self.name[int(taxid)] = name
        self._ranked = {}

    def ranked(self, taxid):
        """Rank -> ancestor of taxid at that rank, taxid itself included."""
        if taxid not in self._ranked:
            found, node, last = {}, taxid, None
            while node in self.parent and node != last:
                found.setdefault(self.rank[node], node)
                node, last = self.parent[node], node
            self._ranked[taxid] = found
        return self._ranked[taxid]


def dump_rows(path, fields):
    with open(path) as lines:
        for line in lines:
            yield [field.strip() for field in line.split("|")[:fields]]


class Count:
    """Right and wrong calls at one rank, and the reads that have the rank."""

    def __init__(self):
        self.right = self.wrong = self.reads = 0

    def figures(self):
        called = self.right + self.wrong
        precision = self.right / called if called else 0.0
        recall = self.right / self.reads if self.reads else 0.0
        both = precision + recall
        return Figures(precision, recall, 2 * precision * recall / both if both else 0.0)


class Score:
    """The counts of one group of reads, at each rank."""

    def __init__(self):
        self.reads = self.called = 0
        self.at = {rank: Count() for rank in RANKS}
        self.parts = collections.defaultdict(collections.Counter)  # (taxid, block) -> counts

    def add(self, real, call, taxonomy):
        """One read with its true taxid and the called one; 0 is none."""
        want, have, known = taxonomy.ranked(real), taxonomy.ranked(call), real != 0
        self.reads += 1
        self.called += call != 0
        part = self.parts[real, self.reads // BLOCK]
        for rank, count in self.at.items():
            if known and rank not in want:
                continue
            right = known and rank in have and have[rank] == want[rank]
            wrong = rank in have and not right
            count.reads += known
            count.right += right
            count.wrong += wrong
            part[rank, "right"] += right
            part[rank, "both"] += right + wrong + known

    def merge(self, other):
        self.reads += other.reads
        self.called += other.called
        for rank, count in self.at.items():
            count.right += other.at[rank].right
            count.wrong += other.at[rank].wrong
            count.reads += other.at[rank].reads
        for key, part in other.parts.items():
            self.parts[key].update(part)

    def interval(self, rank, draws=1000):
        """95 % of the F1 of as many genomes drawn with replacement; of one genome, of blocks of reads."""
        one = len({real for real, _ in self.parts}) < 2
        units = collections.defaultdict(lambda: [0, 0])
        for (real, block), part in self.parts.items():
            units[block if one else real][0] += part[rank, "right"]
            units[block if one else real][1] += part[rank, "both"]
        return drawn_95(list(units.values()), lambda right, both: 2 * right / both if both else 0.0,
                        draws)

    def share_at(self, rank):
        """Share of the reads that are called at the rank or below."""
        count = self.at[rank]
        return (count.right + count.wrong) / self.reads if self.reads else 0.0

    def share_called(self):
        return self.called / self.reads if self.reads else 0.0


def merged(scores):
    total = Score()
    for score in scores:
        total.merge(score)
    return total


def drawn_95(units, figure, draws=1000):
    """95 % of the figures of the sums of as many units, drawn with replacement."""
    rng = random.Random(1)
    found = sorted(figure(*map(sum, zip(*rng.choices(units, k=len(units))))) for _ in range(draws))
    return found[draws // 40], found[-1 - draws // 40]


def wilson(many, of):
    """The 95 % interval of a share (Wilson)."""
    z2, p = 1.959964**2, many / of
    half = (z2 * (p * (1 - p) / of + z2 / (4 * of * of))) ** 0.5
    return [max(0.0, (p + z2 / (2 * of) + sign * half) / (1 + z2 / of)) for sign in (-1, 1)]


def read_calls(path):
    """(read name, taxid or 0) of each line of Kraken-style output."""
    with open(path) as lines:
        for line in lines:
            status, name, taxid = line.split("\t", 3)[:3]
            name = name.split()[0]
            if name.endswith(("/1", "/2")):
                name = name[:-2]
            yield name, int(taxid) if status == "C" else 0


def score_calls(path, truth, taxonomy, group):
    """Scores by group(true taxid); truth(name) is a taxid, or None: leave the read out."""
    scores = collections.defaultdict(Score)
    for name, call in read_calls(path):
        real = truth(name)
        if real is not None:
            scores[group(real)].add(real, call, taxonomy)
    return scores
