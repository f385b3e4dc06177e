/* foreign.h - runs that other programs have recorded.
 *
 *	foreign_dvc.c		the stages of a dvc.lock (YAML, by libyaml)
 *	foreign_openlineage.c	run events of OpenLineage, one JSON object a line or in an array
 *	foreign_record.c	such runs as jobs of the active session
 *
 * Everything here was declared by another program, not seen by roar: a job of it is
 * incomplete (EVENT_GAP_UNTRACED), and its tracer is "dvc" or "openlineage".  Input is
 * untrusted: sizes, depths and counts have limits, and texts lose their secrets before
 * they are recorded.
 *
 * A job's UID is made of what identifies the run where it comes from, so that a second
 * import finds it known. */
#ifndef ROAR_FOREIGN_FOREIGN_H
#define ROAR_FOREIGN_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "hash/digest/digest.h"

struct pool;
struct redact;
struct store;

enum {
	FOREIGN_TEXT_MAX = 64 * 1024 * 1024, /* bytes of a document */
	FOREIGN_RUNS_MAX = 100000,
	FOREIGN_FILES_MAX = 1000000, /* of all runs */
};

struct foreign_file {
	const char *path; /* absolute, or a name such as "postgres://host/table" */
	bool is_output;
	bool is_remote; /* not a file of this machine */
	int64_t size; /* bytes; -1: unknown */
	struct digests digests; /* those that the document has */
};

struct foreign_run {
	const char *id; /* unique within the program it comes from */
	const char *name;
	const char *command; /* of a shell; NULL: unknown */
	const char *cwd; /* NULL: unknown */
	const char *commit, *repository; /* NULL: unknown */
	int64_t started_ns, ended_ns; /* 0: unknown */
	int exit_code;
	struct foreign_file *files;
	size_t n_files, cap_files;
};

struct foreign_runs {
	struct foreign_run *list; /* oldest first */
	size_t n, cap;
	size_t n_files;
	const char *program; /* "dvc" */
};

#define FOREIGN_RUNS_INIT ((struct foreign_runs){ 0 })

/* Texts and names live in the pool. */
void foreign_release(struct foreign_runs *runs);

/* `dir` is the directory of the file: paths of stages are relative to it.  -EINVAL and a
 * message that says what is wrong and in which line. */
int foreign_read_dvc(struct pool *pool, const char *text, size_t len,
		     const char *dir, struct foreign_runs *ret,
		     struct roar_error *err);
int foreign_read_openlineage(struct pool *pool, const char *text, size_t len,
			     struct foreign_runs *ret, struct roar_error *err);

/* For the two readers: a new element, or NULL and an error in *err: out of memory, or
 * more than is read. */
struct foreign_run *foreign_add_run(struct foreign_runs *runs,
				    struct roar_error *err);
struct foreign_file *foreign_add_file(struct foreign_runs *runs,
				      struct foreign_run *run, const char *path,
				      bool is_output, struct roar_error *err);

/* Adds the runs that are new to the active session, all or none.  A file whose content is
 * on this machine as the document says it is (its MD5) gets the BLAKE3 of it; other content
 * is not identified.  `version` is that of roar. */
int foreign_record(struct store *s, const struct foreign_runs *runs,
		   const struct redact *redact, const char *version,
		   size_t *ret_new, size_t *ret_known, struct roar_error *err);

#endif
