/* show.h - the parts of `roar show`: a session, a job, an artifact. */
#ifndef ROAR_SHOW_H
#define ROAR_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct show_checkpoint;
struct store_artifact;
struct store_job;
struct store_session;
struct view;

struct show_options {
	bool all; /* complete lists, however long */
	bool json;
	bool diff; /* of a job: nothing but the uncommitted changes that it ran */
	bool processes; /* of a job: the tree with the files of each */
};

/* Rows of one list that are shown without --all. */
enum { SHOW_ROWS = 40 };

/* Each appends the whole output, text or JSON, to v->out.  `session` is NULL if none is
 * active. */
int show_session(struct view *v, const struct store_session *session,
		 const struct show_options *o, struct roar_error *err);
int show_job(struct view *v, const struct store_job *job,
	     const struct show_options *o, struct roar_error *err);

/* `path` is the path that the user gave; NULL: it was named by a hash.  The file may belong
 * to a checkpoint, which is then shown too. */
int show_artifact(struct view *v, const struct store_artifact *a,
		  const char *path, const struct show_checkpoint *checkpoint,
		  const struct show_options *o, struct roar_error *err);

/* A checkpoint by itself; it was found. */
int show_checkpoint(struct view *v, const struct show_checkpoint *c,
		    const struct show_options *o);

/* "... and 12 more (--all)" when a list was cut; nothing otherwise. */
void show_more(struct view *v, uint64_t n, uint64_t shown);

#endif
