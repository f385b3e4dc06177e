/* recipe_input.c - where the content of an input can be had
 *
 * In this order: the code, the recorded name, other names on this disk, the project's
 * kept objects, and the places that the content was sent to or fetched from. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "base/pool.h"
#include "event/event.h"
#include "lineage/fold.h"
#include "query/presence.h"
#include "query/query.h"
#include "reproduce/recipe.h"
#include "store/store.h"

static bool is_url(const char *path)
{
	return isalpha((unsigned char)path[0]) && strstr(path, "://");
}

/* A name that the content had here, other than the recorded one. */
static bool is_on_disk(const struct recipe_options *options,
		       const struct store_file *row)
{
	return row->ftype == EVENT_FTYPE_REGULAR && row->path[0] == '/' &&
	       presence_check(options->look, row) == PRESENCE_PRESENT;
}

/* The places of the content in all records, newest first. */
static int look_at_uses(struct query *q, const struct recipe_options *options,
			struct recipe_input *input, struct roar_error *err)
{
	const char *url = NULL;
	struct store_file *uses;
	size_t n;
	int r = store_artifact_uses(q->store, q->pool, input->row->artifact_id,
				    &uses, &n, err);

	if (r < 0)
		return r;
	for (size_t i = n; i-- && !input->from;) {
		if (is_on_disk(options, &uses[i])) {
			input->source = RECIPE_DISK;
			input->from = uses[i].path;
		} else if (!url && is_url(uses[i].path)) {
			url = uses[i].path;
		} else if (!url && is_url(uses[i].origin)) {
			url = uses[i].origin;
		}
	}
	if (input->from)
		return 0;
	if (options->is_kept &&
	    options->is_kept(options->ctx, input->row->digests.blake3)) {
		input->source = RECIPE_KEPT;
	} else if (url) {
		input->source = RECIPE_FETCH;
		input->from = url;
	}
	return 0;
}

/* Why there is no such content. */
static const char *reason(const struct recipe *r,
			  const struct recipe_options *options,
			  const struct recipe_input *input)
{
	const struct store_file *row = input->row;

	if (!row->artifact_id)
		return "its content was not identified";
	for (size_t i = 0; i < r->n_steps; i++)
		for (size_t k = 0; k < r->steps[i].n_files; k++)
			if (r->steps[i].files[k].role == LINEAGE_OUTPUT &&
			    !strcmp(r->steps[i].files[k].path, row->path) &&
			    r->steps[i].files[k].artifact_id != row->artifact_id)
				return "a step changes it in place, and its "
				       "earlier content was not kept";
	if (input->source == RECIPE_IN_PLACE ||
	    presence_check(options->look, row) == PRESENCE_CHANGED)
		return "the file has other content now, and the recorded one "
		       "was not kept";
	return "it is not on this disk, and the recorded content was not kept";
}

int recipe_input_find(const struct recipe *r, struct query *q,
		      const struct recipe_options *options,
		      struct recipe_input *input, struct roar_error *err)
{
	const struct store_file *row = input->row;
	enum presence now;

	if (row->ftype == EVENT_FTYPE_OBJECT) {
		input->source = RECIPE_REMOTE;
		return 0;
	}
	if (recipe_code_has(&r->steps[input->step], row->path)) {
		input->source = RECIPE_CODE;
		return 0;
	}
	now = presence_check(options->look, row);
	if (now == PRESENCE_PRESENT || now == PRESENCE_UNVERIFIED) {
		input->source = input->place ? RECIPE_DISK : RECIPE_IN_PLACE;
		input->from = row->path;
		return 0;
	}
	/* Nothing is put outside of the new directory. */
	if (row->artifact_id && input->place &&
	    row->ftype == EVENT_FTYPE_REGULAR) {
		int e = look_at_uses(q, options, input, err);

		if (e < 0)
			return e;
	}
	if (input->source == RECIPE_MISSING)
		input->why = reason(r, options, input);
	return 0;
}
