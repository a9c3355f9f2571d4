# What the rules need of the configuration and the sample sheet
import csv
import gzip
import hashlib
import json
import os
import re
import shutil
import time

from snakemake.exceptions import WorkflowError

validate(config, schema="../schemas/config.schema.yaml")


def data_path(path):
    """A path of the configuration: relative ones count from the folder `data_root`."""
    return os.path.join(config["data_root"], path)


def listed(value):
    return value if isinstance(value, list) else [value]


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


# Digests of files, by their path, with what the system said of them then.
DIGESTS = ".snakemake/kmerhash-digests.json"
KHDB = b"\x89KHDB\r\n\x1a"


def content_of(path, parts=None):
    """A digest of the bytes of a file, or of so many equal parts of a long one the last 64 KiB
    each; the header of a database has checksums of the rest."""
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        if file.read(len(KHDB)) == KHDB:
            file.seek(0)
            digest.update(file.read(4096))
            return digest.hexdigest()
        size = os.fstat(file.fileno()).st_size
        if parts and size > parts << 16:
            for part in range(1, parts + 1):
                file.seek(size * part // parts - (1 << 16))
                digest.update(file.read(1 << 16))
            return f"{size} {digest.hexdigest()}"
        file.seek(0)
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def identity_of(paths, parts=None):
    """A digest of the names and bytes of files, and of those in folders.  What has the number,
    the size and the times that it had is not read again; the time of change cannot be set."""
    try:
        with open(DIGESTS, encoding="utf-8") as file:
            known = json.load(file)
    except (OSError, ValueError):
        known = {}
    before, digest = dict(known), hashlib.blake2b(digest_size=16)
    for file in sorted({file for path in paths for file in files_of(path)}):
        if not os.path.isfile(file):
            continue
        state = os.stat(file)
        state = [state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns]
        if known.get(file, [None])[0] != state:
            known.pop(file, None)
            content = content_of(file, parts)
            if time.time_ns() - state[-1] > 2_000_000_000:  # else a change may leave the times
                known[file] = [state, content]
        else:
            content = known[file][1]
        digest.update(f"{file}\t{content}\n".encode())
    if known != before:
        os.makedirs(os.path.dirname(DIGESTS), exist_ok=True)
        with open(f"{DIGESTS}.{os.getpid()}", "w", encoding="utf-8") as file:
            json.dump(known, file)
        os.replace(file.name, DIGESTS)
    return digest.hexdigest()


def identity_of_reads(paths):
    """Reads are many bytes, and a job reads them all anyway: parts of them are enough to tell a
    file from another one.  The last part of a gzip file has the checksum of all its reads."""
    return identity_of(paths, parts=16)


def kind_of(row):
    """The option that says how the reads of a row belong together."""
    if "fq2" in row:
        return "--paired"
    return "--interleaved" if row.get("interleaved") == "yes" else ""


# The names that `kmerhash classify --samples` knows of a column, and how the rules call it.
COLUMNS = {
    "sample": "sample",
    "interleaved": "interleaved",
    "fasta": "fasta",
    "long_reads": "long",
    "control": "control",
    "type": "type",
    "sample_type": "type",
    **{
        name: f"fq{mate}"
        for mate in (1, 2)
        for name in (
            f"fq{mate}",
            f"fastq_{mate}",
            f"fastq{mate}",
            f"reads{mate}",
            f"reads_{mate}",
            f"short_reads_{mate}",
        )
    },
}


def cells_of(sheet):
    """The rows of a table, less blank ones and comments; the first one is the header, which
    may begin with '#' itself."""
    lines = [line for line in sheet.read().splitlines() if line.strip(' \t,"')]
    at = 0
    while at < len(lines) and lines[at][0] == "#" and "sample" not in lines[at].lower():
        at += 1
    lines = [line for i, line in enumerate(lines) if i == at or (i > at and line[0] != "#")]
    between = "\t" if lines and "\t" in lines[0] else ","
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=between)]
    if rows:
        rows[0][0] = rows[0][0].lstrip("# ")
    return rows


def is_control(row):
    """Is the sample a negative control, by one of the two columns that say so?"""
    words, yes = {"control", "blank", "negative"}, {"yes", "true", "1"}
    control, kind = (row.pop(column, "").lower() for column in ("control", "type"))
    return control in words | yes or kind in words


def reads_in(row):
    """A row may have single reads of two more columns, which are rows of their own."""
    single = [row.pop(column) for column in ("fasta", "long") if column in row]
    rows = [row] if "fq1" in row or not single else []
    return rows + [{"sample": row.get("sample", ""), "fq1": path} for path in single]


def read_samples(path):
    """Rows of the sheet by sample, each checked against its schema; names of controls"""
    samples, controls = {}, {}
    with open(path, newline="", encoding="utf-8-sig") as sheet:
        header, *rows = cells_of(sheet) or [[]]
    for cells in rows:
        row = {
            COLUMNS[column.lower()]: cell
            for column, cell in zip(header, cells)
            if column.lower() in COLUMNS and cell
        }
        if is_control(row):
            controls[row.get("sample")] = True
        for reads in reads_in(row):
            validate(reads, schema="../schemas/samples.schema.yaml")
            samples.setdefault(reads["sample"], []).append(reads)
    if not samples:
        raise ValueError(f"{path}: no samples")
    return samples, list(controls)


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


SAMPLES, CONTROLS = read_samples(config["samples"])
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

# The negative controls, if there are any, which merge compares the other samples with.
CONTROLS_OPTION = f"--set controls={','.join(CONTROLS)}" if CONTROLS else ""

# What is made of all samples.  Each rule that classifies removes these files before it
# starts: if a sample then fails, none is left that tells of an earlier run.
MERGED = [
    "results/summary.tsv",
    *(
        f"results/taxa.{suffix}"
        for suffix, name in MERGE_FORMAT.items()
        if name in config["merge"]["formats"]
    ),
    *(["results/samples.blanks.tsv"] if CONTROLS else []),
    *(["results/krona.html"] if config["krona"] else []),
    *(["results/multiqc.html"] if config["multiqc"] else []),
]

# The length of reads whose abundances Bracken estimates; 0: it is not wanted.
BRACKEN = config["bracken"].get("read_length", 0)
if BRACKEN and "references" not in config:
    raise ValueError("bracken makes its tables of the references: these are to be named")
if BRACKEN and SAMPLE_PASS:
    raise ValueError("bracken needs calls of single reads: `sample_pass` is to be `false`")

# The rest needs Python or MultiQC, which an image of kmerhash has not.
CONTAINER = config["container"] or None


# Programs beside kmerhash, by the rule that runs each.
PROGRAMS = {"multiqc": "multiqc", "krona": "ktImportText", "bracken": "bracken"}


def check_programs():
    """Fails before the first job if PATH has not a program that one of the last jobs needs."""
    settings = getattr(workflow, "deployment_settings", None)  # Snakemake 8 and later
    deployed = settings.deployment_method if settings else []
    if getattr(workflow, "use_conda", any("conda" in str(by).lower() for by in deployed)):
        return
    rules_to_run = {job.rule.name for job in workflow.persistence.dag.needrun_jobs()}
    missing = [
        f"{program} is not in PATH, and the configuration asks for it (`{rule}`)"
        for rule, program in PROGRAMS.items()
        if rule in rules_to_run and not shutil.which(program)
    ]
    if missing:
        raise WorkflowError("; ".join(missing))


def options_of(option, paths):
    return [word for path in paths for word in (option, path)]


# One database, or several that are used as one.
DATABASES = (
    [data_path(path) for path in listed(config["database"])]
    if "database" in config
    else ["resources/refs.khdb"]
)
DATABASE_FILES = [file for path in DATABASES for file in files_of(path)]
DATABASE_OPTIONS = options_of("--db", DATABASES)
if (PROFILE or SAMPLE_PASS) and any(
    os.path.exists(os.path.join(path, "hash.k2d")) for path in DATABASES
):
    raise ValueError(
        "with a database of Kraken 2, `sample_pass` and `profile` are to be `false`"
    )

# Whether each database is searched by a job of its own, which then are joined.
PARTS = config["classify"]["parts"]
if PARTS and (config["classify"]["batch"] or len(DATABASES) == 1):
    raise ValueError("`parts: true` is for several databases, and a job for each sample")


def candidates_of(wildcards):
    """What each database says of a sample, in files that know whose they are."""
    parts = range(len(DATABASES)) if PARTS else []
    return [f"resources/candidates/{wildcards.sample}.{part}.cand" for part in parts]


def memory_of(path):
    """Megabytes: the database, as `inspect` tells its bytes, and what the reads need."""
    files = [file for file in files_of(path) if os.path.exists(file)]
    return sum(map(os.path.getsize, files)) // 10**6 + 2000


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

HEADER_LINEAGE = ["--header-lineage"] if "header_lineage" in REFERENCES else []


def unquoted(cell):
    return cell.strip(' "')


def named_in(tables):
    """The files that tables of assemblies name: a column of some row."""
    found = set()
    for table in tables:
        text = gzip.open if table.endswith(".gz") else open
        with text(table, "rt", encoding="utf-8-sig", errors="replace") as rows:
            for row in rows:
                cells = re.split(r"[\t,]", row.strip())
                found.update(cell for cell in map(unquoted, cells) if os.path.exists(cell))
    return sorted(found)


NAMED = named_in(path for option, path in TABLES if option == "--assemblies")


def references_files():
    """All that a database is made of."""
    return FASTA + taxonomy_files() + [path for _, path in TABLES] + NAMED


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
    """A GPU is for jobs that were given one; several jobs would fight for it.  Parts are joined on
    the CPU."""
    return "cuda" if resources.gpu > 0 and not PARTS else "cpu"
