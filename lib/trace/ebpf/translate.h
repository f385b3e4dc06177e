/* translate.h - makes events from records of the kernel side.
 *
 * Records come late: the process has continued.  What the kernel knew at the time is in
 * the record.  Other facts (names, renamed files, the loader of a program) are examined
 * now.  Where that is too late the event has less: a zero stamp with the type of the
 * file.
 *
 * A translator belongs to the tracer's thread. */
#ifndef ROAR_TRACE_EBPF_TRANSLATE_H
#define ROAR_TRACE_EBPF_TRANSLATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "event/event.h"
#include "trace/call/mount_table.h"
#include "trace/ebpf/place.h"
#include "trace/ebpf/wire.h"
#include "trace/inherited.h"

struct tracer_job;

enum { TRANSLATE_DEVS = 16 }; /* file systems distinguished */

/* Do stamps made from inodes agree with those of stat() on this file system?  Not
 * on all: btrfs and overlayfs have device numbers of their own. */
struct translate_dev {
	uint32_t dev; /* as the kernel has it; 0: empty slot */
	bool agrees;
};

struct translator {
	const struct tracer_job *job;
	pid_t root; /* the command */
	int64_t clock_ns; /* added to the kernel's time gives time since 1970 */
	struct places places;
	struct mount_table mounts; /* read at the first mount */
	struct translate_dev devs[TRANSLATE_DEVS];
	unsigned n_devs;
	struct str path; /* of the event being made */
	struct str path2;
	struct str base;
	struct event *event; /* buffer for one */
	struct wire_record script; /* the last one that was executed */

	/* Called when processes are created and end, for the owner. */
	void (*born)(void *ctx, pid_t pid);
	void (*died)(void *ctx, pid_t pid);

	/* Is there a later record for which `look` returns true?  May be NULL. */
	bool (*ahead)(void *ctx,
		      bool (*look)(void *look_ctx, const struct wire_record *r),
		      void *look_ctx);
	void *ctx;
};

int translator_init(struct translator *t, const struct tracer_job *job);
void translator_release(struct translator *t);

/* Converts a record to events and sends them to the job. */
void translate(struct translator *t, const struct wire_record *r);

/* Reports the command and the descriptors it has inherited.  The command waits at its
 * gate; we may have closed some of them ourselves. */
void translate_start(struct translator *t, pid_t command,
		     const struct inherited *inherited);

/* Sends a gap with a detail (may be NULL). */
void translate_gap(struct translator *t, pid_t pid, enum event_gap gap,
		   const char *detail);

/* ---- shared by the translate*.c files ---- */

/* Sends an event with t->path and t->path2; `stamp` may be NULL. */
void translate_emit(struct translator *t, pid_t pid, int64_t time_ns,
		    enum event_kind kind, unsigned flags, int32_t aux,
		    enum event_ftype ftype, const struct stamp *stamp);

/* translate_exec.c */
void translate_exec(struct translator *t, const struct wire_record *r);

/* translate_mount.c */
void translate_mount(struct translator *t, const struct wire_record *r);
void translate_unmount(struct translator *t, const struct wire_record *r);

/* Strings of a record, as they lie in it. */
struct wire_strings {
	const char *name;
	const char *base;
	const char *name2;
	const char *base2;
};
struct wire_strings wire_strings_of(const struct wire_record *r);

/* The stamp of the file that the record describes, found at `path`. */
struct stamp translate_stamp(struct translator *t, const struct wire_record *r,
			     const char *path);

/* The same for a file that was truncated: identifies the file only.  It is at t->path. */
struct stamp translate_emptied(struct translator *t,
			       const struct wire_record *r);

/* Is the path below a root that is not ours valid in our view?  Only if it leads to the
 * same file. */
bool translate_is_visible(const struct wire_record *r, const char *path);

/* Do the names of the record have no meaning in our view?  Then sends a gap. */
bool translate_names_are_foreign(struct translator *t,
				 const struct wire_record *r);

/* Its device, as stat() reports it where both agree. */
dev_t translate_dev_of(const struct wire_record *r);

/* translate_sums.c: adds the byte counts of a record to the job's sums; and an open, at
 * t->path, which may create a file. */
void translate_sums(struct translator *t, const struct wire_record *r);
void translate_sums_open(struct translator *t, const struct wire_record *r);

/* Are its numbers those of stat()?  Checks the first file on a file system. */
bool translate_stamps_agree(struct translator *t, const struct wire_record *r,
			    const char *path);

/* `r` mounts a file system.  A device number may have been that of another before. */
void translate_stamps_mounted(struct translator *t,
			      const struct wire_record *r);

/* Puts base and name together in `out`.  0, or negative (a gap was sent). */
int translate_name(struct translator *t, const struct wire_record *r,
		   bool second, struct str *out);

#endif
