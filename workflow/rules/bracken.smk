# Abundances by Bracken, with tables that are made of the references once


rule bracken_tables:
    input:
        db=DATABASES,
        references=[file for path in FASTA or NAMED for file in files_of(path)],
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
        references=FASTA or NAMED,
        identity=identity_of(references_files()),
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
    # Bracken fails if no taxon of the level has reads enough, as in a blank sample: that is a table
    # without rows, and a report as it was
    shell:
        "if awk -F '\\t' -v level={params.level:q} -v least={params.threshold} "
        "'$(NF - 2) == level && $2 >= least {{ n++ }} END {{ exit !n }}' {input.report:q}; then "
        "bracken -d {params.folder:q} -i {input.report:q} -o {output.table:q} "
        "-w {output.report:q} -r {params.length} -l {params.level} "
        "-t {params.threshold} > {log:q} 2>&1; else "
        "echo 'no taxon of level {params.level} has {params.threshold} reads' > {log:q}; "
        "printf '%s\\t' name taxonomy_id taxonomy_lvl kraken_assigned_reads added_reads "
        "new_est_reads > {output.table:q}; echo fraction_total_reads >> {output.table:q}; "
        "cp {input.report:q} {output.report:q}; fi"
