/* diff.h - the parts of `roar diff`: jobs, sessions, content, collections.
 *
 * Each part appends its whole output, text or JSON, to the text of the view, and sets
 * `differs` when it found a difference. */
#ifndef ROAR_DIFF_H
#define ROAR_DIFF_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "compare/compare.h"
#include "query/job_diff.h"
#include "query/presence.h"
#include "store/store_collection.h"

struct pool;
struct store_job;
struct store_session;
struct target;
struct view;

struct diff {
	struct view *view;
	struct compare_options compare;
	struct presence_look look;
	bool all; /* complete lists, incidental differences too */
	bool json;
	bool no_content; /* files are compared by hash only */
	bool differs;
};

/* ---- diff_content.c: the content of recorded files ---- */

struct diff_content {
	const char *why_not; /* NULL: it was compared */
	struct compare_result result;
};

/* Compares two recorded contents where both are still on disk or kept. */
int diff_content_compare(struct diff *d, const struct store_file *a,
			 const struct store_file *b, struct diff_content *ret,
			 struct roar_error *err);

/* The same for artifacts that were named by a path or hash. */
int diff_content_artifacts(struct diff *d, const struct target *a,
			   const struct target *b, struct diff_content *ret,
			   struct roar_error *err);

void diff_content_text(struct diff *d, const struct diff_content *content);
void diff_content_json(struct json *j, const struct diff_content *content);

/* ---- diff_report.c: two jobs ---- */

struct diff_report {
	const struct store_job *job[2];
	struct job_diff diff;
	struct diff_content *contents; /* of each item; only of outputs */
	struct str code; /* unified diff, at most 64 KiB */
	size_t n_differences; /* without outputs of equal values */
};

int diff_report_make(struct diff *d, const struct store_job *a,
		     const struct store_job *b, struct diff_report *ret,
		     struct roar_error *err);
void diff_report_release(struct diff_report *r);
void diff_report_text(struct diff *d, const struct diff_report *r);
void diff_report_json(struct diff *d, const struct diff_report *r,
		      struct json *j);

/* diff_code.c: fills in r->code, the changes of the code files that differ; empty when git
 * cannot tell. */
int diff_code(struct diff_report *r, struct pool *pool);

/* "@2.1", in another session "@2.1 of session 1234abcd". */
void diff_job_name(struct diff *d, const struct store_job *job,
		   struct str *out);

/* ---- diff_sessions.c, diff_artifacts.c ---- */

int diff_sessions(struct diff *d, const struct store_session *a,
		  const struct store_session *b, struct roar_error *err);
int diff_jobs(struct diff *d, const struct store_job *a,
	      const struct store_job *b, struct roar_error *err);
int diff_artifacts(struct diff *d, const struct target *a,
		   const struct target *b, struct roar_error *err);
int diff_collections(struct diff *d, const struct store_collection *a,
		     const struct store_collection *b, struct roar_error *err);

/* Two files that need not be in the record. */
int diff_paths(struct diff *d, const char *a, const char *b,
	       struct roar_error *err);

#endif
