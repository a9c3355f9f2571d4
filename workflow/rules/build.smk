rule kmerhash_build:
    input:
        references=[data_path(path) for path in config["references"]["fasta"]],
        taxonomy=taxonomy_files(),
        tables=[path for _, path in TABLES],
    output:
        db="resources/refs.khdb",
    params:
        taxonomy=lambda wildcards, input: os.path.dirname(input.taxonomy[0]),
        tables=[word for option, path in TABLES for word in (f"--{option}", path)],
        extra=config["build"]["extra"],
    log:
        "logs/kmerhash/build.log",
    benchmark:
        "benchmarks/kmerhash/build.tsv"
    threads: 8
    resources:
        mem_mb=config["build"]["mem_mb"],
    conda:
        "../envs/kmerhash.yaml"
    shell:
        "kmerhash build --db {output.db:q} --taxonomy {params.taxonomy:q} {params.tables:q} "
        "--threads {threads} {params.extra} {input.references:q} 2> {log:q}"
