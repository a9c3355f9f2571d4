process KMERHASH_CLASSIFY {
    tag "${meta.id}"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container "${workflow.containerEngine == 'singularity' && !task.ext.singularity_pull_docker_container
        ? 'https://depot.galaxyproject.org/singularity/kmerhash:0.3.0--h9ee0642_0'
        : 'biocontainers/kmerhash:0.3.0--h9ee0642_0'}"

    input:
    tuple val(meta), path(reads)
    path db
    val save_output_fastqs
    val save_reads_assignment

    output:
    tuple val(meta), path('*.classified{.,_}*')           , optional: true, emit: classified_reads_fastq
    tuple val(meta), path('*.unclassified{.,_}*')         , optional: true, emit: unclassified_reads_fastq
    tuple val(meta), path('*.classifiedreads.tsv.gz')     , optional: true, emit: classified_reads_assignment
    tuple val(meta), path('*.kmerhash.report.txt')        , emit: report
    tuple val(meta), path('*.kmerhash.json')              , emit: json
    tuple val("${task.process}"), val('kmerhash'), eval("kmerhash --version | cut -d ' ' -f 2"), topic: versions, emit: versions_kmerhash

    when:
    task.ext.when == null || task.ext.when

    script:
    def args   = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def paired = meta.single_end ? '' : '--paired'
    def mates  = meta.single_end ? '' : '#'
    def fastqs = save_output_fastqs
        ? "--classified-out ${prefix}.classified${mates}.fastq.gz --unclassified-out ${prefix}.unclassified${mates}.fastq.gz"
        : ''
    def lines  = save_reads_assignment ? "${prefix}.kmerhash.classifiedreads.tsv.gz" : '-'
    """
    kmerhash \\
        classify \\
        --db ${db} \\
        --threads ${task.cpus} \\
        --report ${prefix}.kmerhash.report.txt \\
        --json ${prefix}.kmerhash.json \\
        --output ${lines} \\
        ${fastqs} \\
        ${paired} \\
        ${args} \\
        ${reads}
    """

    stub:
    def args   = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def mates  = meta.single_end ? [''] : ['_1', '_2']
    def fastqs = save_output_fastqs
        ? mates.collect { mate -> "echo '' | gzip > ${prefix}.classified${mate}.fastq.gz; echo '' | gzip > ${prefix}.unclassified${mate}.fastq.gz" }.join('\n    ')
        : ''
    def lines  = save_reads_assignment ? "echo '' | gzip > ${prefix}.kmerhash.classifiedreads.tsv.gz" : ''
    """
    echo ${args}
    touch ${prefix}.kmerhash.report.txt ${prefix}.kmerhash.json
    ${fastqs}
    ${lines}
    """
}
