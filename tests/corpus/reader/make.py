#!/usr/bin/env python3
"""Makes the files of this folder and EXPECT: file, records, message behind the name."""
import os
import sys

FQ = b"@r1\nACGT\n+\nIIII\n"
GOOD = {
    "empty.fa": (0, b""),
    "blank-only.fq": (0, b"\n \n\t\n\r\n"),
    "one.fq": (1, FQ),
    "crlf.fq": (2, b"@r1 x\r\nACGT\r\n+\r\nIIII\r\n@r2\r\nAC\r\n+r2\r\n@+\r\n"),
    "crlf.fa": (2, b">a\r\nACGT\r\nAC\r\n>b x\r\n\r\nNN\r\n"),
    "mixed-ends.fa": (2, b">a\nACGT\r\nAC\n>b x\r\nNN"),
    "no-final-newline.fq": (1, FQ[:-1]),
    "no-final-newline.fa": (1, b">a\nACGT"),
    "header-only.fa": (1, b">a"),
    "headers-only.fa": (4, b">a\n>\n> b\n>c"),
    "empty-sequence.fa": (3, b">a\n\n>b\nAC\n>c\n"),
    "empty-sequence.fq": (3, b"@a\n\n+\n\n@b\nAC\n+\nII\n@c\n\n+\n\n"),
    "empty-without-lines.fq": (3, b"@a\n+\n@b\n\n+\n@c\n+\n"),
    "empty-at-end.fq": (2, FQ + b"@c\n\n+"),
    "blank-lines.fq": (3, b"\n\n" + FQ + b"\n \n" + FQ + b"\t\n\r\n" + FQ + b"\n\n"),
    "blank-lines.fa": (2, b"\n>a\n\nAC\n\n\nGT\n\n\n>b\n\n"),
    "blanks-at-ends.fa": (1, b">a \t\nACGT \nAC\t \t\r\nGT  "),
    "blanks-at-ends.fq": (2, b"@a \nACGT \n+\nIIII\t\n@b\nAC\t\r\n+\nII \r\n"),
    "marks-everywhere.fq": (3, b"@a @>+\nACGT\n+@\n@@@@\n@@b\nACGT\n+\n+@>;\n@+\nAC\n+>\n>@\n"),
    "marks-in-headers.fa": (2, b">a >b @c\nAC\n>>;@\nGT\n"),
    "quality-looks-like-header.fq": (4, b"@1\nA\n+\n@\n@2\nA\n+\n@\n@3\nC\n+\n+\n@4\nG\n+\n>\n"),
    "plus-name.fq": (2, b"@r1 x\nACGT\n+r1 x\nIIII\n@r2\nAC\n+something else\nII\n"),
    "multi-line.fq": (3, b"@a\nACGT\nACGT\nA\n+\nIIII\n@III\n+\n@b\nAC\nGT\n+b\n@b\n@@\n" + FQ),
    "multi-line-blank.fq": (2, b"@a\nAC\n\nGT\n\n+\n\nII\n\nII\n\n" + FQ),
    "blank-before-quality.fq": (2, b"@a\nAC\n+\n\nII\n" + FQ),
    "lower-case.fa": (1, b">a\nacgtuACGTUnN\n"),
    "iupac.fa": (1, b">a\nACGTURYSWKMBDHVNXacgturyswkmbdhvnx-*.\n"),
    "iupac.fq": (1, b"@a\nACGTURYSWKMBDHVNX-*.\n+\n!\"#$%&'()*+,-./01234\n"),
    "all-qualities.fq": (1, b"@a\n" + b"A" * 94 + b"\n+\n" + bytes(range(33, 127)) + b"\n"),
    "bom.fa": (1, b"\xef\xbb\xbf>a\nACGT\n"),
    "bom.fq": (2, b"\xef\xbb\xbf" + FQ + FQ),
    "bom-blank.fa": (1, b"\xef\xbb\xbf\n>a\nACGT\n"),
    "bom-only.fa": (0, b"\xef\xbb\xbf"),
    "utf8-name.fq": (1, b"@r\xc3\xa9ad\tx\x01\x7f\nACGT\n+\nIIII\n"),
    "tab-in-name.fa": (2, b">a\tb c\nAC\n>\td\nGT\n"),
    "width-32.fa": (3, b">a\n" + b"ACGTACGTACGTACGTACGTACGTACGTACGT\n" * 4 + b">b\n"
                    + b"T" * 31 + b"\n" + b"G" * 33 + b"\n" + b"C" * 64 + b"\n>c\n" + b"N" * 65),
    "width-60.fa": (2, b">a\n" + (b"ACGTTGCAAC" * 6 + b"\n") * 7 + b"ACG\n>b\n"
                    + (b"GGCATTACCA" * 6 + b"\n") * 3),
    "reads-150.fq": (6, b"".join(b"@read%d 1:N:0\n%s\n+\n%s\n" % (
        i, (b"ACGTTGCAACGATTACA" * 10)[i:i + 145 + i], (b"IIIIFFFF#:," * 15)[:145 + i])
        for i in range(6))),
}
BAD = {
    "text-first.fa": (":1: expected '>' or '@' at the start of record 1, found 'h'",
                      b"hello\n>a\nAC\n"),
    "text-first.fq": (":2: expected '>' or '@' at the start of record 1, found 'A'",
                      b"\nACGT\n@a\nAC\n+\nII\n"),
    "leading-blank.fa": (":1: expected '>' or '@' at the start of record 1, found byte 0x20",
                         b" >a\nACGT\n"),
    "nul-first.fa": (":1: expected '>' or '@' at the start of record 1, found byte 0x00",
                     b"\0>a\nACGT\n"),
    "comment-first.fa": (":1: record 1: ';' comments are not part of FASTA or FASTQ",
                         b"; x\n>a\nACGT\n"),
    "comment.fa": (":3: record 1: ';' comments are not part of FASTA or FASTQ",
                   b">a\nACGT\n; x\nACGT\n"),
    "nul-in-sequence.fa": (":2: record 1: expected a nucleotide, found byte 0x00, column 3",
                           b">a\nAC\0GT\n"),
    "high-byte.fq": (":6: record 2: expected a nucleotide, found byte 0xc3, column 2",
                     FQ + b"@b\nA\xc3\xa9\n+\nIII\n"),
    "digit.fa": (":3: record 1: expected a nucleotide, found '1', column 1", b">a\nACGT\n1\n"),
    "protein.fa": (":2: record 1: expected a nucleotide, found 'E', column 2", b">a\nMERL\n"),
    "control.fa": (":2: record 1: expected a nucleotide, found byte 0x7f, column 40",
                   b">a\n" + b"A" * 39 + b"\x7f\n"),
    "blank-inside.fa": (":2: record 1: a blank inside a sequence line, column 3",
                        b">a\nAC GT\n"),
    "blank-in-front.fq": (":2: record 1: a blank inside a sequence line, column 1",
                          b"@a\n\tACGT\n+\nIIIII\n"),
    "mark-inside.fa": (":2: record 1: expected a nucleotide, found '>', column 3",
                       b">a\nAC>b\nGT\n"),
    "lone-cr.fa": (":1: record 1: a carriage return inside the header line (lines end in LF or "
                   "CR LF)", b">a\rACGT\r>b\rAC\r"),
    "lone-cr-sequence.fa": (":2: record 1: a carriage return inside a line (lines end in LF or "
                            "CR LF), column 3", b">a\nAC\rGT\n"),
    "cr-at-end.fa": (":2: record 1: a carriage return inside a line (lines end in LF or CR LF), "
                     "column 5", b">a\nACGT\r"),
    "two-cr.fa": (":2: record 1: a carriage return inside a line (lines end in LF or CR LF), "
                  "column 5", b">a\nACGT\r\r\nAC\n"),
    "cr-blank.fa": (":2: record 1: a carriage return inside a line (lines end in LF or CR LF), "
                    "column 5", b">a\nACGT\r \nAC\n"),
    "lone-cr-plus.fq": (":3: record 1: a carriage return inside the '+' line (lines end in LF or "
                        "CR LF)", b"@a\nAC\n+\ra\nII\n"),
    "nul-in-header.fa": (":3: record 2: a NUL byte in the header line", b">a\nAC\n>b\0\nAC\n"),
    "nul-in-header.fq": (":5: record 2: a NUL byte in the header line",
                         FQ + b"@b\0c\nAC\n+\nII\n"),
    "quality-short.fq": (":8: record 2: quality has 3 characters, sequence 4",
                         FQ + b"@b\nACGT\n+\nIII\n" + FQ),
    "quality-long.fq": (":8: record 2: quality has 5 characters, sequence 4",
                        FQ + b"@b\nACGT\n+\nIIIII\n" + FQ),
    "quality-none.fq": (":8: record 2: quality has 3 characters, sequence 4",
                        FQ + b"@b\nACGT\n+\n" + FQ),
    "quality-multi-line-long.fq": (":6: record 1: quality has 5 characters, sequence 4",
                                   b"@b\nAC\nGT\n+\nII\nIII\n"),
    "quality-blank.fq": (":4: record 1: expected a quality character ('!' to '~'), found byte "
                         "0x20, column 2", b"@b\nACGT\n+\nI II\n"),
    "quality-high.fq": (":4: record 1: expected a quality character ('!' to '~'), found byte "
                        "0xff, column 4", b"@b\nACGT\n+\nIII\xff\n"),
    "empty-with-quality.fq": (":4: expected '@' at the start of record 2, found 'I'",
                              b"@b\n\n+\nIII\n"),
    "no-plus.fq": (":3: record 1: expected a sequence or '+', found '@'",
                   b"@a\nACGT\n@b\nACGT\n+\nIIII\n"),
    "no-plus-quality.fq": (":3: record 1: expected a nucleotide, found 'I', column 1",
                           b"@a\nACGT\nIIII\n"),
    "cut-in-header.fq": (":5: record 2 ('b') is cut off: the file ends at byte 18, before its '+' "
                         "line", FQ + b"@b"),
    "cut-in-sequence.fq": (":6: record 2 ('b') is cut off: the file ends at byte 21, before its "
                           "'+' line", FQ + b"@b\nAC"),
    "cut-before-plus.fq": (":6: record 2 ('b') is cut off: the file ends at byte 22, before its "
                           "'+' line", FQ + b"@b\nAC\n"),
    "cut-after-plus.fq": (":7: record 2 ('b') is cut off: the file ends at byte 24, before its "
                          "quality is complete", FQ + b"@b\nAC\n+\n"),
    "cut-in-quality.fq": (":8: record 2 ('b') is cut off: the file ends at byte 25, before its "
                          "quality is complete", FQ + b"@b\nAC\n+\nI"),
    "fasta-in-fastq.fq": (":5: record 2: expected '@', found '>': FASTA and FASTQ mixed in one "
                          "file", FQ + b">b\nAC\n"),
    "fastq-in-fasta.fa": (":3: record 1: expected '>' or a sequence, found '@': FASTA and FASTQ "
                          "mixed in one file, or a FASTQ file where FASTA is wanted",
                          b">b\nAC\n" + FQ),
    "after-record.fq": (":5: expected '@' at the start of record 2, found 'A'", FQ + b"ACGT\n"),
    "second-bom.fq": (":5: expected '@' at the start of record 2, found byte 0xef",
                      FQ + b"\xef\xbb\xbf" + FQ),
    "binary.fq": (":1: expected '>' or '@' at the start of record 1, found byte 0x7f",
                  b"\x7fELF\x02\x01\x01\0\0\0\0\0\n\0\0"),
    "late.fq": (":42: record 11: expected a nucleotide, found '@', column 3",
                FQ * 10 + b"@x\nAC@T\n+\nIIII\n" + FQ * 5),
}

os.chdir(os.path.dirname(os.path.abspath(sys.argv[0])))
with open("EXPECT", "w") as out:
    for name, (n, data) in GOOD.items():
        open("good-" + name, "wb").write(data)
        out.write("good-%s\t%d\t\n" % (name, n))
    for name, (message, data) in BAD.items():
        open("bad-" + name, "wb").write(data)
        out.write("bad-%s\t0\t%s\n" % (name, message))
