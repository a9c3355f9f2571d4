rule kmerhash_build:
    input:
        references=[data_path(path) for path in REFERENCES.get("fasta", [])],
        taxonomy=taxonomy_files(),
        tables=[path for _, path in TABLES],
    output:
        db="resources/refs.khdb",
    log:
        "logs/kmerhash/build.log",
    benchmark:
        "benchmarks/kmerhash/build.tsv"
    conda:
        "../envs/kmerhash.yaml"
    container:
        CONTAINER
    threads: 8
    resources:
        mem_mb=16000,
        gpu=0,
    params:
        taxonomy=taxonomy_option(),
        tables=[word for row in TABLES for word in row],
        device=device_of,
        extra=config["build"]["extra"],
    shell:
        "kmerhash build --db {output.db:q} {params.taxonomy:q} {params.tables:q} "
        "--threads {threads} --device {params.device} {params.extra} "
        "{input.references:q} 2> {log:q}"
