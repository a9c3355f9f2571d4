"""kmerhash merge: reports of samples to one table"""

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=False, stderr=True)
extra = snakemake.params.get("extra", "")
form = snakemake.params.get("format", "table")

shell(
    "kmerhash merge --format {form:q} --output {snakemake.output[0]:q} {extra} "
    "{snakemake.input:q} {log}"
)
