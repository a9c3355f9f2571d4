/* fuzz.h - what fuzz targets share: the entry point, and what must hold of any input */
#ifndef KH_FUZZ_H
#define KH_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(what) \
	do \
		if (!(what)) { \
			fprintf(stderr, "line %d: %s\n", __LINE__, #what); \
			abort(); \
		} \
	while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
