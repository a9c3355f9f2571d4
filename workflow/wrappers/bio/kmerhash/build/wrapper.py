"""kmerhash build: reference genomes to a database"""

import os

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=False, stderr=True)
extra = snakemake.params.get("extra", "")


def files(name):
    """The files of a named input, whether it is one or a list, or not there."""
    value = snakemake.input.get(name, [])
    return [value] if isinstance(value, str) else list(value)


options = []
if files("taxonomy"):
    options += ["--taxonomy", os.path.dirname(files("taxonomy")[0]) or "."]
for name in ("accession2taxid", "seqid2taxid", "assemblies", "lineage"):
    for path in files(name):
        options += [f"--{name}", path]
references = files("references")

shell(
    "kmerhash build --db {snakemake.output.db:q} {options:q} --threads {snakemake.threads} "
    "{extra} {references:q} {log}"
)
