rule kmerhash_build:
    input:
        references=[file for path in FASTA for file in files_of(path)],
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
    params:
        taxonomy=taxonomy_option(),
        tables=[word for row in TABLES for word in row] + HEADER_LINEAGE,
        references=FASTA,
        identity=identity_of(references_files()),
        extra=config["build"]["extra"],
    shell:
        "kmerhash build --db {output.db:q} {params.taxonomy:q} {params.tables:q} "
        "--threads {threads} {params.extra} "
        "{params.references:q} 2> {log:q}"
