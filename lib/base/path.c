/* path.c - see path.h */
#include "base/path.h"

#include <string.h>

#include "base/str.h"

/* Drops the last component of out[start..], keeping the leading slash. */
static void drop_last(struct str *out, size_t start)
{
	while (out->len > start && out->data[out->len - 1] != '/')
		out->len--;
	if (out->len > start)
		out->len--;
	out->data[out->len] = '\0';
}

static void add_components(struct str *out, size_t start, const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.') {
			if (out->len > start)
				drop_last(out, start);
		} else if (n && !(n == 1 && path[0] == '.')) {
			str_addc(out, '/');
			str_add(out, path, n);
		}
		path += n;
		path += strspn(path, "/");
	}
}

void path_normalize(struct str *out, const char *base, const char *path)
{
	size_t start = out->len;

	str_adds(out, "");
	if (path[0] != '/')
		add_components(out, start, base);
	add_components(out, start, path);
	if (out->len == start)
		str_addc(out, '/');
}

void path_dirname(struct str *out, const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len && path[len - 1] != '/')
		len--;
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len)
		str_add(out, path, len);
	else
		str_addc(out, '.');
}

const char *path_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool path_is_under(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	if (len == 1 && dir[0] == '/')
		return path[0] == '/';
	return strncmp(path, dir, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/');
}

const char *path_relative(const char *path, const char *base)
{
	size_t len = strlen(base);

	if (!path_is_under(path, base))
		return path;
	while (len && base[len - 1] == '/')
		len--;
	path += len;
	path += strspn(path, "/");
	return *path ? path : ".";
}
