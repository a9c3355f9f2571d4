# What is made of all samples


rule summary:
    input:
        expand("results/{sample}.json", sample=SAMPLES),
    output:
        report(
            "results/summary.tsv",
            caption="../report/summary.rst",
            category="All samples",
        ),
    log:
        "logs/summary.log",
    conda:
        "../envs/kmerhash.yaml"
    params:
        samples=list(SAMPLES),
    script:
        "../scripts/summary.py"


rule kmerhash_merge:
    input:
        expand("results/{sample}.report", sample=SAMPLES),
    output:
        report(
            "results/taxa.{suffix}",
            caption="../report/taxa.rst",
            category="All samples",
        ),
    log:
        "logs/kmerhash/merge.{suffix}.log",
    wildcard_constraints:
        suffix="|".join(map(re.escape, MERGE_FORMAT)),
    conda:
        "../envs/kmerhash.yaml"
    container:
        CONTAINER
    params:
        format=lambda wildcards: MERGE_FORMAT[wildcards.suffix],
        profile=lambda wildcards: (
            "--set profile=profile.tsv" if PROFILE and wildcards.suffix == "html" else ""
        ),
        controls=lambda wildcards: CONTROLS_OPTION if wildcards.suffix == "html" else "",
        extra=config["merge"]["extra"],
    shell:
        "kmerhash merge --format {params.format} --output {output:q} {params.profile} "
        "{params.controls} {params.extra} {input:q} 2> {log:q}"


rule blanks:
    input:
        expand("results/{sample}.report", sample=SAMPLES),
    output:
        report(
            "results/samples.blanks.tsv",
            caption="../report/blanks.rst",
            category="All samples",
        ),
    log:
        "logs/kmerhash/blanks.log",
    conda:
        "../envs/kmerhash.yaml"
    container:
        CONTAINER
    params:
        controls=CONTROLS_OPTION,
    shell:
        "kmerhash merge --format blanks --output {output:q} {params.controls} {input:q} "
        "2> {log:q}"


rule krona_text:
    input:
        expand("results/{sample}.report", sample=SAMPLES),
    output:
        expand("results/krona/{sample}.krona", sample=SAMPLES),
    log:
        "logs/kmerhash/krona.log",
    conda:
        "../envs/kmerhash.yaml"
    container:
        CONTAINER
    params:
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    shell:
        "kmerhash merge --format krona --outdir {params.folder:q} {input:q} 2> {log:q}"


rule krona:
    input:
        rules.krona_text.output,
    output:
        report(
            "results/krona.html",
            caption="../report/krona.rst",
            category="All samples",
        ),
    log:
        "logs/krona.log",
    conda:
        "../envs/krona.yaml"
    params:
        files=lambda wildcards, input: [
            f"{path},{sample}" for path, sample in zip(input, SAMPLES)
        ],
    shell:
        "ktImportText -o {output:q} {params.files:q} > {log:q} 2>&1"


rule multiqc:
    input:
        expand("results/{sample}.report", sample=SAMPLES),
    output:
        report(
            "results/multiqc.html",
            caption="../report/multiqc.rst",
            category="All samples",
        ),
    log:
        "logs/multiqc.log",
    conda:
        "../envs/multiqc.yaml"
    # MultiQC makes no page, and no error, if no sample has reads.
    shell:
        "rm -f {output:q}; multiqc --force --no-data-dir --outdir results "
        "--filename multiqc.html {input:q} > {log:q} 2>&1 && "
        "if ! [ -e {output:q} ]; then echo '<!DOCTYPE html><title>MultiQC</title>"
        "<p>No sample has reads.</p>' > {output:q}; fi"
