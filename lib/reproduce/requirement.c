/* requirement.c - see requirement.h */
#include "reproduce/requirement.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/pool.h"
#include "base/str.h"

enum { DOCUMENT_MAX = 64 << 20, INTERPRETERS_MAX = 1000 };

/* ---- documents ---- */

static int parse(const char *text, json_t **ret)
{
	json_error_t error;

	if (strlen(text) > DOCUMENT_MAX)
		return -EBADMSG;
	*ret = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (*ret)
		return json_is_object(*ret) ? 0 : -EBADMSG;
	return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM :
								     -EBADMSG;
}

/* The text under `key`; "" when there is none, NULL without memory. */
static const char *text_of(struct pool *pool, const json_t *object,
			   const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? pool_strdup(pool, text) : "";
}

/* Only these bytes, and a letter or digit first: never an option. */
static bool is_plain(const char *text, const char *also)
{
	if (!isalnum((unsigned char)text[0]))
		return false;
	for (; *text; text++)
		if ((!isalnum((unsigned char)*text) && !strchr(also, *text)) ||
		    (unsigned char)*text >= 0x80)
			return false;
	return true;
}

static bool is_os_directory(const char *location)
{
	return strncmp(location, "/usr/lib/", 9) == 0;
}

static int read_package(struct pool *pool, const json_t *item,
			struct requirement *ret)
{
	struct requirement r = {
		.manager = text_of(pool, item, "manager"),
		.name = text_of(pool, item, "name"),
		.version = text_of(pool, item, "version"),
		.arch = text_of(pool, item, "arch"),
		.location = text_of(pool, item, "location"),
		.editable = json_is_true(json_object_get(item, "editable")),
	};

	if (!r.manager || !r.name || !r.version || !r.arch || !r.location)
		return -ENOMEM;
	if (!*r.manager || !*r.name)
		return -EBADMSG;
	r.of_system = !strcmp(r.manager, "pip") && is_os_directory(r.location);
	r.installable = is_plain(r.name, "._-+") &&
			is_plain(r.version, "._-+!~:") &&
			(!*r.arch || is_plain(r.arch, "_-"));
	*ret = r;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct requirement *x = a;
	const struct requirement *y = b;
	int r = strcmp(x->manager, y->manager);

	if (r == 0)
		r = strcmp(x->name, y->name);
	return r ? r : strcmp(x->version, y->version);
}

static int read_packages(struct pool *pool, const char *text,
			 struct requirements *ret)
{
	CLEANUP(json_decrefp) json_t *root = NULL;
	const json_t *list;
	int r = parse(text, &root);

	if (r < 0)
		return r;
	list = json_object_get(root, "packages");
	if (!json_is_array(list) || json_array_size(list) > REQUIREMENTS_MAX)
		return -EBADMSG;
	ret->all = pool_alloc(pool,
			      (json_array_size(list) + 1) * sizeof(*ret->all));
	if (!ret->all)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(list) && r == 0; i++) {
		r = read_package(pool, json_array_get(list, i),
				 &ret->all[ret->n]);
		ret->n += r == 0;
	}
	qsort(ret->all, ret->n, sizeof(*ret->all), by_name);
	return r;
}

static int read_interpreter(struct pool *pool, const json_t *item,
			    struct interpreter *ret)
{
	struct interpreter i = {
		.kind = text_of(pool, item, "kind"),
		.path = text_of(pool, item, "path"),
		.version = text_of(pool, item, "version"),
		.prefix = text_of(pool, item, "prefix"),
		.in_venv = json_is_true(json_object_get(item, "venv")),
	};

	if (!i.kind || !i.path || !i.version || !i.prefix)
		return -ENOMEM;
	if (!is_plain(i.version, "._-+"))
		i.version = "";
	*ret = i;
	return 0;
}

static int read_interpreters(struct pool *pool, const char *text,
			     struct requirements *ret)
{
	CLEANUP(json_decrefp) json_t *root = NULL;
	const json_t *list;
	int r = parse(text, &root);

	if (r < 0)
		return r;
	list = json_object_get(root, "interpreters");
	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > INTERPRETERS_MAX)
		return -EBADMSG;
	ret->interpreters = pool_alloc(
		pool, (json_array_size(list) + 1) * sizeof(struct interpreter));
	if (!ret->interpreters)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(list) && r == 0; i++) {
		r = read_interpreter(pool, json_array_get(list, i),
				     &ret->interpreters[ret->n_interpreters]);
		ret->n_interpreters += r == 0;
	}
	return r;
}

int requirements_read(struct pool *pool, const char *packages,
		      const char *libraries, struct requirements *ret)
{
	struct requirements all = { 0 };
	int r = 0;

	if (packages)
		r = read_packages(pool, packages, &all);
	if (r == 0 && libraries)
		r = read_interpreters(pool, libraries, &all);
	if (r == 0)
		*ret = all;
	return r;
}

int requirements_join(struct pool *pool, const struct requirements *lists,
		      size_t n, struct requirements *ret)
{
	struct requirements all = { 0 };
	size_t total = 0;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		total += lists[i].n;
	all.all = pool_alloc(pool, (total + 1) * sizeof(*all.all));
	if (!all.all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < lists[i].n; k++)
			all.all[all.n++] = lists[i].all[k];
	qsort(all.all, all.n, sizeof(*all.all), by_name);
	for (size_t i = 0; i < all.n; i++)
		if (!kept || by_name(&all.all[kept - 1], &all.all[i]))
			all.all[kept++] = all.all[i];
	all.n = kept;
	*ret = all;
	return 0;
}

/* ---- questions ---- */

const struct interpreter *requirements_python(const struct requirements *r)
{
	const struct interpreter *found = NULL;

	for (size_t i = 0; i < r->n_interpreters; i++) {
		const struct interpreter *one = &r->interpreters[i];

		if (strcmp(one->kind, "python") == 0 &&
		    (!found || (!*found->version && *one->version)))
			found = one;
	}
	return found;
}

bool requirement_is_pip(const struct requirement *r)
{
	return strcmp(r->manager, "pip") == 0 && !r->of_system;
}

bool requirement_is_system(const struct requirement *r)
{
	static const char *const managers[] = { "dpkg", "rpm", "apk" };

	for (size_t i = 0; i < ARRAY_SIZE(managers); i++)
		if (strcmp(r->manager, managers[i]) == 0)
			return true;
	return false;
}

void requirements_pip_text(const struct requirements *r, struct str *out)
{
	for (size_t i = 0; i < r->n; i++)
		if (requirement_is_pip(&r->all[i]) && !r->all[i].editable &&
		    r->all[i].installable)
			str_addf(out, "%s==%s\n", r->all[i].name,
				 r->all[i].version);
}
