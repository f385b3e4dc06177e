/* hash_tree.c - see hash_tree.h */
#include "hash/hash_tree.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"
#include "hash/dir/dir_hash_scan.h"
#include "hash/hash_line.h"
#include "hash/hash_names.h"

struct trouble {
	const char *folder;
	struct hash_names *names;
};

static void note(void *ctx, const char *path, int error)
{
	const struct trouble *t = ctx;
	CLEANUP(str_release) struct str full = STR_INIT;
	const char *copy;

	str_adds(&full, t->folder);
	if (path[0])
		str_addf(&full, "/%s", path);
	copy = str_error(&full) < 0 ?
		       NULL :
		       pool_dup(&t->names->pool, full.data, full.len);
	(void)hash_names_add(t->names, copy ? copy : t->folder, error);
}

/* 0 or a negative errno, which was noted or is -ENOMEM. */
static int add_line(const struct engine_options *options, const char *folder,
		    struct hash_names *names, struct str *out)
{
	CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;
	struct trouble trouble = { folder, names };
	uint8_t root[BLAKE3_LEN];
	size_t before = names->n;
	int r = dir_hash_scan(folder, options, note, &trouble, &t);

	if (r == 0)
		r = dir_hash_root(t, root);
	if (r == 0)
		hash_line_plain(out, folder, DIGEST_BLAKE3, root);
	else if (names->n == before)
		note(&trouble, "", r);
	return r;
}

int hash_tree(const struct engine_options *options, char *const *folders)
{
	CLEANUP(hash_names_release) struct hash_names names = { 0 };
	CLEANUP(str_release) struct str out = STR_INIT;
	int status = 0;

	for (; *folders && status == 0; folders++) {
		(void)add_line(options, *folders, &names, &out);
		status = hash_line_print(&out);
	}
	return status ? status : hash_names_report(&names);
}
