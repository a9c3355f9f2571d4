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

# (name, colour, steps); of a step, the file and what becomes of the k-mer there
WAYS = [
    ("a k-mer of a reference", "#d95f02", [
        ("src/io/source.c", "bytes are read and inflated"),
        ("src/seqio/feed_parse.c", "a block of text becomes packed bases, by any worker"),
        ("src/build/refs.c", "in order of blocks, sequences get numbers and bins"),
        ("src/build/taxa.c", "when all have been read, sequences get taxa"),
        ("src/build/strains.c", "of strains of a species, what is alike is kept once"),
        ("src/build/text.c", "of what is kept, the bases are sampled"),
        ("src/kmer/syncmer.c", "k-mers become features with their positions"),
        ("src/index/pairs.c", "features and their bins are gathered by range, and sorted"),
        ("src/index/seeds.c", "a range of them becomes lines and lists"),
        ("src/db/write.c", "the lists become a section of the file, with checksums"),
        ("src/io/output.c", "the file is synced and gets its name"),
    ]),
    ("a k-mer of a read", "#1f78b4", [
        ("src/io/source.c", "bytes are read and inflated"),
        ("src/seqio/feed_pairs.c", "blocks become jobs: reads, or pairs of them, in order"),
        ("src/run/flow.c", "a worker submits a job"),
        ("src/classify/cpu.c", "a worker, or a GPU, does it"),
        ("src/classify/match.c", "the fragment's segments are compared, in turns; match.h has the algorithm in order"),
        ("src/kmer/syncmer.c", "k-mers become features"),
        ("src/index/seeds_find.c", "a feature is looked up in the mapped index"),
        ("src/classify/match_region.h", "its bins, with those beside them, say where the read may lie"),
        ("src/classify/match_place.h", "the read is compared with the text there"),
        ("src/classify/match_claims.h", "the places of each species become its best claim"),
        ("src/classify/match_call.h", "the species that fit best become a call"),
        ("src/run/format.c", "the call becomes a line"),
        ("src/io/text.c", "lines are put in order, compressed and written"),
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
        path = [room_of(f) for f, _ in steps]
        hops = [(a, b) for a, b in zip(path, path[1:]) if a != b]
        for i, (a, b) in enumerate(hops):
            out.append(f'    {node(a)} == "{"AB"[number]}{i + 1}" ==> {node(b)}')
        ids = ",".join(str(at + i) for i in range(len(hops)))
        out.append(f"    linkStyle {ids} stroke:{colour},color:{colour}")
        at += len(hops)
    out += ["```", ""]
    for number, (name, _, steps) in enumerate(WAYS):
        out += [f"The way {'AB'[number]}, of {name}:", "", "| file | what happens there |",
                "| --- | --- |"]
        for path, what in steps:
            if not (TOP / path).is_file():
                sys.exit(f"rooms.py: {path}, on the way of {name}, is not there")
            out.append(f"| {path[4:]} | {what} |")
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
