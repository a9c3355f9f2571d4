/* profile_json.h - the profile of a sample as JSON */
#ifndef KH_CMD_PROFILE_JSON_H
#define KH_CMD_PROFILE_JSON_H

#include <jansson.h>
#include "run/profile.h"

/* NULL: no memory. */
json_t *kh_profile_json(const kh_profile *p);
int kh_profile_json_text(const kh_profile *p, kh_buf *b, kh_err *err);

#endif
