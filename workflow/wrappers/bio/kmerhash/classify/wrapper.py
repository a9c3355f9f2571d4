"""kmerhash classify: reads to lines, report and summary"""

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=False, stderr=True)
extra = snakemake.params.get("extra", "")
device = "cuda" if snakemake.resources.get("gpu", 0) else "cpu"


def files(of, name):
    """The files of that name, whether it is one or a list, or not there."""
    value = of.get(name, [])
    return [value] if isinstance(value, str) else list(value)


def name_of_mates(one, two):
    """The name with `#` that stands for both: out_1.fq and out_2.fq are out#.fq."""
    for i in range(len(one) - 1):
        name = one[:i] + "#" + one[i + 2 :]
        if one == name.replace("#", "_1") and two == name.replace("#", "_2"):
            return name
    raise ValueError(f"{one} and {two} are not alike but for _1 and _2")


first, second = files(snakemake.input, "fq1"), files(snakemake.input, "fq2")
if second and len(first) != len(second):
    raise ValueError(f"{len(first)} files of fq1 and {len(second)} of fq2")
reads = [path for pair in zip(first, second) for path in pair] if second else first

# `-` writes no lines.
options = ["--output", snakemake.output.get("classif", "-")]
if second:
    options.append("--paired")
for name in ("report", "json", "html", "profile"):
    for path in files(snakemake.output, name):
        options += [f"--{name}", path]
for name in ("classified_out", "unclassified_out"):
    paths = files(snakemake.output, name)
    if paths:
        path = name_of_mates(*paths) if len(paths) == 2 else paths[0]
        options += [f"--{name}".replace("_", "-"), path]

shell(
    "kmerhash classify --db {snakemake.input.db:q} --threads {snakemake.threads} "
    "--device {device} {options:q} {extra} {reads:q} {log}"
)
