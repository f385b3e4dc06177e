/* gaps.c - reasons why the record is incomplete.
 *
 * There are few: a list searched from its start will do.  One slot beyond the
 * last entry is always allocated, so that "memory ran out" can be remembered
 * when it has. */
#include "lineage/fold_internal.h"

#include <string.h>

#include "base/vec.h"

enum {
	DETAILS_MAX = 64, /* different details kept per code */
	DETAIL_LEN_MAX = 1024,
	CODES_END = 64, /* larger codes are invalid */
};

/* The entry for that reason.  When its code has enough details, the entry without
 * detail counts all others. */
static struct lineage_gap *find(struct fold *fold, int code, const char *detail,
				size_t len, size_t *ret_details)
{
	struct lineage_gap *empty = NULL;
	size_t n = 0;

	for (size_t i = 0; i < fold->n_gaps; i++) {
		struct lineage_gap *gap = &fold->gaps[i];

		if (gap->code != code)
			continue;
		n++;
		if (!gap->detail[0])
			empty = gap;
		if (strncmp(gap->detail, detail, len) == 0 && !gap->detail[len])
			return gap;
	}
	*ret_details = n;
	return n >= DETAILS_MAX ? empty : NULL;
}

static struct lineage_gap *find_code(struct fold *fold, int code)
{
	for (size_t i = 0; i < fold->n_gaps; i++)
		if (fold->gaps[i].code == code)
			return &fold->gaps[i];
	return NULL;
}

/* Takes the slot that was kept free for this. */
static void out_of_memory(struct fold *fold)
{
	struct lineage_gap *gap = find_code(fold, EVENT_GAP_MEMORY);

	if (!gap && fold->n_gaps < fold->cap_gaps) {
		gap = &fold->gaps[fold->n_gaps++];
		*gap = (struct lineage_gap){ EVENT_GAP_MEMORY, "", 0 };
	}
	if (gap && gap->count < UINT32_MAX)
		gap->count++;
}

static struct lineage_gap *add(struct fold *fold, int code, const char *detail,
			       size_t len)
{
	const char *text = "";

	if (vec_reserve(&fold->gaps, &fold->cap_gaps, fold->n_gaps + 2,
			sizeof(*fold->gaps)) < 0)
		return NULL;
	if (len)
		text = pool_dup(&fold->text, detail, len);
	if (!text)
		return NULL;
	fold->gaps[fold->n_gaps] = (struct lineage_gap){ code, text, 0 };
	return &fold->gaps[fold->n_gaps++];
}

void fold_add_gap(struct fold *fold, int code, const char *detail)
{
	size_t len = detail ? strnlen(detail, DETAIL_LEN_MAX) : 0;
	struct lineage_gap *gap;
	size_t n_details = 0;

	if (!len)
		detail = "";
	if (code <= 0 || code >= CODES_END)
		code = EVENT_GAP_LOST;
	gap = find(fold, code, detail, len, &n_details);
	if (!gap)
		gap = add(fold, code, detail,
			  n_details < DETAILS_MAX ? len : 0);
	if (!gap)
		out_of_memory(fold);
	else if (gap->count < UINT32_MAX)
		gap->count++;
}
