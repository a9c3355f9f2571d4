"""Rows of the accuracy table: what is compared, and against which goal.

A rule takes kraken2's figure and kmerhash's and gives a complaint, or None; it
compares what the table shows, four digits.  A
function of rows takes the name of a set and its Pair of scores.  Rows without rules
have no verdict: they are for information.
"""
import typing

from score import Score, merged, wilson

F1_SLACK = 0.002  # how far F1 may be below kraken2's
RANDOM_LIMIT, ONT_RIGHT, ONT_ABSENT = 0.001, 0.92, 0.05
HEADER = "set rank reads k2_P k2_R k2_F1 kh_P kh_R kh_F1 k2_95 kh_95 diff verdict".split()
NO_FIGURES = (None, None, None)


class Pair(typing.NamedTuple):
    """Scores of the same reads, None of a program that was not run."""

    kraken2: typing.Optional[Score] = None
    kmerhash: typing.Optional[Score] = None


class Row(typing.NamedTuple):
    set: str
    rank: str
    reads: int
    kraken2: tuple
    kmerhash: tuple
    difference: typing.Optional[float]
    verdict: str
    spread: tuple = (None, None)  # 95 % of the figure in the columns of F1, of either program

    @property
    def failed(self):
        return self.verdict not in ("", "ok")

    def cells(self):
        figures = [
            f"{x:.4f}" if x is not None else "-" for x in self.kraken2 + self.kmerhash
        ]
        gap = "-" if self.difference is None else f"{self.difference:+.4f}"
        spread = ["{:.4f}-{:.4f}".format(*x) if x else "-" for x in self.spread]
        return [self.set, self.rank, str(self.reads), *figures, *spread, gap, self.verdict or "-"]


def merged_pairs(pairs):
    columns = zip(*pairs)
    return Pair(*(None if None in column else merged(column) for column in columns))


def judged(rules, peer, own):
    complaints = [rule(peer, own) for rule in rules]
    found = "; ".join(complaint for complaint in complaints if complaint)
    return found or ("ok" if rules else "")


def f1_close(peer, own):
    gap = round(own.f1 - peer.f1, 4)
    return f"F1 {gap:+.4f}" if gap < -F1_SLACK else None


def precision_kept(peer, own):
    gap = round(own.precision - peer.precision, 4)
    return f"P {gap:+.4f}" if gap < 0 else None


def not_more(peer, own):
    gap = round(own - peer, 4)
    return f"{gap:+.4f}" if gap > 0 else None


def at_most(limit):
    return lambda peer, own: None if own <= limit else f"above {limit}"


def at_least(limit):
    return lambda peer, own: None if own >= limit else f"below {limit}"


def compared(name, what, reads, figures, spread, difference, rules, judge):
    """A row with a verdict if both programs were run; figures and spread are pairs."""
    theirs, ours = (tuple(x) if x else NO_FIGURES for x in figures)
    if None in figures:
        return Row(name, what, reads, theirs, ours, None, "", spread)
    return Row(name, what, reads, theirs, ours, difference(), judged(rules, *judge), spread)


def figures_row(name, rank, peer, own, rules=()):
    """Precision, recall and F1 at a rank."""
    both = [score and score.at[rank].figures() for score in (peer, own)]
    spread = [score and score.interval(rank) for score in (peer, own)]
    return compared(name, rank, (peer or own).at[rank].reads, both, spread,
                    lambda: both[1].f1 - both[0].f1, rules, both)


def share_row(name, what, peer, own, share, rules=()):
    """A share of the reads, in the columns of F1."""
    reads, shares = (peer or own).reads, [score and share(score) for score in (peer, own)]
    spread = [x if x is None else wilson(x * reads, reads) for x in shares]
    both = [x if x is None else (None, None, x) for x in shares]
    return compared(name, what, reads, both, spread, lambda: shares[1] - shares[0], rules, shares)


def both_ranks(name, pair, rules=(f1_close,)):
    peer, own = pair
    return [figures_row(name, rank, peer, own, rules) for rank in ("species", "genus")]


def information(name, pair):
    return both_ranks(name, pair, ())


def mixed_rows(name, pair):
    """Reads of which all or some have their species in the database."""
    peer, own = pair
    rows = [figures_row(name, "species", peer, own, [f1_close, precision_kept])]
    return rows + [figures_row(name, "genus", peer, own, [f1_close])]


def at_species(score):
    return score.share_at("species")


def at_genus(score):
    return score.share_at("genus")


def absent_species_rows(name, pair, rules=()):
    """Reads of a species that is not in the database: no call at a species is right."""
    peer, own = pair
    return [share_row(name, "at species", peer, own, at_species, rules)]


def species_rows(name, pair):
    """Reads of left-out species; their genus is in the database."""
    peer, own = pair
    genus = figures_row(name, "genus", peer, own, [f1_close])
    return absent_species_rows(name, pair) + [genus]


def genus_rows(name, pair):
    """Reads of left-out genera."""
    peer, own = pair
    row = share_row(name, "at genus", peer, own, at_genus)
    return absent_species_rows(name, pair, [not_more]) + [row]


def repeat_rows(name, pair):
    """Reads of a genus that is not in the database; for information."""
    called = share_row(name, "called", *pair, Score.share_called)
    return [called, share_row(name, "at species", *pair, at_species)]


def random_rows(name, pair):
    limit = at_most(RANDOM_LIMIT)
    return [share_row(name, "called", *pair, Score.share_called, [limit])]


def species_right(score):
    return score.at["species"].right / score.reads if score.reads else 0.0


def ont_present_rows(name, pair):
    goal = at_least(ONT_RIGHT)
    return [share_row(name, "species right", *pair, species_right, [goal])]


def ont_absent_rows(name, pair):
    limit = at_most(ONT_ABSENT)
    called = share_row(name, "called", *pair, Score.share_called, [limit])
    return [called, share_row(name, "at species", *pair, at_species)]


def print_table(rows, out, separator=None):
    """Aligned columns, or with a separator between the cells."""
    table = [HEADER] + [row.cells() for row in rows]
    widths = [max(len(cells[i]) for cells in table) for i in range(len(HEADER))]
    for cells in table:
        if separator:
            print(separator.join(cells), file=out)
            continue
        text = [cells[0].ljust(widths[0]), cells[1].ljust(widths[1])]
        text += [cell.rjust(width) for cell, width in zip(cells[2:-1], widths[2:])]
        print("  ".join(text + cells[-1:]), file=out)
