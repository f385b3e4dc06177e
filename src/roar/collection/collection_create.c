/* collection_create.c - see collection_create.h */
#include "collection/collection_create.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/quote.h"
#include "cli/cli.h"
#include "hash/dir/dir_hash_scan.h"
#include "hash/hash_names.h"
#include "hash/user_cache.h"
#include "run/dir_census.h"
#include "show/show_collection.h"
#include "store/store_collection.h"
#include "ui/view.h"

enum { NAME_MAX_BYTES = 128 };

/* One PATH: a file, or a directory with its tree. */
struct item {
	const char *path; /* absolute, without symbolic links */
	bool is_dir;
	struct dir_hash *tree;
	struct store_collection what; /* hash and size; of a file as well */
};

struct creation {
	struct view view;
	const char *name;
	struct item *items;
	size_t n;
	struct engine_options hashing;
	struct str failed; /* the first name with an error, and its cause */
};

static void release(struct creation *c)
{
	for (size_t i = 0; c->items && i < c->n; i++)
		dir_hash_free(c->items[i].tree);
	free(c->items);
	digest_cache_close(c->hashing.cache);
	str_release(&c->failed);
	view_close(&c->view);
}

/* Letters, digits and "._-+:/", so that it needs no quotes and is not a step or an
 * option. */
static bool is_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-+:/";
	size_t len = strlen(name);

	return len && len <= NAME_MAX_BYTES && strspn(name, allowed) == len &&
	       name[0] != '-' && name[0] != '/' && name[0] != '.';
}

/* ---- hashing ---- */

static void note_failure(void *ctx, const char *path, int error)
{
	struct creation *c = ctx;

	if (c->failed.len)
		return;
	str_addc(&c->failed, '\'');
	quote_printable_cut(&c->failed, path[0] ? path : ".", 200);
	str_addf(&c->failed, "': %s", hash_names_cause(error));
}

static int hash_file(struct creation *c, struct item *item,
		     const struct stat *st)
{
	struct engine_file file = { .path = item->path };
	int r = engine_run(&file, 1, &c->hashing);

	if (r == 0)
		r = file.result;
	if (r < 0)
		return r;
	item->what.size = st->st_size;
	memcpy(item->what.blake3, file.hash.digests.blake3, BLAKE3_LEN);
	return 0;
}

/* A link has no stamp. */
static int64_t leaf_size(const struct item *item,
			 const struct dir_hash_leaf *leaf)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	struct stat st;

	if (leaf->stamp.ino)
		return (int64_t)leaf->stamp.size;
	str_addf(&path, "%s/%s", item->path, leaf->path);
	return str_error(&path) == 0 && lstat(path.data, &st) == 0 ?
		       st.st_size :
		       0;
}

/* The layout, by the names. */
static int find_kind(struct item *item)
{
	CLEANUP(dir_census_freep) struct dir_census *census = NULL;
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str above = STR_INIT;
	const struct dir_whole *found;
	const char *place;
	size_t n = 0;
	int r;

	path_dirname(&above, item->path);
	place = str_cstr(&above);
	r = dir_census_new(&place, 1, &census);
	for (size_t i = 0; r == 0 && i < dir_hash_count(item->tree); i++) {
		str_clear(&path);
		str_addf(&path, "%s/%s", item->path,
			 dir_hash_leaf(item->tree, i)->path);
		r = str_error(&path);
		if (r == 0)
			r = dir_census_add(census, path.data, path.len,
					   DIR_READ);
	}
	if (r == 0)
		r = dir_census_take(census, &found, &n);
	item->what.kind = COLLECTION_PLAIN;
	for (size_t i = 0; r == 0 && i < n; i++)
		if (!strcmp(found[i].path, item->path))
			item->what.kind = found[i].kind;
	return r;
}

static int hash_dir(struct creation *c, struct item *item)
{
	int r = dir_hash_scan(item->path, &c->hashing, note_failure, c,
			      &item->tree);

	item->is_dir = true;
	if (r == 0)
		r = dir_hash_root(item->tree, item->what.blake3);
	if (r < 0)
		return r;
	item->what.n_members = (int64_t)dir_hash_count(item->tree);
	for (size_t i = 0; i < dir_hash_count(item->tree); i++)
		item->what.size += leaf_size(item,
					     dir_hash_leaf(item->tree, i));
	return find_kind(item);
}

static int read_item(struct creation *c, const char *word, struct item *item)
{
	CLEANUP(freep) char *real = realpath(word, NULL);
	struct stat st;
	int r;

	if (!real || stat(real, &st) < 0)
		return cli_fail("cannot read '%s': %s", word, strerror(errno));
	item->path = pool_strdup(&c->view.pool, real);
	if (!item->path)
		return cli_fail("out of memory");
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return cli_fail("'%s' is neither a file nor a directory: a "
				"collection has files only",
				word);
	r = S_ISDIR(st.st_mode) ? hash_dir(c, item) : hash_file(c, item, &st);
	if (r < 0 && c->failed.len)
		return cli_fail("cannot hash '%s': %s", word,
				str_cstr(&c->failed));
	if (r < 0)
		return cli_fail("cannot hash '%s': %s", word,
				hash_names_cause(r));
	if (item->is_dir && !item->what.n_members)
		return cli_fail("'%s' has no files, so there is nothing to "
				"collect",
				word);
	return 0;
}

/* ---- several of them ---- */

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct item *)a)->path,
		      ((const struct item *)b)->path);
}

/* The directory that all have in common. */
static size_t common_prefix(const struct creation *c)
{
	const char *first = c->items[0].path;
	const char *last = c->items[c->n - 1].path; /* they are sorted */
	size_t slash = 0;

	for (size_t i = 0; first[i] && first[i] == last[i]; i++)
		if (first[i] == '/')
			slash = i;
	return slash + 1;
}

static int check_items(struct creation *c)
{
	qsort(c->items, c->n, sizeof(*c->items), by_path);
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = i + 1; k < c->n; k++)
			if (path_is_under(c->items[k].path, c->items[i].path))
				return cli_fail("'%s' is given twice, the "
						"second time as a part of "
						"'%s'",
						c->items[k].path,
						c->items[i].path);
	return 0;
}

static int save_tree(struct creation *c, const struct item *item,
		     int64_t *ret_id, struct roar_error *err)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	struct store *s = c->view.store;
	size_t prefix;
	int r = store_collection_add(s, &item->what, ret_id, err);

	str_addf(&path, "%s/", item->path);
	prefix = path.len;
	if (r == 0)
		r = store_members_begin(s, *ret_id, prefix, err);
	if (r <= 0)
		return r;
	r = 0;
	for (size_t i = 0; r == 0 && i < dir_hash_count(item->tree); i++) {
		const struct dir_hash_leaf *leaf = dir_hash_leaf(item->tree, i);

		path.len = prefix;
		str_adds(&path, leaf->path);
		if (str_error(&path) < 0)
			return error_set(err, -ENOMEM, "out of memory");
		r = store_member_add(s, *ret_id, (int64_t)i + 1, path.data,
				     leaf_size(item, leaf), leaf->blake3, err);
	}
	return r;
}

/* The tree whose leaves are the items. */
static int join_items(struct creation *c, size_t prefix,
		      struct store_collection *ret)
{
	CLEANUP(dir_hash_freep) struct dir_hash *tree = NULL;
	int r = dir_hash_new(&tree);

	*ret = (struct store_collection){
		.kind = COLLECTION_FILES,
		.n_members = (int64_t)c->n,
	};
	for (size_t i = 0; r == 0 && i < c->n; i++) {
		const char *name = c->items[i].path + prefix;

		ret->size += c->items[i].what.size;
		r = dir_hash_add_digest(tree, name, strlen(name),
					c->items[i].what.blake3);
	}
	return r < 0 ? r : dir_hash_root(tree, ret->blake3);
}

static int save_items(struct creation *c, size_t prefix, int64_t *ret_id,
		      struct roar_error *err)
{
	struct store *s = c->view.store;
	struct store_collection all;
	int r = join_items(c, prefix, &all);
	int64_t nested;

	if (r < 0)
		return error_set(err, r,
				 "a path has names that are not UTF-8, which "
				 "a collection cannot have");
	for (size_t i = 0; r == 0 && i < c->n; i++)
		if (c->items[i].is_dir)
			r = save_tree(c, &c->items[i], &nested, err);
	if (r == 0)
		r = store_collection_add(s, &all, ret_id, err);
	if (r == 0)
		r = store_members_begin(s, *ret_id, prefix, err);
	for (size_t i = 0; r > 0 && i < c->n; i++) {
		const struct item *item = &c->items[i];
		int e = store_member_add(s, *ret_id, (int64_t)i + 1, item->path,
					 item->what.size, item->what.blake3,
					 err);

		r = e < 0 ? e : r;
	}
	return r < 0 ? r : 0;
}

/* 1: the name is new, or means something else now. */
static int save(struct creation *c, int64_t *ret_id, struct roar_error *err)
{
	CLEANUP(str_release) struct str place = STR_INIT;
	bool single = c->n == 1 && c->items[0].is_dir;
	size_t prefix = common_prefix(c);
	int r = store_begin(c->view.store, err);
	int named = 0;

	if (r < 0)
		return r;
	if (single)
		str_adds(&place, c->items[0].path);
	else
		str_add(&place, c->items[0].path, prefix > 1 ? prefix - 1 : 1);
	r = single ? save_tree(c, &c->items[0], ret_id, err) :
		     save_items(c, prefix, ret_id, err);
	if (r == 0 && str_error(&place) < 0)
		r = error_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = named = store_collection_name_add(c->view.store, *ret_id,
						      c->name, place.data, err);
	if (r >= 0)
		r = store_commit(c->view.store, err);
	if (r < 0)
		store_rollback(c->view.store);
	return r < 0 ? r : named;
}

/* ---- the command ---- */

static int print_result(struct creation *c, int64_t id, bool is_new, bool json)
{
	struct view *v = &c->view;
	struct store_collection what;
	struct roar_error err = { 0 };
	int r = store_collection(v->store, &v->pool, id, &what, &err);

	if (r <= 0)
		return view_fail(r, &err);
	if (json) {
		struct json j = json_writer(&v->out, true);

		json_put_object(&j);
		show_collection_fields(&j, &what);
		view_json_text(&j, "path", what.path);
		view_json_bool(&j, "is_new", is_new);
		json_end(&j);
		str_addc(&v->out, '\n');
	} else {
		char hex[2 * BLAKE3_LEN + 1];

		digest_hex(hex, what.blake3, BLAKE3_LEN);
		str_addf(&v->out, "%s %s: %s, ",
			 is_new ? "Created" : "Unchanged:", c->name,
			 collection_kind_name(what.kind));
		format_count(&v->out, (uint64_t)what.n_members, "file");
		str_adds(&v->out, ", ");
		format_size(&v->out, (uint64_t)what.size);
		str_addf(&v->out, "\n%s\n", hex);
	}
	return view_print(v);
}

static int create(struct creation *c, char *const *words, bool json)
{
	struct roar_error err = { 0 };
	int64_t id = 0;
	int status = 0;
	int r;

	c->items = calloc(c->n, sizeof(*c->items));
	if (!c->items)
		return cli_fail("out of memory");
	(void)user_cache_open(&c->hashing.cache);
	for (size_t i = 0; i < c->n && !status; i++)
		status = read_item(c, words[i], &c->items[i]);
	if (!status)
		status = check_items(c);
	if (status)
		return status;
	r = save(c, &id, &err);
	return r < 0 ? view_fail(r, &err) : print_result(c, id, r > 0, json);
}

int collection_create(const struct args *args)
{
	CLEANUP(release)
	struct creation c = {
		.view = VIEW_INIT,
		.name = args->operands[1],
		.n = (size_t)args->n_operands - 2,
		.hashing = { .want = DIGEST_SET_BLAKE3,
			     .may_map = true,
			     .own_tables = true },
	};
	int status;

	if (!is_name(c.name))
		return cli_usage(args->command,
				 "'%.60s' cannot be the name of a collection: "
				 "use up to %d letters, digits and . _ - + : /, "
				 "starting with a letter or a digit",
				 c.name, NAME_MAX_BYTES);
	status = view_open(&c.view, 0);
	return status ? status :
			create(&c, args->operands + 2, args_has(args, "json"));
}
