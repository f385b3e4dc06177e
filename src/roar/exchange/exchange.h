/* exchange.h - records that leave the project and records that come in, by format.
 *
 * `roar export` selects jobs and calls the function of a format; `roar import` finds the
 * format of a file and calls its function.  A new format is one row of a table
 * (in cmd/export.c and import_file.c) and a file beside
 * this one. */
#ifndef ROAR_EXCHANGE_H
#define ROAR_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct export_document;
struct target;
struct view;

struct export_request {
	struct view *view; /* store, query and pool */
	const int64_t *jobs; /* ids, in the order of the record */
	size_t n_jobs;
	const struct target
		*target; /* what was named: a session, job or content */
	int fd; /* to write to */
	const struct export_document *document; /* of export_documents.c */
	const char *key; /* file of a private key; NULL: do not sign */
};

/* Writes the jobs to `fd`.  0, or a negative errno and a message. */
typedef int export_write(const struct export_request *request,
			 struct roar_error *err);

struct export_format {
	const char *name;
	export_write *write;
	const struct export_document *document; /* for export_documents() */
};

struct import_request {
	struct view *view; /* its store can be written */
	const char *path; /* for messages; safe to print */
	int fd; /* at its start, if it can seek */
	const char *head; /* the first bytes, which were read already */
	size_t head_len;
};

/* What an import has added. */
struct import_result {
	size_t n_jobs; /* new ones */
	size_t n_known; /* left as they are */
};

struct import_format {
	const char *name;
	/* Is a file with that name and these first bytes of this format? */
	bool (*matches)(const char *path, const char *head, size_t len);
	/* Adds what the file has, all of it or nothing. */
	int (*read)(const struct import_request *request,
		    struct import_result *ret, struct roar_error *err);
};

/* The formats; each in a file of its own. */
export_write export_roar;

/* The formats of lib/export, which are documents about a set of jobs. */
export_write export_documents;
extern const struct export_document export_as_crate, export_as_cyclonedx,
	export_as_dot, export_as_dvc, export_as_dvc_lock, export_as_html,
	export_as_intoto, export_as_makefile, export_as_mermaid,
	export_as_openlineage, export_as_prov, export_as_svg;

bool import_is_roar(const char *path, const char *head, size_t len);
int import_roar(const struct import_request *request, struct import_result *ret,
		struct roar_error *err);

bool import_is_dvc(const char *path, const char *head, size_t len);
int import_dvc(const struct import_request *request, struct import_result *ret,
	       struct roar_error *err);
bool import_is_openlineage(const char *path, const char *head, size_t len);
int import_openlineage(const struct import_request *request,
		       struct import_result *ret, struct roar_error *err);

#endif
