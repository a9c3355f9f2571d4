# All samples in one job, by one load of the database


rule sheet:
    output:
        "resources/samples.tsv",
    log:
        "logs/sheet.log",
    conda:
        "../envs/kmerhash.yaml"
    params:
        rows=[
            [sample, *reads_of_rows([row])]
            for sample in SAMPLES
            for row in SAMPLES[sample]
        ],
    script:
        "../scripts/sheet.py"


# Snakemake removes the outputs of a job before it runs again.  The samples are therefore
# classified in a folder of their own, where --resume finds those that are done: after a
# run that was killed or failed, and when samples are added.
rule kmerhash_classify_batch:
    input:
        db=DATABASE_FILES,
        sheet="resources/samples.tsv",
        reads=[path for rows in SAMPLES.values() for path in reads_of_rows(rows)],
    output:
        report=ensure(
            expand("results/{sample}.report", sample=SAMPLES), non_empty=True
        ),
        lines=expand("results/{sample}.tsv.gz", sample=SAMPLES),
        json=ensure(expand("results/{sample}.json", sample=SAMPLES), non_empty=True),
        page=expand("results/{sample}.html", sample=SAMPLES),
        profile=expand("results/{sample}.profile.tsv", sample=SAMPLES if PROFILE else []),
    log:
        "logs/kmerhash/batch.log",
    benchmark:
        "benchmarks/kmerhash/batch.tsv"
    conda:
        "../envs/kmerhash.yaml"
    container:
        CONTAINER
    threads: 8
    resources:
        mem_mb=16000,
        gpu=0,
    params:
        folder="resources/batch",
        device=device_of,
        db=lambda wildcards: DATABASE_OPTIONS,
        sheet=sheet_of,
        sheet_folder=folder_of,
        identity=lambda wildcards: identity_of(DATABASES) if "database" in config else "",
        reads=identity_of_reads(
            [path for rows in SAMPLES.values() for path in reads_of_rows(rows)]
        ),
        sample_pass=SAMPLE_PASS,
        extra=config["classify"]["extra"],
        stale=MERGED,
        profile=",profile" if PROFILE else "",
    shell:
        "rm -f {params.stale:q} && "
        "(cd {params.sheet_folder:q} && "
        "kmerhash classify --set check-sheet={params.sheet:q}) > /dev/null 2> {log:q} && "
        "kmerhash classify {params.db:q} --samples {input.sheet:q} "
        "--outdir {params.folder:q} --resume --set keep-going --write lines.gz,report,json,html"
        "{params.profile} "
        "--threads {threads} --device {params.device} {params.sample_pass} {params.extra} "
        "2> {log:q} && "
        "for file in {output:q}; do "
        '  made={params.folder:q}/"${{file##*/}}"; '
        '  ln -f "$made" "$file" 2>/dev/null || cp "$made" "$file"; touch "$file"; '
        "done"
