#include <config.h>
#include "classify/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CUDA
static const kh_backend *const accelerator = &kh_backend_cuda;
#else
static const kh_backend *const accelerator = NULL;
#endif

static int parse_list(kh_choice *c, const char *list, int present, kh_err *err)
{
	for (const char *p = list; c->n < KH_DEVICES_MAX; p++) {
		char *end;

		errno = 0;
		long d = strtol(p, &end, 10);
		if (end == p || errno || (*end != ',' && *end != 0))
			return kh_fail(err, KH_EUSAGE, "'%s' is not a list of device numbers",
				       list);
		if (d < 0 || d >= present)
			return kh_fail(err, KH_ENODEV, "there is no device cuda:%ld (%d found)", d,
				       present);
		c->device[c->n++] = (int)d;
		p = end;
		if (*p == 0)
			return KH_OK;
	}
	return kh_fail(err, KH_EUSAGE, "'%s' names too many devices", list);
}

/* No device can be used: takes the CPU if the choice allows that. */
static int without_device(const char *spec, const kh_err *why, kh_err *err)
{
	const char *more = why->msg[0] ? ": " : "";

	if (strcmp(spec, "auto") != 0 && !accelerator)
		return kh_fail(err, KH_ENODEV, "this program was built without CUDA");
	if (strcmp(spec, "auto") != 0)
		return kh_fail(err, KH_ENODEV, "no CUDA device can be used here%s%s", more,
			       why->msg);
	if (accelerator)
		kh_log(KH_DEBUG, "running on the CPU, as no CUDA device can be used here%s%s", more,
		       why->msg);
	return KH_OK;
}

int kh_backend_choose(kh_choice *c, const char *spec, kh_err *err)
{
	kh_err why = { 0, "" };
	int present;

	*c = (kh_choice) { .backend = &kh_backend_cpu, .n = 1 };
	if (strcmp(spec, "cpu") == 0)
		return KH_OK;
	if (strcmp(spec, "auto") != 0 &&
	    (strncmp(spec, "cuda", 4) != 0 || (spec[4] && spec[4] != ':')))
		return kh_fail(err, KH_EUSAGE,
			       "device '%s' is not one of auto, cpu, cuda, cuda:N,...", spec);
	present = accelerator ? accelerator->n_devices(&why) : 0;
	if (present == 0)
		return without_device(spec, &why, err);
	c->backend = accelerator;
	c->n = 0;
	if (spec[0] == 'c' && spec[4] == ':')
		return parse_list(c, spec + 5, present, err);
	for (int i = 0; i < present && i < KH_DEVICES_MAX; i++)
		c->device[c->n++] = i;
	return KH_OK;
}
