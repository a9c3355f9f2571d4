/*
 * make_a2t.c - makes an accession2taxid table of any length, like those of NCBI's nucl_wgs
 *
 *	make_a2t ROWS            the table, to standard output: mean it for a FIFO
 *	make_a2t ROWS EVERY      accession.version and taxid of each EVERY-th row, as a
 *	                         table of two columns
 *
 * Row i is a function of i alone: the second form says what the first will hold.  The
 * taxids are 2 ... 999983.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *put(char *p, uint64_t x, int digits)
{
	char text[20];
	int n = 0;

	do
		text[n++] = (char)('0' + x % 10);
	while ((x /= 10) || n < digits);
	while (n)
		*p++ = text[--n];
	return p;
}

/* Four letters, a project's "01" and a number of six digits. */
static char *accession(char *p, uint64_t i)
{
	uint64_t project = i / 1000;

	for (int j = 0; j < 4; j++, project /= 26)
		*p++ = (char)('A' + project % 26);
	p = put(p, 1, 2);
	return put(p, i % 1000 + 1, 6);
}

static uint64_t taxid(uint64_t i)
{
	return 2 + (i / 1000 * UINT64_C(0x9e3779b97f4a7c15) >> 20) % 999982;
}

static char *row(char *p, uint64_t i)
{
	char *from = p;

	p = accession(p, i);
	*p++ = '\t';
	memcpy(p, from, (size_t)(p - from - 1));
	p += p - from - 1;
	*p++ = '.';
	*p++ = (char)('1' + i % 3);
	*p++ = '\t';
	p = put(p, taxid(i), 1);
	*p++ = '\t';
	p = put(p, i % 5 ? 0 : 100000000 + i, 1);
	*p++ = '\n';
	return p;
}

int main(int argc, char **argv)
{
	static char buf[1 << 18];
	uint64_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t every = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	char *p = buf;

	if (argc < 2 || argc > 3 || (argc == 3 && !every))
		return fputs("usage: make_a2t ROWS [EVERY]\n", stderr), 2;
	if (!every)
		p += sprintf(p, "accession\taccession.version\ttaxid\tgi\n");
	for (uint64_t i = 0; i < rows; i += every ? every : 1) {
		if (every) {
			p = accession(p, i);
			p += sprintf(p, ".%d\t%" PRIu64 "\n", (int)(i % 3) + 1, taxid(i));
		} else {
			p = row(p, i);
		}
		if (p - buf < (ptrdiff_t)sizeof buf - 128)
			continue;
		if (fwrite(buf, 1, (size_t)(p - buf), stdout) != (size_t)(p - buf))
			return perror("make_a2t"), 1;
		p = buf;
	}
	if (fwrite(buf, 1, (size_t)(p - buf), stdout) != (size_t)(p - buf) ||
	    fflush(stdout))
		return perror("make_a2t"), 1;
	return 0;
}
