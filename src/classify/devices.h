/* devices.h - which devices do the work of a command */
#ifndef KH_CLASSIFY_DEVICES_H
#define KH_CLASSIFY_DEVICES_H

#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

typedef struct kh_backend kh_backend;

/* Where index and text lie. */
enum kh_placement {
	KH_PLACE_AUTO,          /* replicated if it fits; else sharded; else on the host, but for as
				 * much as fits on each device, the index before the text */
	KH_PLACE_REPLICATE,     /* all of it on each device */
	KH_PLACE_HOST,          /* in the host's memory, read over the bus */
	KH_PLACE_HOST_LISTS,    /* the index on each device, the text in the host's memory */
	KH_PLACE_SHARD          /* a run of tiles on each, read from the memory of its owner */
};

/* A choice of --device: "auto", "cpu", "cuda" or "cuda:0,2". */
#define KH_DEVICES_MAX 64
typedef struct kh_choice {
	const kh_backend *backend;
	int device[KH_DEVICES_MAX];
	size_t n;
} kh_choice;

/* auto takes the CPU, and says so with -v, if a GPU could have been used but none is there. */
int kh_backend_choose(kh_choice *c, const char *spec, kh_err *err);

/* What a command works with. */
typedef struct kh_devices {
	kh_choice choice;
	enum kh_placement placement;
	uint64_t memory;                /* bytes of each GPU that may be taken; 0: all free */
	unsigned threads;               /* workers; 0: all CPUs */
} kh_devices;

#endif
