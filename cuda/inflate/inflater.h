/* inflater.h - gzip files inflated by GPUs, for the host (io/inflater.h) */
#ifndef KH_CUDA_INFLATE_INFLATER_H
#define KH_CUDA_INFLATE_INFLATER_H

#include "classify/backend.h"

/* Takes no memory before the first file is opened. */
int kh_cuda_inflater_open_with(kh_inflater **z, const kh_devices *on, size_t slot, kh_err *err);
/* With slots of the size that a device has room for. */
int kh_cuda_inflater_open(kh_inflater **z, const kh_devices *on, kh_err *err);
void kh_cuda_inflater_close(kh_inflater *z);

extern const kh_inflater_functions kh_cuda_inflater;

#endif
