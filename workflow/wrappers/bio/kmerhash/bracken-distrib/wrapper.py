"""kmerhash bracken-distrib: what a database's references are called, for Bracken"""

import os
import re
import sys

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=False, stderr=True)
extra = snakemake.params.get("extra", "")
device = "cuda" if snakemake.resources.get("gpu", 0) else "cpu"
references = snakemake.input.references
references = [references] if isinstance(references, str) else list(references)

folders = sorted({os.path.dirname(path) or "." for path in snakemake.output})
names = [re.fullmatch(r"database(\d+)mers\.kmer_distrib", os.path.basename(p)) for p in snakemake.output]
if len(folders) != 1 or not all(names):
    sys.exit("the outputs must be called databaseNmers.kmer_distrib, in one folder")
lengths = ",".join(name[1] for name in names)

shell(
    "kmerhash bracken-distrib --db {snakemake.input.db:q} --outdir {folders:q} "
    "--read-length {lengths} --threads {snakemake.threads} --device {device} {extra} "
    "{references:q} {log}"
)
