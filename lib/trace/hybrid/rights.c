/* rights.c - may a process open this file, by owner and mode?
 *
 * For processes that have other privileges than we and do not log results: the kernel's
 * rules for owner, group, others and the capabilities that override them, with the
 * identity in /proc/PID/status.  Access lists are not examined. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "base/str.h"
#include "trace/hybrid/hybrid_internal.h"

enum { DAC_OVERRIDE = 1 << 1, DAC_READ_SEARCH = 1 << 2 };

struct identity {
	unsigned uid; /* for file accesses */
	unsigned gid;
	uint64_t capabilities;
	const char *groups; /* the rest of that line */
	struct str uid_map; /* the ids that its user namespace maps */
	struct str gid_map;
	bool ours; /* it is our own namespace */
};

static void release_identity(struct identity *id)
{
	str_release(&id->uid_map);
	str_release(&id->gid_map);
}

static bool is_same_namespace(pid_t tid)
{
	struct stat ours, theirs;

	return stat("/proc/self/ns/user", &ours) == 0 &&
	       stat(proc_path(tid, "ns/user").text, &theirs) == 0 &&
	       stat_same_file(&ours, &theirs);
}

/* Is an owner, as we see it, mapped in a user namespace?  The second column is also as
 * we see it, but in our own namespace that is the first.  There an unmapped owner looks
 * like `nobody`, and so does the user nobody itself. */
static bool is_known(const struct str *map, unsigned owner, bool ours)
{
	enum { NOBODY = 65534 };
	const char *line = str_cstr(map);
	unsigned inside, outside, n;

	while (line && sscanf(line, "%u %u %u", &inside, &outside, &n) == 3) {
		unsigned first = ours ? inside : outside;

		if (n == UINT32_MAX)
			return true;
		if (owner >= first && owner - first < n)
			return !ours || owner != NOBODY;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return false;
}

/* Capabilities of a user namespace do not cover files whose owner it does not map. */
static bool overrides(const struct identity *id, const struct stat *st,
		      unsigned want)
{
	uint64_t enough = DAC_OVERRIDE | (want & 2 ? 0 : DAC_READ_SEARCH);

	return (id->capabilities & enough) &&
	       is_known(&id->uid_map, st->st_uid, id->ours) &&
	       is_known(&id->gid_map, st->st_gid, id->ours);
}

/* The n-th number after a key. */
static unsigned field(const char *text, const char *key, int n)
{
	const char *p = strstr(text, key);
	unsigned long value = 0;
	char *end;

	if (!p)
		return ~0U;
	for (p += strlen(key); n >= 0; n--, p = end)
		value = strtoul(p, &end, 10);
	return (unsigned)value;
}

static bool is_in_group(const struct identity *id, gid_t gid)
{
	const char *p = id->groups;
	char *end;

	if (id->gid == gid)
		return true;
	for (; p && *p && *p != '\n'; p = end) {
		unsigned long g = strtoul(p, &end, 10);

		if (end == p)
			break;
		if (g == gid)
			return true;
	}
	return false;
}

static bool grants(const struct identity *id, const struct stat *st,
		   unsigned want)
{
	unsigned mode = st->st_mode & 07;

	if (overrides(id, st, want))
		return true;
	if (st->st_uid == id->uid)
		mode = st->st_mode >> 6 & 07;
	else if (is_in_group(id, st->st_gid))
		mode = st->st_mode >> 3 & 07;
	return (mode & want) == want;
}

/* Every directory on the way must be searchable. */
static bool can_reach(const struct identity *id, const char *path)
{
	CLEANUP(freep) char *dir = strdup(path);
	struct stat st;
	char *slash;

	while (dir && (slash = strrchr(dir, '/')) && slash != dir) {
		*slash = '\0';
		if (stat(dir, &st) < 0 || !grants(id, &st, 1))
			return false;
	}
	return dir;
}

bool rights_allow(pid_t tid, const char *path, const struct stat *st,
		  unsigned want)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(release_identity) struct identity id = { 0 };

	if (fd_read_file(AT_FDCWD, proc_path(tid, "status").text, 65536,
			 &text) < 0)
		return true; /* it has ended: a refusal cannot be proven */
	id = (struct identity){
		.uid = field(str_cstr(&text), "\nUid:", 3),
		.gid = field(text.data, "\nGid:", 3),
		.groups = strstr(text.data, "\nGroups:"),
		.ours = is_same_namespace(tid),
	};
	(void)fd_read_file(AT_FDCWD, proc_path(tid, "uid_map").text, 65536,
			   &id.uid_map);
	(void)fd_read_file(AT_FDCWD, proc_path(tid, "gid_map").text, 65536,
			   &id.gid_map);
	id.groups = id.groups ? id.groups + 8 : NULL;
	if (strstr(text.data, "\nCapEff:"))
		id.capabilities = strtoull(strstr(text.data, "\nCapEff:") + 8,
					   NULL, 16);
	return grants(&id, st, want) && can_reach(&id, path);
}

/* Is a number below the limit free?  A lowered limit leaves descriptors above it open.
 * Not worth reading a long list. */
static bool has_free_number(pid_t tid, rlim_t limit)
{
	enum { LONG = 4096 };
	CLEANUP(closedirp) DIR *dir = NULL;
	rlim_t used = 0;
	int fd;

	if (limit > LONG)
		return false;
	dir = opendir(proc_path(tid, "fd").text);
	while ((fd = proc_next(dir)) >= 0)
		used += (rlim_t)fd < limit;
	return dir && used < limit;
}

/* The directory of descriptors has their number as its size (since Linux 6.2), and
 * that of threads a link for each: other threads may take what is free. */
bool rights_has_room(pid_t tid)
{
	struct rlimit limit;
	struct stat st;

	if (stat(proc_path(tid, "task").text, &st) < 0 || st.st_nlink != 3)
		return false;
	if (stat(proc_path(tid, "fd").text, &st) < 0 ||
	    prlimit(tid, RLIMIT_NOFILE, NULL, &limit) < 0)
		return false;
	return (st.st_size > 0 && (rlim_t)st.st_size < limit.rlim_cur) ||
	       has_free_number(tid, limit.rlim_cur);
}
