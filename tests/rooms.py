"""The picture of the rooms in src/README.md, made of the #include lines.

	rooms.py           prints it
	rooms.py --write   puts it into src/README.md
	rooms.py --check   fails if the text there is another one

An arrow leads from a room to one that it includes; those that follow from others are left out, and
so is the study below cuda/tables, which nothing uses.
The two ways are drawn through it, and every file they name must be there.
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
README = TOP / "src" / "README.md"
BEGIN, END = "<!-- made by tests/rooms.py: make rooms -->\n", "<!-- end -->\n"

# (name, colour, steps); of a step, the file, what happens there, and the example
WAYS = [
    ("a k-mer of a reference", "#d95f02", [
        ("src/build/build.c", "calls the steps in order: `read_all`, then `make_database`", "one pass"),
        ("src/io/source_gz.c", "bytes are read and inflated", "a gzip file with NC_001416.1"),
        ("src/seqio/feed_ahead.c", "of several small gzip files, each is inflated whole by one thread, before its turn", "all of it"),
        ("src/seqio/feed_read.c", "a worker takes the bytes of a block; `next` of feed.c calls this and the row behind", "one block"),
        ("src/seqio/feed_parse.c", "any worker parses a block of text, without those before it", "one block, with one record"),
        ("src/seqio/reader_pieces.c", "of FASTA, records are parsed in pieces: one may go on in the next block", "one piece, the whole record"),
        ("src/seqio/reader_walk.c", "the bases of its lines are packed", "two bits a base: 12,126 bytes"),
        ("src/seqio/feed.c", "blocks are committed in order (`commit`); text that lies in two of them is joined (seqio/feed_join.c)", "nothing"),
        ("src/build/refs.c", "at that (`number_records` of build/read.c, which the feed calls back), sequences get numbers and, for now, bins; bases behind the last whole bin are carried over to the next block", "bins 4887 to 7918 of 16 bases"),
        ("src/build/read.c", "the worker that parsed the block keeps its text (build/text.c) and makes its checksum (build/pieces.c)", "48,502 bases"),
        ("src/build/taxa.c", "when all are read, sequences get taxa; `find_bins` calls the next row, and then numbers the bins that are kept (`number_kept`)", "10710, lambda"),
        ("src/build/strains.c", "text that strains of a species share is chosen once", "no other strain: all bins are kept"),
        ("src/build/kept.c", "what is kept becomes stretches; bases of what is left out that differ there become alleles", "one stretch, without alleles"),
        ("src/build/text.c", "the text that is kept is cut into pieces, whose k-mers are sampled (`kh_build_text_sample`)", "48,489 k-mers"),
        ("src/kmer/syncmer.c", "which k-mers are syncmers", "9771 are, such as GTGGTGGCACAGAG at base 20,003"),
        ("src/kmer/sampling.c", "syncmers become features; repeats are left out, and by the rank of their key a share of the others", "5326 features, a share of .55; key 0x00279dd080ca"),
        ("src/build/pieces.c", "features of a piece get the bins that they begin in", "bin 4887 + 20,003 / 16 = 6137"),
        ("src/build/index.c", "features of a block go to the pairs; later, workers take ranges in turn and write them in order", "range 0x00 comes first"),
        ("src/index/pairs.c", "pairs of feature and bin are gathered by range, and sorted", "range 0x00"),
        ("src/index/seeds.c", "the pairs of a range become lines and lists", "line 0 of 6, tag 237"),
        ("src/db/write.c", "they become a section of the file, with checksums", "107,712 bytes of all seeds"),
        ("src/io/commit.c", "the file gets its name, when all of it is on the disk", "200,712 bytes"),
    ]),
    ("a k-mer of a read", "#1f78b4", [
        ("src/cmd/classify.c", "options; files are opened, then the database (`classify_all`)", "one sample"),
        ("src/run/run.c", "a worker begins a sample or joins one (`run_worker`, `begin`), and works on it by `kh_flow_work`", "the only one"),
        ("src/io/source.c", "bytes are read", "a FASTA file with one record"),
        ("src/seqio/feed_read.c", "a worker takes the bytes of a block; `next` of feed.c calls this and the row behind", "one block"),
        ("src/seqio/feed_parse.c", "any worker parses a block of text, without those before it", "one block"),
        ("src/seqio/reader_pieces.c", "of FASTA, records are parsed in pieces: one may go on in the next block", "one piece, the whole record"),
        ("src/seqio/reader_walk.c", "the bases of its lines are packed", "60 bases: two words"),
        ("src/seqio/feed.c", "blocks are committed in order (`commit`); text that lies in two of them is joined (seqio/feed_join.c)", "nothing"),
        ("src/seqio/feed_long.c", "at that, pieces of a record become one record", "nothing: it has one piece"),
        ("src/seqio/feed_pairs.c", "at that, the block's records become jobs of reads or pairs", "job 0, with one read"),
        ("src/run/flow.c", "a worker makes a task of each job; what comes of tasks is put in the order of jobs", "task 0"),
        ("src/classify/compute.c", "the task is submitted to a backend (classify/backend.h), and finished: translated seeds may call what has no call", "to the CPU; it is called"),
        ("src/classify/cpu.c", "the backend does the task; a GPU's is in cuda/engine", "by the references' text"),
        ("src/classify/match.c", "the segments of a fragment are compared in turns; match.h has the files in the order of calls", "one segment of 60 bases"),
        ("src/kmer/syncmer.c", "which k-mers are syncmers", "those at 3, 9, 17, 24, 31, 36 and 40"),
        ("src/kmer/sampling.c", "these become features, as in a reference", "at 3, 9 and 31; the first one is GTGGTGGCACAGAG"),
        ("src/classify/match_ask.c", "seeds are chosen of these; the bins of those that are found are anchors", "the two that do not overlap"),
        ("src/index/joint.h", "several databases are asked one by one, and what they have is put together", "one database: the next row"),
        ("src/index/seeds_find.c", "features are looked up in the index", "0x00279dd080ca has bin 6137, the seed at 31 none"),
        ("src/classify/match_region.h", "neighbouring bins become regions with a bound of the score", "one region; a seed is missing: 58 at most"),
        ("src/classify/match_score.h", "regions that could be best are compared; or it asks for more seeds, which `settle` of match.c looks up", "the region, and no more seeds"),
        ("src/classify/match_place.h", "the read is compared with the text there, by kmer/fit.h", "at base 20,000: 59 bases match, one does not"),
        ("src/classify/match_claims.h", "the places of a species become its best claim", "lambda: a score of 58"),
        ("src/classify/match_rule.h", "does so much match that it names a species (`kh_claim_names_species`)?", "4 x (59 - 4 x 1) >= 4 x 25 + 60"),
        ("src/classify/match_hits.h", "12-mers that the text has are counted", "8 of 10"),
        ("src/classify/match_call.h", "the species that fit best become a call", "only lambda: 10710"),
        ("src/classify/match_strain.h", "which becomes that of a strain, if the read lies where strains differ", "no strains"),
        ("src/run/flow_format.c", "calls are counted by taxon, and lines and reads are formatted", "one read of 10710"),
        ("src/run/format.c", "the call becomes a line", "C, read, 10710, 60, 10710:8 0:2"),
        ("src/io/writer.c", "lines are compressed and written", "to standard output"),
        ("src/run/report.c", "the counts of workers are added up, and become a report", "100 % of the reads"),
    ]),
]


def room_of(path):
    return re.sub(r"^src/", "", path.rpartition("/")[0])


def order():
    """The rooms as run_rooms.sh has them, a list a level."""
    text = (TOP / "tests" / "run_rooms.sh").read_text()
    return [line.split() for line in re.search(r"rooms='\n(.*?)'", text, re.S)[1].splitlines()]


def includes():
    """Pairs of rooms, of which the first includes the second."""
    found = set()
    for folder in ("src", "cuda"):
        for path in (TOP / folder).rglob("*"):
            if path.suffix in (".c", ".h", ".inc", ".cu", ".cuh"):
                own = room_of(str(path.relative_to(TOP)))
                for name in re.findall(r'^#\s*include\s*"([^"]+)"', path.read_text(), re.M):
                    if room_of(name) != own:
                        found.add((own, room_of(name)))
    return found


def reduced(edges):
    """Without those that a longer way gives, too."""
    after = {}
    for a, b in edges:
        after.setdefault(a, set()).add(b)

    def reach(a, seen):
        for b in after.get(a, ()):
            if b not in seen:
                seen.add(b)
                reach(b, seen)
        return seen

    return [(a, b) for a, b in edges
            if not any(b in reach(c, set()) for c in after[a] if c != b)]


def node(room):
    return room.replace("/", "_")


def picture():
    rooms = [room for level in order() for room in level if not room.startswith("cuda/tables")]
    edges = sorted(reduced({e for e in includes() if e[0] in rooms}), key=lambda e: (-rooms.index(e[0]), -rooms.index(e[1])))
    out = ["```mermaid", "flowchart TD"]
    for group, member in (("src/", lambda r: not r.startswith("cuda")),
                          ("cuda/", lambda r: r.startswith("cuda"))):
        out.append(f'    subgraph {group[:-1]}_rooms["{group}"]')
        out += [f'        {node(r)}["{r}"]' for r in reversed(rooms) if member(r)]
        out.append("    end")
    out += [f"    {node(a)} --> {node(b)}" for a, b in edges]
    at = len(edges)
    for number, (_, colour, steps) in enumerate(WAYS):
        path = [room_of(f) for f, *_ in steps]
        hops = [(a, b) for a, b in zip(path, path[1:]) if a != b]
        for i, (a, b) in enumerate(hops):
            out.append(f'    {node(a)} == "{"AB"[number]}{i + 1}" ==> {node(b)}')
        ids = ",".join(str(at + i) for i in range(len(hops)))
        out.append(f"    linkStyle {ids} stroke:{colour},color:{colour}")
        at += len(hops)
    out += ["```", "", "Rows follow the data: a row may be called by the one behind it.", ""]
    for number, (name, _, steps) in enumerate(WAYS):
        out += [f"The way {'AB'[number]}, of {name}:", "", "| file | what happens there | example |",
                "| --- | --- | --- |"]
        for path, what, example in steps:
            if not (TOP / path).is_file():
                sys.exit(f"rooms.py: {path}, on the way of {name}, is not there")
            out.append(f"| {path[4:]} | {what} | {example} |")
        out.append("")
    return "\n".join(out)


def main():
    text = README.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, behind = rest.partition(END)
    made = before + BEGIN + "\n" + picture() + END + behind
    if sys.argv[1:] == ["--write"]:
        README.write_text(made)
    elif sys.argv[1:] == ["--check"]:
        if made != text:
            sys.exit("src/README.md: the picture is not what the includes say: make rooms")
    else:
        print(picture())


main()
