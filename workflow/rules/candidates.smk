# What each of several databases says of a sample: jobs that need no database but their own


rule kmerhash_candidates:
    input:
        db=lambda wildcards: files_of(DATABASES[int(wildcards.part)]),
        reads=reads_of,
    output:
        temp("resources/candidates/{sample}.{part}.cand"),
    log:
        "logs/kmerhash/candidates/{sample}.{part}.log",
    benchmark:
        "benchmarks/kmerhash/candidates/{sample}.{part}.tsv"
    wildcard_constraints:
        part="[0-9]+",
    conda:
        "../envs/kmerhash.yaml"
    container:
        CONTAINER
    threads: 8
    resources:
        mem_mb=lambda wildcards: memory_of(DATABASES[int(wildcards.part)]),
        gpu=0,
    params:
        kind=kind_of_sample,
        db=lambda wildcards: DATABASES[int(wildcards.part)],
        sheet=sheet_of,
        sheet_folder=folder_of,
        identity=lambda wildcards: identity_of([DATABASES[int(wildcards.part)]]),
        reads=lambda wildcards: identity_of_reads(reads_of(wildcards)),
        sample_pass="--sample-pass" if SAMPLE_PASS or PROFILE else "",
        second=(
            "--set second-best"
            if "second-best" in config["classify"]["extra"].split()
            else ""
        ),
    shell:
        "(cd {params.sheet_folder:q} && "
        "kmerhash classify --set check-sheet={params.sheet:q}) > /dev/null 2> {log:q} && "
        "kmerhash classify --db {params.db:q} {params.kind} --threads {threads} --device cpu "
        "--candidates {output:q} {params.sample_pass} {params.second} "
        "{input.reads:q} 2> {log:q}"
