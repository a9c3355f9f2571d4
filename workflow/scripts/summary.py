"""A line a sample: fragments read and called, from the summaries of the runs."""
import csv
import json

with open(snakemake.output[0], "w", newline="") as out:  # noqa: F821
    table = csv.writer(out, delimiter="\t", lineterminator="\n")
    table.writerow(["sample", "fragments", "classified", "unclassified", "bases"])
    for sample, path in zip(snakemake.params.samples, snakemake.input):  # noqa: F821
        with open(path) as text:
            n = json.load(text)["fragments"]
        table.writerow([sample, n["input"], n["classified"], n["unclassified"], n["bases"]])
