# What the rules need of the configuration and the sample sheet
import csv
import hashlib
import os
import re

validate(config, schema="../schemas/config.schema.yaml")


def data_path(path):
    """A path of the configuration: relative ones count from the folder `data_root`."""
    return os.path.join(config["data_root"], path)


def files_of(path):
    """The files of a folder, as its own time of change does not tell of theirs."""
    if not os.path.isdir(path):
        return [path]
    found = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(path, followlinks=True)
        for name in names
    ]
    return sorted(found) or [path]


def identity_of(paths):
    """A digest of names, sizes and times of the files of folders: files may be replaced
    by older ones, too."""
    digest = hashlib.sha256()
    for path in paths:
        for file in files_of(path) if os.path.isdir(path) else []:
            state = os.stat(file)
            digest.update(f"{file}\t{state.st_size}\t{state.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def kind_of(row):
    """The option that says how the reads of a row belong together."""
    if "fq2" in row:
        return "--paired"
    return "--interleaved" if row.get("interleaved") == "yes" else ""


# The names that `kmerhash classify --samples` knows of a column, and how the rules call it.
COLUMNS = {
    "sample": "sample",
    "interleaved": "interleaved",
    **{
        name: f"fq{mate}"
        for mate in (1, 2)
        for name in (
            f"fq{mate}",
            f"fastq_{mate}",
            f"fastq{mate}",
            f"reads{mate}",
            f"reads_{mate}",
        )
    },
}


def read_samples(path):
    """Rows of the sheet by sample, each checked against its schema."""
    samples = {}
    with open(path, newline="", encoding="utf-8-sig") as sheet:
        between = "\t" if "\t" in sheet.readline() else ","
        sheet.seek(0)
        for row in csv.DictReader(sheet, delimiter=between):
            row = {
                COLUMNS[column]: value
                for column, value in row.items()
                if column in COLUMNS and value
            }
            validate(row, schema="../schemas/samples.schema.yaml")
            samples.setdefault(row["sample"], []).append(row)
    if not samples:
        raise ValueError(f"{path}: no samples")
    return samples


def check_kinds(path, samples):
    """One command reads pairs or single reads; a batch does not read interleaved ones."""
    for sample, rows in samples.items():
        kinds = {kind_of(row) for row in rows}
        if config["classify"]["batch"] and "--interleaved" in kinds:
            raise ValueError(f"{path}: {sample}: a batch has no interleaved reads")
        if not config["classify"]["batch"] and len(kinds) > 1:
            raise ValueError(
                f"{path}: {sample} has pairs beside single or interleaved reads, "
                "which needs `batch: true`"
            )


SAMPLES = read_samples(config["samples"])
check_kinds(config["samples"], SAMPLES)


wildcard_constraints:
    sample="|".join(map(re.escape, SAMPLES)),


# How a file of taxa ends, and the --format of `kmerhash merge` that makes it.
MERGE_FORMAT = {
    "tsv": "table",
    "biom": "biom",
    "html": "html",
}

# Whether the samples have profiles: what is in them, judged by the sample as a whole.
PROFILE = config["classify"]["profile"]

# Whether calls that the sample as a whole speaks against are changed.
SAMPLE_PASS = "--sample-pass" if config["classify"]["sample_pass"] else ""

# What is made of all samples.  Each rule that classifies removes these files before it
# starts: if a sample then fails, none is left that tells of an earlier run.
MERGED = [
    "results/summary.tsv",
    *(
        f"results/taxa.{suffix}"
        for suffix, name in MERGE_FORMAT.items()
        if name in config["merge"]["formats"]
    ),
    *(["results/krona.html"] if config["krona"] else []),
    *(["results/multiqc.html"] if config["multiqc"] else []),
]

# The length of reads whose abundances Bracken estimates; 0: it is not wanted.
BRACKEN = config["bracken"].get("read_length", 0)
if BRACKEN and "references" not in config:
    raise ValueError("bracken makes its tables of the references: these are to be named")

# The rest needs Python or MultiQC, which an image of kmerhash has not.
CONTAINER = config["container"] or None

DATABASE = (
    data_path(config["database"]) if "database" in config else "resources/refs.khdb"
)


REFERENCES = config.get("references", {})
FASTA = [data_path(path) for path in REFERENCES.get("fasta", [])]


def taxonomy_files():
    """The dump files that kmerhash reads; merged.dmp only where there is one."""
    if "taxonomy" not in REFERENCES:
        return []
    folder = data_path(REFERENCES["taxonomy"])
    files = [os.path.join(folder, name) for name in ("nodes.dmp", "names.dmp")]
    merged = os.path.join(folder, "merged.dmp")
    return files + [merged] if os.path.exists(merged) else files


# Tables with the options that name them.
TABLES = [
    (f"--{option}", data_path(path))
    for option in ("seqid2taxid", "accession2taxid", "assemblies", "lineage")
    for path in REFERENCES.get(option, [])
]


def taxonomy_option():
    if "taxonomy" not in REFERENCES:
        return []
    return ["--taxonomy", data_path(REFERENCES["taxonomy"])]


def sheet_of(wildcards):
    """The program reads the sheet, too: it judges rows more strictly than is done here."""
    return os.path.abspath(config["samples"])


def folder_of(wildcards):
    """What paths of the sheet count from."""
    return config["data_root"] or "."


def reads_of_rows(rows):
    return [
        data_path(row[mate]) for row in rows for mate in ("fq1", "fq2") if mate in row
    ]


def reads_of(wildcards):
    return reads_of_rows(SAMPLES[wildcards.sample])


def kind_of_sample(wildcards):
    return kind_of(SAMPLES[wildcards.sample][0])


def device_of(wildcards, resources):
    """A GPU is for jobs that were given one; several jobs would fight for it."""
    return "cuda" if resources.gpu > 0 else "cpu"
