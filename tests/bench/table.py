"""Rows of the accuracy table; a function of rows takes the name of a set and its Pair of scores."""
import csv
import sys
import typing

from score import Score, merged, wilson

HEADER = "set rank reads k2_P k2_R k2_F1 kh_P kh_R kh_F1 k2_95 kh_95 diff".split()
NO_FIGURES = (None, None, None)


class Pair(typing.NamedTuple):
    """Scores of the same reads, None of a program that was not run."""

    kraken2: typing.Optional[Score] = None
    kmerhash: typing.Optional[Score] = None


class Row(typing.NamedTuple):
    """Of either program the figures, and 95 % of the one in the column of F1"""

    set: str
    rank: str
    reads: int
    figures: tuple
    spread: tuple

    def cells(self):
        theirs, ours = (tuple(x) if x else NO_FIGURES for x in self.figures)
        figures = [f"{x:.4f}" if x is not None else "-" for x in theirs + ours]
        gap = "-" if None in self.figures else f"{ours[2] - theirs[2]:+.4f}"
        spread = ["{:.4f}-{:.4f}".format(*x) if x else "-" for x in self.spread]
        return [self.set, self.rank, str(self.reads), *figures, *spread, gap]


def merged_pairs(pairs):
    columns = zip(*pairs)
    return Pair(*(None if None in column else merged(column) for column in columns))


def figures_row(name, rank, pair):
    """Precision, recall and F1 at a rank."""
    return Row(name, rank, (pair.kraken2 or pair.kmerhash).at[rank].reads,
               [score and score.at[rank].figures() for score in pair], [score and score.interval(rank) for score in pair])


def share_row(name, what, pair, share):
    """A share of the reads, in the columns of F1."""
    reads, shares = (pair.kraken2 or pair.kmerhash).reads, [score and share(score) for score in pair]
    return Row(name, what, reads, [x if x is None else (None, None, x) for x in shares],
               [x if x is None else wilson(x * reads, reads) for x in shares])


def at_row(name, rank, pair):
    return share_row(name, "at " + rank, pair, lambda score: score.share_at(rank))


def both_ranks(name, pair):
    return [figures_row(name, rank, pair) for rank in ("species", "genus")]


def species_rows(name, pair):
    """Reads of left-out species: no call at a species is right; their genus is in the database."""
    return [at_row(name, "species", pair), figures_row(name, "genus", pair)]


def genus_rows(name, pair):
    """Reads of left-out genera."""
    return [at_row(name, "species", pair), at_row(name, "genus", pair)]


def random_rows(name, pair):
    return [share_row(name, "called", pair, Score.share_called)]


def called_rows(name, pair):
    """Reads of which no call is right."""
    return random_rows(name, pair) + [at_row(name, "species", pair)]


def ont_present_rows(name, pair):
    return [share_row(name, "species right", pair, lambda score: score.at["species"].right / score.reads)]


def csv_rows(head):
    """A function that prints a row as CSV, at once; behind the head, whose columns have no blanks."""
    def put(cells):
        csv.writer(sys.stdout, lineterminator="\n").writerow(cells)
        sys.stdout.flush()
    put(head.split())
    return put


def print_columns(rows):
    """Rows of cells, aligned: the first column to the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for first, *cells in rows:
        print(first.ljust(widths[0]), *map(str.rjust, cells, widths[1:]), sep="  ", flush=True)
