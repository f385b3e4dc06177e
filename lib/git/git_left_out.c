/* git_left_out.c - see git_left_out.h */
#include "git/git_left_out.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "base/str.h"

enum { NAME_WIDTH = 160 }; /* bytes of a path in a sentence */

static const char *const texts[GIT_REASON_END] = {
	[GIT_REASON_NONE] = "",
	[GIT_REASON_CREDENTIALS] = "credentials",
	[GIT_REASON_PACKAGES] = "installed packages",
	[GIT_REASON_LARGE] = "too large",
	[GIT_REASON_BINARY] = "not text",
	[GIT_REASON_UNREADABLE] = "unreadable",
	[GIT_REASON_SPECIAL] = "not a regular file",
	[GIT_REASON_FULL] = "the snapshot is full",
	[GIT_REASON_GONE] = "gone",
};

const char *git_reason_text(enum git_reason reason)
{
	return (unsigned)reason < GIT_REASON_END ? texts[reason] : "";
}

void git_left_outs_release(struct git_left_outs *list)
{
	for (uint32_t i = 0; i < list->n_items; i++)
		free(list->items[i].path);
	free(list->items);
	*list = (struct git_left_outs){ 0 };
}

int git_left_outs_add(struct git_left_outs *list, const char *path, size_t len,
		      enum git_reason reason)
{
	char *copy;

	if (list->n_items == GIT_LEFT_OUT_MAX) {
		list->n++;
		return 0;
	}
	if (!list->items) {
		list->items = calloc(GIT_LEFT_OUT_MAX, sizeof(*list->items));
		if (!list->items)
			return -ENOMEM;
	}
	copy = strndup(path, len);
	if (!copy)
		return -ENOMEM;
	list->items[list->n_items++] = (struct git_left_out){ copy, reason };
	list->n++;
	return 0;
}

int git_left_outs_copy(const struct git_left_outs *list,
		       struct git_left_outs *ret)
{
	assert(!ret->n);
	for (uint32_t i = 0; i < list->n_items; i++) {
		const struct git_left_out *item = &list->items[i];
		int r = git_left_outs_add(ret, item->path, strlen(item->path),
					  item->reason);

		if (r < 0) {
			git_left_outs_release(ret);
			return r;
		}
	}
	ret->n = list->n;
	return 0;
}

void git_left_outs_describe(const struct git_left_outs *list, size_t max,
			    struct str *out)
{
	size_t shown = list->n_items < max ? list->n_items : max;

	for (size_t i = 0; i < shown; i++) {
		if (i)
			str_adds(out, ", ");
		quote_printable_cut(out, list->items[i].path, NAME_WIDTH);
		str_addf(out, " (%s)", git_reason_text(list->items[i].reason));
	}
	if (list->n > shown)
		str_addf(out, "%s%zu more", shown ? " and " : "",
			 list->n - shown);
}
