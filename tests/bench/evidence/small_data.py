#!/usr/bin/env python3
"""small_data.py DATA FOLDER: data/ of the repository in the layout that the benches read."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from classifiers import load_accessions
from reads import load_sequences, open_text

data, folder = map(pathlib.Path, sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
for name in ("taxonomy", "genomes", "reads"):
    if name != "reads" and not (folder / name).exists():
        os.symlink(data.resolve() / name, folder / name)
taxids = load_accessions(data / "taxonomy" / "accession2taxid.tsv")
(folder / "reads").mkdir(exist_ok=True)
for file in (data / "reads").iterdir():
    if not (folder / "reads" / file.name).exists():
        os.symlink(file.resolve(), folder / "reads" / file.name)
with open(data / "truth.tsv") as lines, open(folder / "reads" / "truth.tsv", "w") as out:
    out.write(lines.read().replace("reads/tiny", "tiny").replace("reads/sars", "sars"))
with open(folder / "manifest.draft", "w") as out:
    print("path", "accession", "taxid", "length", "category", sep="\t", file=out)
    for path in sorted((data / "genomes").glob("*.gz")):
        with open_text(path) as text:
            accession = next(text)[1:].split()[0]
        length = sum(map(len, load_sequences(path)))
        print(f"genomes/{path.name}", accession, taxids[accession], length, "virus", sep="\t", file=out)
(folder / "manifest.draft").rename(folder / "manifest.tsv")
