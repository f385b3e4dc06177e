/* config_file.c - see config_file.h */
#include "project/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/quote.h"
#include "base/toml_edit.h"
#include "project/owner.h"

static const char file_name[] = "config.toml";

/* The part of a key before its last dot. */
static size_t table_length(const char *key)
{
	const char *dot = strrchr(key, '.');

	return dot ? (size_t)(dot - key) : 0;
}

static void add_setting(struct str *out, const struct config_key *key)
{
	str_addf(out, "# %s", key->help);
	if (key->values)
		str_addf(out, " (%s)", key->values);
	str_addf(out, "\n# %s = %s\n", key->name + table_length(key->name) + 1,
		 key->fallback);
}

void config_default_text(struct str *out)
{
	size_t last = 0;
	const char *table = "";

	str_adds(out,
		 "# Settings of this roar project, with their defaults.\n"
		 "# Change them here or with 'roar config set KEY VALUE'.\n");
	for (const struct config_key *k = config_keys; k->name; k++) {
		size_t n = table_length(k->name);

		if (n != last || strncmp(k->name, table, n) != 0) {
			str_addf(out, "\n[%.*s]\n", (int)n, k->name);
			table = k->name;
			last = n;
		}
		add_setting(out, k);
	}
	str_adds(out, "\n[env]\n"
		      "# variables for every command of 'roar run' and 'roar "
		      "build'\n# NAME = \"value\"\n");
}

/* ---- reading ---- */

/* Opening a FIFO of that name would wait for ever. */
static int check_regular(const char *path, struct roar_error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL,
				 "'%s' is not a regular file: move it away",
				 path);
	return 0;
}

static int read_text(const char *path, struct str *text, struct roar_error *err)
{
	int r = check_regular(path, err);

	str_add(text, "", 0); /* the text of an empty file is no NULL */
	if (r == -EINVAL)
		return r;
	if (r == 0)
		r = fd_read_file(AT_FDCWD, path, TOML_SIZE_MAX, text);
	if (r == -EFBIG)
		return error_set(err, r, "'%s' is larger than %d bytes", path,
				 TOML_SIZE_MAX);
	if (r < 0 && r != -ENOENT)
		return error_set(err, r, "cannot read '%s': %s", path,
				 strerror(-r));
	return r;
}

int config_file_read(const char *dir, struct config_file *ret,
		     struct roar_error *err)
{
	CLEANUP(config_file_release) struct config_file f = { 0 };
	int r;

	str_addf(&f.path, "%s/%s", dir, file_name);
	r = read_text(str_cstr(&f.path), &f.text, err);
	f.exists = r != -ENOENT;
	if (r == -ENOENT) {
		config_default_text(&f.text);
		r = str_error(&f.text);
	}
	if (r < 0)
		return r;
	r = toml_parse(str_cstr(&f.text), f.text.len, str_cstr(&f.path),
		       &f.pool, &f.doc, err);
	if (r < 0)
		return r;
	*ret = f;
	f = (struct config_file){ 0 };
	return 0;
}

void config_file_release(struct config_file *f)
{
	str_release(&f->text);
	str_release(&f->path);
	pool_release(&f->pool);
	*f = (struct config_file){ 0 };
}

/* The default of a key, parsed. */
static int get_default(struct config_file *f, const struct config_key *key,
		       struct toml_value *ret, struct roar_error *err)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct toml doc;
	int r;

	str_addf(&text, "%s = %s\n", key->name, key->fallback);
	r = toml_parse(str_cstr(&text), text.len, "default", &f->pool, &doc,
		       err);
	if (r < 0)
		return r;
	*ret = doc.entries->value;
	return 0;
}

int config_file_get(struct config_file *f, const struct config_key *key,
		    struct toml_value *ret, bool *ret_default,
		    struct roar_error *err)
{
	const struct toml_entry *e = toml_find(&f->doc, key->name);
	struct roar_error why = { 0 };
	int r;

	*ret_default = !e;
	if (!e)
		return get_default(f, key, ret, err);
	r = config_check(key, &e->value, &why);
	if (r < 0)
		return error_set(err, r, "'%s' line %d: %s", str_cstr(&f->path),
				 e->value.line, why.text);
	*ret = e->value;
	return 0;
}

int config_file_value(struct config_file *f, const struct config_key *key,
		      struct toml_value *ret, bool *ret_default)
{
	int r = config_file_get(f, key, ret, ret_default, NULL);

	if (r != -EINVAL)
		return r;
	*ret_default = true;
	return get_default(f, key, ret, NULL);
}

const char *config_env_name(const struct toml_entry *e)
{
	return strncmp(e->key, "env.", 4) ? NULL : e->key + 4;
}

/* ---- changing ---- */

/* Held until the descriptor is closed.  The folder itself is locked: the file is
 * replaced by every change. */
static int lock(const char *dir, int *ret_fd, struct roar_error *err)
{
	CLEANUP(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : 0;

	while (r == 0 && flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			r = -errno;
	if (r < 0)
		return error_set(err, r, "cannot lock '%s': %s", dir,
				 strerror(-r));
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* A changed text that would not be read back is never written. */
static int check_text(const struct config_file *f, const struct str *text,
		      struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	struct roar_error why = { 0 };
	struct toml doc;

	if (text->failed)
		return error_set(err, -ENOMEM, "no memory to change '%s'",
				 str_cstr(&f->path));
	if (toml_parse(text->data, text->len, file_name, &pool, &doc, &why) < 0)
		return error_set(err, -EINVAL,
				 "cannot change '%s' here, edit it by hand (%s)",
				 str_cstr(&f->path), why.text);
	return 0;
}

static int write_text(const struct config_file *f, int dirfd,
		      const struct str *text, struct roar_error *err)
{
	int r = check_text(f, text, err);
	bool acted;

	if (r < 0)
		return r;
	acted = owner_act(dirfd);
	r = fd_replace_file(dirfd, file_name, text->data, text->len, 0600);
	owner_act_as_self(acted);
	if (r < 0)
		return error_set(err, r, "cannot write '%s': %s",
				 str_cstr(&f->path), strerror(-r));
	return 0;
}

int config_file_edit(const char *dir, config_edit edit, void *ctx,
		     struct roar_error *err)
{
	CLEANUP(config_file_release) struct config_file f = { 0 };
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(closep) int fd = -1;
	int changed;
	int r;

	r = lock(dir, &fd, err);
	if (r == 0)
		r = config_file_read(dir, &f, err);
	if (r < 0)
		return r;
	changed = edit(&f, ctx, &text, err);
	if (changed <= 0)
		return changed;
	r = write_text(&f, fd, &text, err);
	return r < 0 ? r : changed;
}

struct change {
	const char *name;
	const char *value;
};

static int edit_value(const struct config_file *f, void *ctx, struct str *out,
		      struct roar_error *err)
{
	CLEANUP(str_release) struct str table = STR_INIT;
	const struct change *c = ctx;
	size_t len = table_length(c->name);
	const char *key = c->name + len + 1;
	struct roar_error why = { .text = "no memory" };
	int r;

	str_add(&table, c->name, len);
	if (!c->value)
		return toml_unset(f->text.data, f->text.len, &f->doc,
				  str_cstr(&table), key, out);
	r = toml_set(f->text.data, f->text.len, &f->doc, str_cstr(&table), key,
		     c->value, out, &why);
	if (r < 0)
		return error_set(err, r, "cannot change '%s': %s",
				 str_cstr(&f->path), why.text);
	return 1;
}

int config_file_set(const char *dir, const char *name, const char *value,
		    struct roar_error *err)
{
	struct change change = { .name = name, .value = value };

	return config_file_edit(dir, edit_value, &change, err);
}
