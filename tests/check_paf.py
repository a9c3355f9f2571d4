"""check_paf.py PAF READS[,MATES] REFERENCE... LINES: alignments beside the bases of reads and
references, and the column of identity beside alignments

An independent reader of PAF: columns are compared with what the bases say, by the list of gaps in
cg, and their number of edits with the least one between the same ends.  Prints what is wrong, and
sums; exit status 1 if anything is.

check_paf.py make READS REFERENCE...: reads with substitutions, insertions and deletions, whose names
say where they come from, and how many edits they have; their alignments are to lie there, and have
this identity
"""
import random
import sys

from oracle_sampling import records as letters, reverse_complement


def records(path):
    """(id, bases) of FASTA or FASTQ"""
    return ((name, bases.upper().replace("U", "T")) for name, bases in letters(path))


def runs(cigar):
    """(number, letter) of 60M1I89M."""
    number = ""
    for c in cigar:
        if c.isdigit():
            number += c
        else:
            yield int(number), c
            number = ""
    assert number == ""


def compare(read, back, target, at, cigar):
    """Bases of the read, of the target, matches, columns, gaps and their columns."""
    read = reverse_complement(read) if back else read
    i, j, matches, columns, gaps, gap_columns = 0, at, 0, 0, 0, 0
    for n, what in runs(cigar):
        assert n > 0 and what in "MID"
        columns += n
        if what == "M":
            # N of a reference is A in the text
            matches += sum(x == (y if y in "CGT" else "A") and x in "ACGT"
                           for x, y in zip(read[i:i + n], target[j:j + n]))
        else:
            gaps += 1
            gap_columns += n
        i += n if what != "D" else 0
        j += n if what != "I" else 0
    return i, j - at, matches, columns, gaps, gap_columns


def distance(read, bases):
    """The fewest edits between two sequences (Myers 1999; from end to end: Hyyrö 2003)."""
    top, ones = 1 << len(read) - 1, (1 << len(read)) - 1
    where = {c: sum(1 << i for i, x in enumerate(read) if x == c) for c in "ACGT"}
    more, less, edits = ones, 0, len(read)
    for c in bases:
        same = where[c if c in "CGT" else "A"]      # N of a reference is A in the text
        x = same | less
        same |= ((same & more) + more) ^ more
        up, down = less | ~(same | more) & ones, more & same
        edits += (up & top != 0) - (down & top != 0)
        up, down = up << 1 | 1, down << 1
        more, less = (down | ~(x | up)) & ones, up & x & ones
    return edits


def is_there(name, back, target, at, to):
    """Is the alignment in the stretch that the read comes from, as its name says?"""
    if not name.startswith("from:"):
        return True
    _, place, begin, end, strand, _ = name.split("/")[0].split(":")
    return (place == target and (strand == "-") == back and at >= int(begin) - 8 and
            to <= int(end) + 8)


def make(path, references):
    """Reads of 60 to 3000 bases: up to 3 % substitutions, and half as many gaps in long ones."""
    rng = random.Random(5)
    targets = [x for p in references for x in records(p)]
    with open(path, "w") as f:
        for _ in range(400):
            name, bases = rng.choice(targets)
            n = rng.choice((60, 100, 150, 250, 700, 3000))
            at, off, read = rng.randrange(len(bases) - n), rng.uniform(0, .03), []
            gaps, edits = off * (1 / 2 if n > 1000 else 1 / 8), 0
            for base in bases[at:at + n]:
                x = rng.random()
                if x < gaps:
                    edits += 1
                    continue
                read.append(rng.choice("ACGT") if x < off + gaps else base)
                edits += read[-1] != base
                if x > 1 - gaps:
                    read.append(rng.choice("ACGT") * rng.choice((1, 1, 1, 2, 3)))
                    edits += len(read[-1])
            read, strand = "".join(read), rng.choice("+-")
            read = reverse_complement(read) if strand == "-" else read
            print(f">from:{name}:{at}:{at + n}:{strand}:{edits}\n{read}", file=f)


def check_identity(sums):
    """Is the identity of reads with known edits what these say?"""
    known = [(m / c, 1 - int(name.split(":")[-1]) / c) for name, (m, c) in sums.items()
             if name.startswith("from:") and c > 1000]
    off = [seen - true for seen, true in known]
    return not off or (len(off) > 20 and abs(sum(off)) / len(off) < .001 and
                       max(map(abs, off)) < .005)


def check(line, reads, targets):
    """What is wrong with a line; "" is nothing."""
    f = line.rstrip("\n").split("\t")
    assert len(f) == 17, "17 columns"
    name, strand, target = f[0], f[4], f[5]
    read_len, start, end = (int(x) for x in f[1:4])
    target_len, at, to, matches, columns, quality = (int(x) for x in f[6:12])
    tags = dict((x[:4], x[5:]) for x in f[12:])
    read, bases = reads[name], targets[target]
    if (read_len, target_len) != (len(read), len(bases)):
        return "lengths"
    if not (0 <= start < end <= read_len and 0 <= at < to <= target_len and strand in "+-"):
        return "places"
    if quality > 0 and not is_there(name, strand == "-", target, at, to):
        return "another place"
    if not (0 < matches <= columns and 0 <= quality <= 60):
        return "numbers"
    seen = compare(read[start:end], strand == "-", bases, at, tags["cg:Z"])
    if seen[:4] != (end - start, to - at, matches, columns):
        return f"bases: {seen}"
    if tags["tp:A"] != "P" or int(tags["NM:i"]) != columns - matches:
        return "tp or NM"
    all_columns = columns - seen[5] + seen[4]
    if abs(float(tags["de:f"]) - (all_columns - matches) / all_columns) > 0.000051:
        return "de"
    if columns - matches != distance(reverse_complement(read[start:end]) if strand == "-"
                                     else read[start:end], bases[at:to]):
        return "more edits than needed"
    return ""


def check_order(names, pairs):
    """Are alignments of a fragment together, and fragments in the order of lines?"""
    order = [n[:-2] if pairs else n for n in names]
    heads = [n for i, n in enumerate(order) if i == 0 or n != order[i - 1]]
    return len(heads) == len(set(heads)), heads


def check_lines(path, sums, heads):
    """How many lines have another identity than their alignments."""
    bad, called = 0, []
    with open(path) as f:
        for line in f:
            x = line.rstrip("\n").split("\t")
            matches, columns = sums.get(x[1], (0, 0))
            called += [x[1]] if x[0] == "C" else []
            said = f"0.{matches * 10000 // columns:04d}" if 0 < matches < columns else "1.0000"
            bad += x[-1] != (said if columns else "-") or (columns > 0) != (x[0] == "C")
    return bad + (called != heads)


def main():
    targets = dict(x for path in sys.argv[3:-1] for x in records(path))
    mates = sys.argv[2].split(",")
    pairs = len(mates) > 1
    reads, sums, names = {}, {}, []
    for i, path in enumerate(mates):
        for name, bases in records(path):
            name = name[:-2] if pairs and name.endswith(("/1", "/2")) else name
            reads[f"{name}/{i + 1}" if pairs else name] = bases
    bad = back = gaps = 0
    with open(sys.argv[1]) as f:
        for line in f:
            wrong = check(line, reads, targets)
            if wrong and bad < 5:
                print(f"{wrong}: {line.rstrip()}")
            x = line.split("\t")
            names.append(x[0])
            name = x[0][:-2] if pairs else x[0]
            m, c = sums.get(name, (0, 0))
            sums[name] = m + int(x[9]), c + int(x[10])
            bad, back = bad + bool(wrong), back + (x[4] == "-")
            gaps += sum(c in "ID" for c in x[16])
    together, heads = check_order(names, pairs)
    bad += check_lines(sys.argv[-1], sums, heads) + (not together) + (not check_identity(sums))
    print(f"{len(names)} alignments, {back} back, {gaps} gaps, {bad} wrong")
    return bad > 0 or not names


if __name__ == "__main__":
    sys.exit(make(sys.argv[2], sys.argv[3:]) if sys.argv[1] == "make" else main())
