rule kmerhash_classify:
    input:
        db="resources/refs.khdb",
        reads=reads_of,
    output:
        report=ensure("results/{sample}.kreport", non_empty=True),
        lines="results/{sample}.tsv.gz",
        json=ensure("results/{sample}.run.json", non_empty=True),
    params:
        paired=paired_of,
        extra=config["classify"]["extra"],
    log:
        "logs/kmerhash/{sample}.log",
    benchmark:
        "benchmarks/kmerhash/{sample}.tsv"
    threads: 8
    resources:
        mem_mb=config["classify"]["mem_mb"],
        gpu=config["classify"]["gpu"],
    conda:
        "../envs/kmerhash.yaml"
    shell:
        "kmerhash classify --db {input.db:q} {params.paired} --threads {threads} "
        "--output {output.lines:q} --report {output.report:q} --json {output.json:q} "
        "{params.extra} {input.reads:q} 2> {log:q}"


rule summary:
    input:
        expand("results/{sample}.run.json", sample=SAMPLES),
    output:
        "results/summary.tsv",
    params:
        samples=list(SAMPLES),
    log:
        "logs/summary.log",
    conda:
        "../envs/kmerhash.yaml"
    script:
        "../scripts/summary.py"
