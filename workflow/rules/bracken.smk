# Abundances by Bracken, with tables that are made of the references once


rule bracken_tables:
    input:
        db=DATABASE,
        references=[file for path in FASTA for file in files_of(path)],
    output:
        f"resources/bracken/database{BRACKEN}mers.kmer_distrib",
    log:
        "logs/kmerhash/bracken_tables.log",
    conda:
        "../envs/kmerhash.yaml"
    container:
        CONTAINER
    threads: 8
    resources:
        mem_mb=16000,
        gpu=0,
    params:
        folder=lambda wildcards, output: os.path.dirname(output[0]),
        length=BRACKEN,
        device=device_of,
        references=FASTA,
        identity=identity_of(FASTA),
    shell:
        "kmerhash bracken-distrib --db {input.db:q} --outdir {params.folder:q} "
        "--read-length {params.length} --threads {threads} --device {params.device} "
        "{params.references:q} 2> {log:q}"


rule bracken:
    input:
        report="results/{sample}.report",
        table=rules.bracken_tables.output[0],
    output:
        table="results/bracken/{sample}.bracken",
        report="results/bracken/{sample}.report",
    log:
        "logs/bracken/{sample}.log",
    conda:
        "../envs/bracken.yaml"
    params:
        folder=lambda wildcards, input: os.path.dirname(input.table),
        length=BRACKEN,
        level=config["bracken"].get("level", "S"),
        threshold=config["bracken"].get("threshold", 10),
    shell:
        "bracken -d {params.folder:q} -i {input.report:q} -o {output.table:q} "
        "-w {output.report:q} -r {params.length} -l {params.level} "
        "-t {params.threshold} > {log:q} 2>&1"
