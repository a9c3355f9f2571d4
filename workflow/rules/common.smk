# What the rules need of the configuration and the sample sheet
import csv
import os
import re

validate(config, schema="../schemas/config.schema.yaml")


def data_path(path):
    """A path of the configuration: relative ones count from the folder `data_root`."""
    return os.path.join(config["data_root"], path)


def read_samples(path):
    """Samples of the sheet by name, each checked against its schema."""
    with open(path, newline="") as sheet:
        rows = list(csv.DictReader(sheet, delimiter="\t"))
    samples = {}
    for row in rows:
        row = {column: value for column, value in row.items() if value}
        validate(row, schema="../schemas/samples.schema.yaml")
        if row["sample"] in samples:
            raise ValueError(f"{path}: sample {row['sample']} occurs twice")
        samples[row["sample"]] = row
    if not samples:
        raise ValueError(f"{path}: no samples")
    return samples


SAMPLES = read_samples(config["samples"])


wildcard_constraints:
    sample="|".join(map(re.escape, SAMPLES)),


def reads_of(wildcards):
    row = SAMPLES[wildcards.sample]
    return [data_path(row[mate]) for mate in ("fq1", "fq2") if mate in row]


def paired_of(wildcards):
    row = SAMPLES[wildcards.sample]
    if "fq2" in row:
        return "--paired"
    return "--interleaved" if row.get("interleaved") == "yes" else ""


def taxonomy_files():
    """The dump files that kmerhash reads; merged.dmp only where there is one."""
    folder = data_path(config["references"]["taxonomy"])
    files = [os.path.join(folder, name) for name in ("nodes.dmp", "names.dmp")]
    merged = os.path.join(folder, "merged.dmp")
    return files + [merged] if os.path.exists(merged) else files


TABLES = [
    (option, data_path(path))
    for option in ("seqid2taxid", "accession2taxid")
    for path in config["references"].get(option, [])
]
