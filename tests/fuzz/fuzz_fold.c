/* fuzz_fold.c - arbitrary histories through the fold.
 *
 * Bytes become records: few names, few inodes and few processes, so that events
 * meet each other.  Every record passes event_check(), as a journal's would;
 * whatever they say, the facts must stay consistent. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lineage/fold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { MOUNTS_MAX = 64 };

/* What this input has mounted and not unmounted. */
static struct {
	char path[256];
	size_t len;
} mounts[MOUNTS_MAX];
static size_t n_mounts;

/* It unmounted what it had not mounted, or mounted too much: some files stay
 * covered. */
static bool stays_covered;

struct input {
	const uint8_t *data;
	size_t len;
};

static unsigned take(struct input *in)
{
	if (!in->len)
		return 0;
	in->len--;
	return *in->data++;
}

/* One of a few names at up to three levels, or some bytes of the input. */
static size_t take_path(struct input *in, char path[256])
{
	unsigned choice = take(in);
	size_t n = 0;

	if (choice < 0xf0) {
		for (unsigned i = 0; i <= (choice & 3) % 3; i++) {
			path[n++] = '/';
			path[n++] = (char)('a' + ((choice >> (2 + 2 * i)) & 3));
		}
		return n;
	}
	for (unsigned want = take(in) % 64; n < want && in->len;) {
		path[n] = (char)take(in);
		if (!path[n])
			break;
		n++;
	}
	return n;
}

static void note_mount(const char *path, size_t len)
{
	if (!len || n_mounts == MOUNTS_MAX) {
		stays_covered = true;
		return;
	}
	memcpy(mounts[n_mounts].path, path, len);
	mounts[n_mounts++].len = len;
}

static void note_unmount(const char *path, size_t len)
{
	for (size_t i = n_mounts; i--;)
		if (mounts[i].len == len &&
		    memcmp(mounts[i].path, path, len) == 0) {
			mounts[i] = mounts[--n_mounts];
			return;
		}
	stays_covered = true;
}

/* Then every file that is not gone with its file system is to be seen again.  Returns
 * the number of records. */
static size_t unmount_all(struct fold *fold)
{
	union {
		struct event ev;
		char space[1024];
	} u = { .ev = { .kind = EVENT_UNMOUNT } };
	struct fold_change change;
	size_t n = n_mounts;

	while (n_mounts) {
		n_mounts--;
		event_set_paths(&u.ev, mounts[n_mounts].path,
				mounts[n_mounts].len, "", 0);
		if (fold_add(fold, &u.ev, &change) < 0)
			abort();
	}
	return n;
}

static void add_record(struct fold *fold, struct input *in)
{
	union {
		struct event ev;
		char space[1024];
	} u = { .ev = { .kind = (uint8_t)(1 +
					  take(in) % (EVENT_KIND_END - 1)) } };
	struct event *ev = &u.ev;
	struct fold_change change;
	char path[256];
	char path2[256];
	unsigned bits = take(in);
	size_t n;
	size_t n2;

	ev->flags = (uint16_t)(bits | (take(in) & 1) << 8);
	ev->ftype = (uint8_t)(take(in) % EVENT_FTYPE_END);
	ev->pid = (int32_t)(take(in) % 8);
	ev->aux = (int32_t)take(in) - 8;
	ev->time_ns = (int64_t)take(in) * 1000000;
	ev->before.dev = 1;
	ev->before.ino = take(in) % 8;
	ev->before.size = take(in) % 4;
	ev->before.mtime_ns = (int64_t)(take(in) % 8) * 1000000;
	n = take_path(in, path);
	n2 = take_path(in, path2);
	event_set_paths(ev, path, n, path2, n2);
	if (ev->kind == EVENT_MOUNT)
		note_mount(path, n);
	if (ev->kind == EVENT_UNMOUNT)
		note_unmount(path, n);
	if (event_check(ev, ev->size) != ev->size)
		abort();
	if (fold_add(fold, ev, &change) < 0)
		abort();
	if (change.news != FOLD_NOTHING && (!change.file || !change.at))
		abort();
}

static void check_file(const struct fold *fold, struct lineage_file *file,
		       size_t n_events)
{
	static const struct stamp endings[] = { { .ino = 0 },
						{ .dev = 1, .ino = 1 } };

	/* A mount shows other files under the same path. */
	if (!stays_covered && fold_sight(fold, file) == FOLD_COVERED)
		abort();
	if (strlen(file->path) != file->path_len || file->origin == file)
		abort();
	if (file->read_order > n_events || file->write_order > n_events)
		abort();
	/* Content that is away cannot be here. */
	if (file->own && file->seen & LINEAGE_MOVED_AWAY)
		abort();
	for (size_t i = 0; i < 2; i++) {
		unsigned roles = lineage_roles(file, &endings[i]);
		unsigned both = LINEAGE_OUTPUT | LINEAGE_TEMPORARY;

		if ((roles & both) == both)
			abort();
		if (!(roles & LINEAGE_INPUT) !=
		    !(file->seen & LINEAGE_READ_PRIOR))
			abort();
	}
}

/* Edges are distinct, and their files and processes exist.  The maker of a content is one
 * per file. */
static void check_edges(const struct fold *fold, size_t n_events)
{
	enum { COMPARED = 200 };
	uint64_t left_out;
	size_t n = fold_n_edges(fold, &left_out);
	size_t n_files;
	size_t n_processes;

	(void)fold_files(fold, &n_files);
	(void)fold_processes(fold, &n_processes);
	for (size_t i = 0; i < n; i++) {
		struct lineage_edge a = fold_edge(fold, i);

		if (a.file >= n_files || a.process >= n_processes ||
		    a.order > n_events || a.kind >= LINEAGE_EDGE_END)
			abort();
		for (size_t k = 0; k < i && i < COMPARED; k++) {
			struct lineage_edge b = fold_edge(fold, k);

			if (a.kind && a.kind != LINEAGE_EDGE_REPLACED &&
			    a.kind == b.kind && a.file == b.file &&
			    (a.process == b.process ||
			     a.kind == LINEAGE_EDGE_MADE))
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	struct input in = { data, len };
	struct lineage_file *const *files;
	size_t n_events = 0;
	size_t n;

	n_mounts = 0;
	stays_covered = false;
	if (fold_new(&fold) < 0)
		abort();
	for (; in.len; n_events++)
		add_record(fold, &in);
	n_events += unmount_all(fold);
	files = fold_files(fold, &n);
	for (size_t i = 0; i < n; i++)
		check_file(fold, files[i], n_events);
	check_edges(fold, n_events);
	return 0;
}
