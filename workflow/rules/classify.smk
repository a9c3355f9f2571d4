rule kmerhash_classify:
    input:
        db=DATABASE_FILES,
        reads=reads_of,
        candidates=candidates_of,
    output:
        report=report(
            ensure("results/{sample}.report", non_empty=True),
            caption="../report/kreport.rst",
            category="Samples",
        ),
        lines="results/{sample}.tsv.gz",
        json=ensure("results/{sample}.json", non_empty=True),
        page=report(
            "results/{sample}.html",
            caption="../report/page.rst",
            category="Samples",
        ),
        profile=["results/{sample}.profile.tsv"] if PROFILE else [],
    log:
        "logs/kmerhash/{sample}.log",
    benchmark:
        "benchmarks/kmerhash/{sample}.tsv"
    conda:
        "../envs/kmerhash.yaml"
    container:
        CONTAINER
    threads: 8
    resources:
        mem_mb=16000,
        gpu=0,
    params:
        kind=kind_of_sample,
        device=device_of,
        db=lambda wildcards: DATABASE_OPTIONS,
        join=lambda wildcards, input: options_of("--join", input.candidates),
        sheet=sheet_of,
        sheet_folder=folder_of,
        identity=lambda wildcards: identity_of(DATABASES) if "database" in config else "",
        reads=lambda wildcards: identity_of_reads(reads_of(wildcards)),
        sample_pass=SAMPLE_PASS,
        extra=config["classify"]["extra"],
        stale=MERGED,
        profile=lambda wildcards: (
            f"--profile results/{wildcards.sample}.profile.tsv" if PROFILE else ""
        ),
    shell:
        "rm -f {params.stale:q} && "
        "(cd {params.sheet_folder:q} && "
        "kmerhash classify --set check-sheet={params.sheet:q}) > /dev/null 2> {log:q} && "
        "kmerhash classify {params.db:q} {params.join:q} {params.kind} --threads {threads} "
        "--device {params.device} --output {output.lines:q} --report {output.report:q} "
        "--json {output.json:q} --html {output.page:q} {params.profile} {params.sample_pass} "
        "--set sample={wildcards.sample:q} {params.extra} "
        "{input.reads:q} 2> {log:q}"
