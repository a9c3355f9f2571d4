#include <config.h>
#include "base/cgroup.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct groups {
	const char *root, *controller;
	kh_cgroup_fn *look;
	void *arg;
};

/* Looks at the group and at all above it, up to where they are mounted. */
static void look_up(const struct groups *g, int version, const char *mount, const char *group)
{
	char folder[PATH_MAX];
	const int n = snprintf(folder, sizeof folder, "%s%s%s", g->root, mount, group);
	const size_t top = strlen(g->root) + strlen(mount);

	if (n < 0 || n >= (int)sizeof folder)
		return;
	for (;;) {
		char *slash = strrchr(folder, '/');

		g->look(folder, version, g->arg);
		if (strlen(folder) <= top || slash < folder + top)
			return;
		*slash = 0;
	}
}

/* Is the controller one of a list between commas? */
static bool is_listed(const char *list, const char *controller)
{
	const size_t n = strlen(controller);

	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, controller, n) == 0 && (p[n] == ',' || p[n] == 0))
			return true;
	}
	return false;
}

/* A line of /proc/self/cgroup: "0::/path" of version 2, "N:cpu,cpuacct:/path" of version 1, whose
 * folder is called as the list, or as the controller alone. */
static void look_at_line(const struct groups *g, char *line)
{
	char mount[PATH_MAX];
	char *list = strchr(line, ':');
	char *group = list ? strchr(list + 1, ':') : NULL;

	if (!group)
		return;
	group[strcspn(group, "\n")] = 0;
	*group++ = 0;
	list++;
	if (*list == 0) {
		look_up(g, 2, "/sys/fs/cgroup", group);
		/* beside groups of version 1 */
		look_up(g, 2, "/sys/fs/cgroup/unified", group);
	} else if (is_listed(list, g->controller)) {
		const char *name[] = { g->controller, list };

		for (int i = 0; i < 1 + (strcmp(name[0], name[1]) != 0); i++)
			if (snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", name[i]) <
			    (int)sizeof mount)
				look_up(g, 1, mount, group);
	}
}

void kh_cgroups(const char *root, const char *controller, kh_cgroup_fn *look, void *arg)
{
	const struct groups g = { root, controller, look, arg };
	char path[PATH_MAX], line[PATH_MAX + 256];
	FILE *f;

	if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path)
		return;
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		look_at_line(&g, line);
	if (f)
		fclose(f);
}
