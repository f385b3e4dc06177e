/* diff_content.c - the content of recorded files, where it still is; see diff.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "diff/diff.h"
#include "keep/keep.h"
#include "query/target.h"
#include "ui/view.h"

enum { PLACES = 16 }; /* of a content, that are tried */

/* Opens the content of a row: at its path, in .roar/objects, or at another place where
 * it was seen.  The descriptor; -ENOENT: it is gone. */
static int open_at(struct diff *d, const struct store_file *row)
{
	if (presence_check(&d->look, row) != PRESENCE_PRESENT)
		return -ENOENT;
	int fd = open(row->path,
		      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	return fd < 0 ? -ENOENT : fd;
}

static int open_content(struct diff *d, const struct store_file *row,
			struct roar_error *err)
{
	const uint8_t *hash = digests_get(&row->digests, DIGEST_BLAKE3);
	struct store_file *uses;
	size_t n;
	int fd = open_at(d, row);

	if (fd < 0 && hash)
		fd = keep_open(d->view->project.dirfd, hash);
	if (fd >= 0 || !row->artifact_id)
		return fd >= 0 ? fd : -ENOENT;
	int r = store_artifact_uses(d->view->store, &d->view->pool,
				    row->artifact_id, &uses, &n, err);

	if (r < 0)
		return r;
	for (size_t i = 0; fd < 0 && i < n && i < PLACES; i++)
		fd = open_at(d, &uses[n - 1 - i]);
	return fd >= 0 ? fd : -ENOENT;
}

/* Is a failure to open one that only leaves the content out? */
static bool is_gone(int r)
{
	return r < 0 && r != -ENOMEM;
}

int diff_content_compare(struct diff *d, const struct store_file *a,
			 const struct store_file *b, struct diff_content *ret,
			 struct roar_error *err)
{
	CLEANUP(closep) int fd_a = -1;
	CLEANUP(closep) int fd_b = -1;

	*ret = (struct diff_content){ .why_not = NULL };
	if (d->no_content) {
		ret->why_not = "not compared";
		return 0;
	}
	fd_a = open_content(d, a, err);
	fd_b = open_content(d, b, err);
	if (fd_a == -ENOMEM || fd_b == -ENOMEM)
		return -ENOMEM;
	if (is_gone(fd_a) || is_gone(fd_b)) {
		ret->why_not = !is_gone(fd_b) ? "the first content is gone" :
			       !is_gone(fd_a) ? "the second content is gone" :
						"both contents are gone";
		return 0;
	}
	struct compare_file file_a = { .fd = fd_a, .name = a->path };
	struct compare_file file_b = { .fd = fd_b, .name = b->path };

	return compare_files(&file_a, &file_b, &d->compare, &ret->result, err);
}

/* A use of the artifact: at its path, or the newest. */
static int find_row(struct diff *d, const struct target *t,
		    struct store_file *ret, struct roar_error *err)
{
	struct store_file *uses;
	size_t n;
	int r = store_artifact_uses(d->view->store, &d->view->pool,
				    t->artifact.id, &uses, &n, err);

	if (r < 0)
		return r;
	*ret = (struct store_file){ .path = t->artifact.first_path,
				    .artifact_id = t->artifact.id,
				    .digests = t->artifact.digests };
	for (size_t i = 0; i < n; i++)
		if (!t->path || strcmp(uses[i].path, t->path) == 0)
			*ret = uses[i];
	return 0;
}

int diff_content_artifacts(struct diff *d, const struct target *a,
			   const struct target *b, struct diff_content *ret,
			   struct roar_error *err)
{
	struct store_file row_a, row_b;
	int r = find_row(d, a, &row_a, err);

	if (r == 0)
		r = find_row(d, b, &row_b, err);
	if (r < 0)
		return r;
	return diff_content_compare(d, &row_a, &row_b, ret, err);
}

void diff_content_text(struct diff *d, const struct diff_content *content)
{
	struct str *out = &d->view->out;

	if (content->why_not)
		str_adds(out, content->why_not);
	else
		compare_describe(&content->result, out);
}

void diff_content_json(struct json *j, const struct diff_content *content)
{
	json_put_key(j, "content");
	if (content->why_not)
		json_put_null(j);
	else
		compare_put_json(&content->result, j);
	view_json_text(j, "content_note", content->why_not);
}
