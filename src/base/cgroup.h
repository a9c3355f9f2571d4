/*
 * cgroup.h - the control groups that this process is in, of both versions
 *
 * A process is in a group of version 2, or, of version 1, in one for each controller; the groups
 * above it limit it as well.  In a container the path of a group may be that of the host, whose
 * groups are not there: then only the group that is mounted can be looked at.
 */
#ifndef KH_BASE_CGROUP_H
#define KH_BASE_CGROUP_H

/* Calls look(folder, version, arg) for the groups of a controller ("cpu", "memory") and those above
 * them, innermost first.  root: what stands in front of /proc and /sys; "" but in tests. */
typedef void kh_cgroup_fn(const char *folder, int version, void *arg);
void kh_cgroups(const char *root, const char *controller, kh_cgroup_fn *look, void *arg);

#endif
