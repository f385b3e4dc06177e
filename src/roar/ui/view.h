/* view.h - shared by the commands that read or maintain the record.
 *
 * A view has the project, its store, the active session, the terminal and the output text.
 * A command opens a view, appends to `out`, and prints it at the end, so that a failure
 * prints one sentence instead of half a table.
 *
 * Everything read is in the view's pool until view_close().  A view belongs to one thread.
 * Functions that return an exit status say so; 0 is success. */
#ifndef ROAR_VIEW_H
#define ROAR_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/pool.h"
#include "base/str.h"
#include "cli/cli.h"
#include "project/project.h"
#include "query/query.h"
#include "store/store.h"
#include "store/store_label.h"

enum {
	VIEW_HASH_DIGITS = 12, /* of a content hash in a table */
	VIEW_PIPE_WIDTH = 1 << 24, /* not a terminal: nothing is cut */
};

struct view {
	struct project project;
	struct store *store;
	struct pool pool;
	struct term term; /* of stdout */
	size_t width; /* columns a line may have */
	struct str out; /* the product */
	bool has_session;
	struct store_session session; /* the active one, if there is one */
	struct query query; /* of store, into pool */
	struct store_session *sessions; /* all; read by view_session_uid() */
	size_t n_sessions;
	/* id -> document, of all that have labels; read by view_labels.c */
	struct map labels[LABEL_ENTITY_END];
	bool has_labels[LABEL_ENTITY_END];
};

#define VIEW_INIT ((struct view){ .project = { .dirfd = -1 } })

/* Finds the project, opens its store (with these store flags) and finds the active session.
 * Returns an exit status, after printing the reason of a failure. */
int view_open(struct view *v, unsigned store_flags);
void view_close(struct view *v);

/* Prints the message of a failed call: that in `err`, or the text of errno `-r`.  Returns
 * the exit status 1. */
int view_fail(int r, const struct roar_error *err);

/* Prints `out`.  Returns an exit status. */
int view_print(struct view *v);

/* ---- words and cells; each appends to `out` ---- */

void view_step_number(struct str *out, bool is_build,
		      int64_t step); /* @2, @B1 */
void view_step(struct str *out, const struct store_job *job);

/* The same; for a session other than the active one, "@2 of session 1234abcd". */
void view_step_full(struct view *v, struct str *out,
		    const struct store_job *job);
const char *view_step_ref(struct view *v, const struct store_job *job);

/* The session's UID, NULL when there is none. */
const char *view_session_uid(struct view *v, int64_t session_id);

/* "OK", "FAIL", "INT", or "KEPT" for a restored one (variant_is_restored()). */
const char *view_outcome(const struct store_job *job);

/* The same, followed by `*` if the record is incomplete. */
void view_status(struct str *out, const struct store_job *job);
enum color view_status_color(const struct store_job *job);

/* The first digits of the content's BLAKE3, "-" when it was not identified. */
void view_hash(struct str *out, const struct digests *d);

/* A path as the user would type it here, safe to print. */
void view_path(struct view *v, struct str *out, const char *path);

/* At most `width` columns of any text, however long it is. */
void view_cut(struct str *out, const char *text, size_t width);

/* Columns of the text from `start` on, not counting colours. */
size_t view_columns(const struct str *out, size_t start);

/* Pads with blanks until the text since `start` has `width` columns. */
void view_pad(struct str *out, size_t start, size_t width);

/* `text` in that colour, padded to `width` columns. */
void view_cell(struct view *v, enum color color, const char *text,
	       size_t width);

/* The same; if `text` has failed for lack of memory, so does the whole output. */
void view_cell_str(struct view *v, enum color color, const struct str *text,
		   size_t width);

/* "  Label:     ", padded so that the values of a block are aligned. */
void view_label(struct view *v, const char *label);

/* ---- view_json.c: common parts of JSON output ---- */

void view_json_time(struct json *j, const char *key, int64_t time_ns);
void view_json_seconds(struct json *j, const char *key, int64_t duration_ns);
void view_json_text(struct json *j, const char *key, const char *text);
void view_json_int(struct json *j, const char *key, int64_t value);
void view_json_count(struct json *j, const char *key,
		     int64_t n); /* negative: null */
void view_json_bool(struct json *j, const char *key, bool value);
void view_json_tri(struct json *j, const char *key,
		   enum tri value); /* or null */

/* {"blake3": "...", ...}, null when nothing is known. */
void view_json_digests(struct json *j, const char *key,
		       const struct digests *d);

/* {"uid", "created_at", "closed_at", ...} under `key`; null without session. */
void view_json_session(struct view *v, struct json *j, const char *key,
		       const struct store_session *session);

/* The fields of a job in a row of the table; the caller opens and closes the object and may
 * add more. */
void view_json_job(struct view *v, struct json *j, const struct store_job *job);

/* {"job_uid", "step_ref"} of a job under `key`; null without a job. */
void view_json_job_ref(struct view *v, struct json *j, const char *key,
		       const struct store_job *job);

/* "ok", "failed", "interrupted" or "restored"; "complete" or "incomplete". */
const char *view_status_word(const struct store_job *job);
const char *view_verdict_word(const struct store_job *job);

/* "input", "output", ...; "regular", "symlink", ... */
const char *view_role_word(unsigned role);
const char *view_ftype_word(unsigned ftype);

/* Whose digest the content has: "roar", or "writer" for that which the process that wrote
 * the file reported; NULL without one. */
const char *view_digest_source(const struct store_file *file);

#endif
