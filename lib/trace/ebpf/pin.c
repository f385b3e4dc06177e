/* pin.c - programs that stay after their loader has ended
 *
 *	/sys/fs/bpf/roar/<build>/members, sessions, ring-0, ..., bodies	maps
 *		link-0, ...	programs that are always attached
 *		program-0, ...	programs at all system calls, with
 *		hooks		the ids of their hooks (load_watch.c)
 *
 * A directory has another name until it is complete.  A user of pins has descriptors of
 * all objects it needs: the pins may be removed meanwhile. */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "trace/ebpf/bpf.h"
#include "trace/ebpf/image.h"
#include "trace/ebpf/load_internal.h"

#define BPF_FS "/sys/fs/bpf"
#define FOLDER BPF_FS "/roar"

enum { PATH_LEN = 160, FOLDER_LEN = 128 };

static void folder_of_build(char path[FOLDER_LEN], const char *suffix)
{
	(void)snprintf(path, FOLDER_LEN, "%s/%s-%.8s%s", FOLDER,
		       ebpf_tracepoint.id, ebpf_trampoline.id, suffix);
}

static void in_folder(char path[PATH_LEN], const char *folder, const char *name)
{
	(void)snprintf(path, PATH_LEN, "%s/%s", folder, name);
}

/* Only root can create files there, so existing ones are trusted. */
static bool is_safe(const char *folder)
{
	struct stat st;

	return stat(folder, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == 0 && !(st.st_mode & 0022);
}

static bool is_bpf_fs(void)
{
	struct statfs fs;

	return statfs(BPF_FS, &fs) == 0 && fs.f_type == BPF_FS_MAGIC;
}

/* Opens "<name>", or with a number "<name>-<number>". */
static int get(const char *folder, const char *name, int number)
{
	char path[PATH_LEN];

	in_folder(path, folder, name);
	if (number >= 0)
		(void)snprintf(path + strlen(path), PATH_LEN - strlen(path),
			       "-%d", number);
	return bpf_get(path);
}

static int get_maps(struct ebpf *e, const char *folder)
{
	e->bodies = get(folder, "bodies", -1);
	if (e->bodies < 0)
		return -ENOENT;
	for (size_t i = 0; i < EBPF_MAPS; i++) {
		int fd = get(folder, ebpf_map_names[i], -1);

		if (fd < 0)
			return -ENOENT;
		*ebpf_map_slot(e, i) = fd;
	}
	return 0;
}

static void get_links(struct ebpf *e, const char *folder)
{
	int fd = 0;

	while (e->n_links < EBPF_LINKS_MAX && fd >= 0) {
		fd = get(folder, "link", (int)e->n_links);
		if (fd >= 0)
			e->links[e->n_links++] = fd;
	}
}

/* There are none where trampolines are used. */
static int get_hooks(struct ebpf *e, const char *folder)
{
	e->hook_ids = get(folder, "hooks", -1);
	if (e->hook_ids == -ENOENT)
		return 0;
	for (int i = 0; i < EBPF_HOOKS && e->hook_ids >= 0; i++) {
		e->hook_programs[i] = get(folder, "program", i);
		if (e->hook_programs[i] < 0)
			return -ENOENT;
	}
	e->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return e->hook_ids < 0 || e->folder < 0 ? -ENOENT : 0;
}

int pin_get(struct ebpf *e)
{
	char folder[FOLDER_LEN];
	int r;

	folder_of_build(folder, "");
	if (!is_safe(FOLDER) || !is_safe(folder) || !is_bpf_fs())
		return -ENOENT;
	get_links(e, folder);
	r = get_hooks(e, folder);
	return r < 0 ? r : get_maps(e, folder);
}

bool ebpf_is_pinned(void)
{
	char folder[FOLDER_LEN];

	folder_of_build(folder, "");
	return is_safe(FOLDER) && is_safe(folder) && is_bpf_fs();
}

static int remove_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	char path[PATH_LEN + 256];
	struct dirent *entry;
	int r;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder,
			       entry->d_name);
		(void)unlink(path);
	}
	(void)closedir(dir);
	r = rmdir(folder) < 0 ? -errno : 0;
	return r;
}

/* Pins `n` of them as "<name>-0", ... */
static int pin_row(const char *folder, const char *name, const int *fds,
		   size_t n)
{
	char path[PATH_LEN];
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s-%zu", folder, name,
			       i);
		r = bpf_pin(fds[i], path);
	}
	return r;
}

static int pin_hooks(struct ebpf *e, const char *folder)
{
	CLEANUP(closep) int ids = -1;
	char path[PATH_LEN];
	int r;

	if (e->hook_programs[0] < 0)
		return 0;
	ids = bpf_array_new("roar_hooks", sizeof(__u32), EBPF_HOOKS);
	in_folder(path, folder, "hooks");
	r = ids < 0 ? ids : bpf_pin(ids, path);
	return r < 0 ? r :
		       pin_row(folder, "program", e->hook_programs, EBPF_HOOKS);
}

static int pin_all(struct ebpf *e, const char *folder)
{
	char path[PATH_LEN];
	int r;

	in_folder(path, folder, "bodies");
	r = bpf_pin(e->bodies, path);
	for (size_t i = 0; i < EBPF_MAPS && r == 0; i++) {
		in_folder(path, folder, ebpf_map_names[i]);
		r = bpf_pin(*ebpf_map_slot(e, i), path);
	}
	if (r == 0)
		r = pin_row(folder, "link", e->links, e->n_links);
	return r < 0 ? r : pin_hooks(e, folder);
}

static int make_place(struct roar_error *err)
{
	if (!is_bpf_fs() && mount("bpf", BPF_FS, "bpf", 0, "mode=0700") < 0)
		return error_set(err, -errno,
				 "cannot mount the BPF file system on %s: %s",
				 BPF_FS, strerror(errno));
	if (mkdir(FOLDER, 0700) < 0 && errno != EEXIST)
		return error_set(err, -errno, "cannot make %s: %s", FOLDER,
				 strerror(errno));
	if (!is_safe(FOLDER))
		return error_set(err, -EPERM, "%s does not belong to root",
				 FOLDER);
	return 0;
}

int ebpf_pin(struct ebpf *e, struct roar_error *err)
{
	char folder[FOLDER_LEN], making[FOLDER_LEN];
	int r = make_place(err);

	assert(!e->n_watchers && e->rings >= 0);
	if (r < 0)
		return r;
	folder_of_build(folder, "");
	folder_of_build(making, "-new"); /* no dots here */
	(void)remove_folder(making); /* left by a killed process */
	if (mkdir(making, 0700) < 0)
		return error_set(err, -errno, "cannot make %s: %s", making,
				 strerror(errno));
	r = load_await_ring(e);
	if (r == 0)
		r = load_add_rings(e, e->rings, EBPF_RINGS);
	if (r == 0)
		r = pin_all(e, making);
	/* A directory in this file system cannot replace another. */
	if (r == 0 && rename(making, folder) < 0)
		r = -errno;
	if (r < 0)
		(void)remove_folder(making);
	return r < 0 ? error_set(err, r, "cannot pin programs in %s: %s",
				 folder, strerror(-r)) :
		       0;
}

int ebpf_unpin(struct roar_error *err)
{
	DIR *dir = opendir(FOLDER);
	struct dirent *entry;
	int n = 0, r = 0;

	if (!dir)
		return errno == ENOENT ?
			       0 :
			       error_set(err, -errno, "cannot read %s: %s",
					 FOLDER, strerror(errno));
	while (r == 0 && (entry = readdir(dir))) {
		char folder[PATH_LEN + 256];

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(folder, sizeof(folder), "%s/%s", FOLDER,
			       entry->d_name);
		r = remove_folder(folder);
		n += r == 0;
	}
	(void)closedir(dir);
	(void)rmdir(FOLDER);
	return r < 0 ? error_set(err, r, "cannot remove programs in %s: %s",
				 FOLDER, strerror(-r)) :
		       n;
}
