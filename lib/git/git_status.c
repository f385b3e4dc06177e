/* git_status.c - see git_status.h */
#include "git/git_status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "git/git_child.h"
#include "git/git_index.h"

enum {
	CHANGES_MAX = 200 * 1000, /* kept; more are counted only */
	RECORD_MAX_BYTES = GIT_PATH_MAX + 1024,
};

void git_status_init(struct git_status *status, const char *own)
{
	*status = (struct git_status){
		.pool = POOL_INIT,
		.ignored_dirs = MAP_INIT,
		.mixed_dirs = MAP_INIT,
		.record = STR_INIT,
		.own = own,
	};
}

void git_status_release(struct git_status *status)
{
	free(status->changes);
	map_release(&status->ignored_dirs);
	map_release(&status->mixed_dirs);
	str_release(&status->record);
	pool_release(&status->pool);
	*status = (struct git_status){ 0 };
}

bool git_path_under(const char *path, size_t len, const char *dir)
{
	size_t n = dir ? strlen(dir) : 0;

	return dir && len >= n && memcmp(path, dir, n) == 0 &&
	       (len == n || path[n] == '/');
}

static int add_change(struct git_status *s, struct git_change change)
{
	struct git_change *slot;

	if (change.untracked)
		s->n_untracked++;
	else
		s->n_modified++;
	if (s->n_changes >= CHANGES_MAX) {
		s->overflow = true;
		return 0;
	}
	change.path = pool_dup(&s->pool, change.path, change.len);
	slot = VEC_PUSH(s->changes, s->n_changes, s->cap);
	if (!change.path || !slot)
		return -ENOMEM;
	*slot = change;
	return 0;
}

/* An untracked directory is listed only when it is a repository of its own. */
static int take_untracked(struct git_status *s, const char *path, size_t len)
{
	bool nested = path[len - 1] == '/';

	return add_change(s, (struct git_change){
				     .path = path,
				     .len = (uint32_t)(len - nested),
				     .untracked = true,
				     .in_tree = true,
				     .submodule = nested,
			     });
}

static int add_dir(struct git_status *s, struct map *dirs, const char *path,
		   size_t len)
{
	char *dir;

	if (map_get(dirs, path, len))
		return 0;
	if (dirs->count >= CHANGES_MAX) {
		s->overflow = true;
		return 0;
	}
	dir = pool_dup(&s->pool, path, len);
	return dir ? map_set(dirs, dir, len, dir) : -ENOMEM;
}

/* Ignored directories are those that git does not walk, and neither do we.  Of an
 * ignored file only the directory matters, if it is not the root. */
static int take_ignored(struct git_status *s, const char *path, size_t len)
{
	const char *slash;

	if (path[len - 1] == '/')
		return add_dir(s, &s->ignored_dirs, path, len - 1);
	slash = memrchr(path, '/', len);
	if (!slash)
		return 0;
	return add_dir(s, &s->mixed_dirs, path, (size_t)(slash - path));
}

/* `text` is "1 XY sub ... path" with `n_fields` words in front of the path. */
static int take_tracked(struct git_status *s, const char *text, size_t len,
			int n_fields)
{
	const char *path = text;
	const char *end = text + len;

	if (len < 10 || text[1] != ' ' || text[4] != ' ')
		return -EBADMSG;
	for (int i = 0; i < n_fields; i++) {
		path = memchr(path, ' ', (size_t)(end - path));
		if (!path)
			return -EBADMSG;
		path++;
	}
	if (path == end)
		return -EBADMSG;
	if (git_path_under(path, (size_t)(end - path), s->own))
		return 0;
	return add_change(s,
			  (struct git_change){
				  .path = path,
				  .len = (uint32_t)(end - path),
				  .in_tree = text[0] == 'u' || text[3] != '.',
				  .deleted = text[3] == 'D' || text[2] == 'D',
				  .submodule = text[5] == 'S',
			  });
}

static int take_record(struct git_status *s, const char *text, size_t len)
{
	if (s->skip_next) {
		s->skip_next = false;
		return 0;
	}
	if (len < 3 || text[1] != ' ')
		return -EBADMSG;
	switch (text[0]) {
	case '1':
		return take_tracked(s, text, len, 8);
	case '2':
		s->skip_next = true;
		return take_tracked(s, text, len, 9);
	case 'u':
		return take_tracked(s, text, len, 10);
	case '?':
		if (git_path_under(text + 2, len - 2, s->own))
			return 0;
		return take_untracked(s, text + 2, len - 2);
	case '!':
		return take_ignored(s, text + 2, len - 2);
	case '#':
		return 0;
	default:
		return -EBADMSG;
	}
}

int git_status_feed(void *status, const char *data, size_t len)
{
	struct git_status *s = status;

	while (len) {
		const char *nul = memchr(data, '\0', len);
		size_t n = nul ? (size_t)(nul - data) : len;
		int r = 0;

		if (n > RECORD_MAX_BYTES - s->record.len)
			return -EBADMSG;
		str_add(&s->record, data, n);
		if (str_error(&s->record) < 0)
			return -ENOMEM;
		if (!nul)
			break;
		r = take_record(s, str_cstr(&s->record), s->record.len);
		if (r < 0)
			return r;
		str_clear(&s->record);
		data += n + 1;
		len -= n + 1;
	}
	return 0;
}

int git_status_read(struct git_status *status, const struct git_runner *runner,
		    struct str *errors)
{
	const struct git_command command = {
		.args = { "status", "--porcelain=v2", "-z", "--no-renames",
			  "--untracked-files=all", "--ignored=matching",
			  "--ignore-submodules=dirty", NULL },
		.take = git_status_feed,
		.ctx = status,
	};
	int r = git_run(runner, &command, errors);

	if (r == 0 && (status->record.len || status->skip_next))
		return -EBADMSG; /* ended in the middle of a record */
	return r;
}

/* The paths that `git check-ignore -z` names; they come NUL-ended. */
struct answer {
	struct git_status *status;
	struct str path;
};

static int take_answer(void *ctx, const char *data, size_t len)
{
	struct answer *answer = ctx;
	struct git_status *s = answer->status;

	for (size_t i = 0; i < len; i++) {
		int r;

		if (data[i]) {
			if (answer->path.len >= GIT_PATH_MAX)
				return -EBADMSG;
			str_addc(&answer->path, data[i]);
			continue;
		}
		if (str_error(&answer->path) < 0)
			return -ENOMEM;
		r = add_dir(s, &s->ignored_dirs, str_cstr(&answer->path),
			    answer->path.len);
		if (r < 0)
			return r;
		str_clear(&answer->path);
	}
	return 0;
}

int git_status_find_ignored(struct git_status *status,
			    const struct git_runner *runner)
{
	struct answer answer = { .status = status, .path = STR_INIT };
	CLEANUP(str_release) struct str input = STR_INIT;
	struct git_command command = {
		.args = { "check-ignore", "--no-index", "-z", "--stdin", NULL },
		.take = take_answer,
		.ctx = &answer,
	};
	const char *dir;
	size_t pos = 0;
	int r;

	while ((dir = map_next(&status->mixed_dirs, &pos)))
		str_add(&input, dir, strlen(dir) + 1);
	if (str_error(&input) < 0)
		return -ENOMEM;
	if (!input.len)
		return 0;
	command.input = input.data;
	command.input_len = input.len;
	r = git_run(runner, &command, NULL);
	str_release(&answer.path);
	return r == 1 ? 0 : r; /* 1: none of them is ignored */
}
