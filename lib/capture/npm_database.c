/* npm_database.c - packages of Node.js: the package.json beside their files */
#include <fcntl.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/str.h"
#include "capture/package_database.h"

static const char *take(struct pool *pool, const json_t *root, const char *key)
{
	const char *text = json_string_value(json_object_get(root, key));

	return pool_strdup(pool, text ? text : "");
}

int npm_package_read(const char *file, struct pool *pool, const char **ret_name,
		     const char **ret_version)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	int r = package_file_read(AT_FDCWD, file, PACKAGE_TEXT_MAX, &text);
	json_t *root;

	if (r < 0)
		return r;
	root = json_loadb(str_cstr(&text), text.len, 0, NULL);
	if (!root)
		return -EBADMSG;
	*ret_name = take(pool, root, "name");
	*ret_version = take(pool, root, "version");
	json_decref(root);
	return *ret_name && *ret_version ? 0 : -ENOMEM;
}
