/* pip_database.c - Python distributions in a site-packages directory
 *
 *	NAME-VERSION.dist-info/	METADATA (Name, Version), RECORD (the files),
 *				direct_url.json (editable: where its source is)
 *	NAME-VERSION.egg-info	a directory or a file: PKG-INFO, installed-files.txt or
 *				top_level.txt; also that of Debian and of conda
 *	NAME.egg-link		its first line is the source of an editable package
 *	NAME-VERSION.egg/	all below it
 *
 * RECORD has "PATH,HASH,SIZE" per line, with quotes where a path needs them. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "capture/owner_index.h"
#include "capture/package_database.h"

struct site {
	const char *path;
	int fd;
	struct owner_builder *builder;
	struct str text; /* of the last file */
};

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name);
	size_t n = strlen(end);

	return len > n && strcmp(name + len - n, end) == 0;
}

static int read_in(struct site *s, const char *dir, const char *name,
		   size_t max)
{
	char path[512];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	return package_file_read(s->fd, path, max, &s->text);
}

/* ---- the package itself ---- */

struct names {
	char name[128];
	char version[128];
	char location[1024];
};

static void copy_field(const struct str *text, const char *field, char *to,
		       size_t size)
{
	const char *value;
	size_t len;

	if (package_field(str_cstr(text), text->len, field, &value, &len))
		(void)snprintf(to, size, "%.*s", (int)(len < size ? len : size),
			       value);
}

/* From the name of the directory, where there is no better source. */
static void name_by_directory(struct names *n, const char *entry)
{
	const char *dash = strchr(entry, '-');
	const char *end = strrchr(entry, '.');

	if (!dash || dash > end)
		dash = end;
	(void)snprintf(n->name, sizeof(n->name), "%.*s", (int)(dash - entry),
		       entry);
	if (dash != end)
		(void)snprintf(n->version, sizeof(n->version), "%.*s",
			       (int)(end - dash - 1), dash + 1);
	/* "1.0-py3.11" */
	dash = strstr(n->version, "-py");
	if (dash)
		n->version[dash - n->version] = '\0';
}

static int add_package(struct site *s, const struct names *n)
{
	const struct owner_package p = {
		.name = n->name,
		.version = n->version,
		.arch = "",
		.location = n->location,
		.editable = n->location[0] != '\0',
	};

	return owner_builder_package(s->builder, &p);
}

static void add_below(struct site *s, const char *name, int package)
{
	CLEANUP(str_release) struct str path = STR_INIT;

	path_normalize(&path, s->path, name);
	if (str_error(&path) == 0)
		owner_builder_dir(s->builder, path.data, path.len, package);
}

/* ---- lists of files ---- */

/* "PATH,..." or "\"PA\"\"TH\",...": the path, and whether it had to be unquoted. */
static void take_record_path(const char *line, size_t len, struct str *out)
{
	const char *comma;

	str_clear(out);
	if (len && line[0] == '"') {
		for (size_t i = 1; i < len; i++) {
			if (line[i] == '"' &&
			    !(i + 1 < len && line[i + 1] == '"'))
				return;
			i += line[i] == '"';
			str_addc(out, line[i]);
		}
		return;
	}
	comma = memchr(line, ',', len);
	str_add(out, line, comma ? (size_t)(comma - line) : len);
}

void pip_record_parse(const char *site, const char *text, size_t len,
		      struct owner_builder *b, int package)
{
	CLEANUP(str_release) struct str relative = STR_INIT;
	CLEANUP(str_release) struct str path = STR_INIT;
	const char *end = text + len;
	size_t base;

	str_adds(&path, site);
	str_addc(&path, '/');
	base = path.len;
	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((eol ? eol : end) - text);

		take_record_path(text, n, &relative);
		text += n + 1;
		if (!relative.len || relative.failed ||
		    relative.len > PACKAGE_TEXT_MAX)
			continue;
		path.len = base;
		/* "../../../bin/NAME"; most are below the directory. */
		if (relative.data[0] == '.' || relative.data[0] == '/') {
			str_clear(&path);
			path_normalize(&path, site, relative.data);
		} else {
			str_add(&path, relative.data, relative.len);
		}
		if (str_error(&path) == 0)
			owner_builder_path(b, path.data, path.len, package);
		if (path.len < base || memcmp(path.data, site, base - 1) != 0) {
			str_clear(&path);
			str_adds(&path, site);
			str_addc(&path, '/');
		}
	}
}

/* A line each; relative to the directory of the package's description. */
static void parse_installed(struct site *s, const char *entry, int package)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	char *rest = s->text.data;

	path_normalize(&dir, s->path, entry);
	while (rest && *rest && !dir.failed) {
		char *line = strsep(&rest, "\r\n");

		if (*line)
			pip_record_parse(dir.data, line, strlen(line),
					 s->builder, package);
	}
}

/* A module or package each. */
static void parse_top_level(struct site *s, int package)
{
	char *rest = s->text.data;

	while (rest && *rest) {
		char *line = strsep(&rest, "\r\n");
		char file[256];

		if (!*line || strlen(line) > sizeof(file) - 4)
			continue;
		add_below(s, line, package);
		(void)snprintf(file, sizeof(file), "%s.py", line);
		add_below(s, file, package);
	}
}

/* ---- kinds of entries ---- */

/* {"url": "file:///src", "dir_info": {"editable": true}} */
static void read_direct_url(struct site *s, const char *entry, struct names *n)
{
	json_t *root;
	const char *url;

	if (read_in(s, entry, "direct_url.json", PACKAGE_TEXT_MAX) < 0)
		return;
	root = json_loadb(str_cstr(&s->text), s->text.len, 0, NULL);
	url = json_string_value(json_object_get(root, "url"));
	if (url && strncmp(url, "file://", 7) == 0 &&
	    json_is_true(json_object_get(json_object_get(root, "dir_info"),
					 "editable")))
		(void)snprintf(n->location, sizeof(n->location), "%s", url + 7);
	json_decref(root);
}

static void read_dist_info(struct site *s, const char *entry)
{
	struct names n = { 0 };
	int package;

	name_by_directory(&n, entry);
	if (read_in(s, entry, "METADATA", PACKAGE_TEXT_MAX) == 0) {
		copy_field(&s->text, "Name", n.name, sizeof(n.name));
		copy_field(&s->text, "Version", n.version, sizeof(n.version));
	}
	read_direct_url(s, entry, &n);
	package = add_package(s, &n);
	if (n.location[0])
		owner_builder_dir(s->builder, n.location, strlen(n.location),
				  package);
	if (package >= 0 && read_in(s, entry, "RECORD", PACKAGE_LIST_MAX) == 0)
		pip_record_parse(s->path, str_cstr(&s->text), s->text.len,
				 s->builder, package);
}

static void read_egg_info(struct site *s, const char *entry)
{
	struct names n = { 0 };
	int package;

	name_by_directory(&n, entry);
	if (read_in(s, entry, "PKG-INFO", PACKAGE_TEXT_MAX) == 0 ||
	    package_file_read(s->fd, entry, PACKAGE_TEXT_MAX, &s->text) == 0) {
		copy_field(&s->text, "Name", n.name, sizeof(n.name));
		copy_field(&s->text, "Version", n.version, sizeof(n.version));
	}
	package = add_package(s, &n);
	add_below(s, entry, package);
	if (read_in(s, entry, "installed-files.txt", PACKAGE_LIST_MAX) == 0)
		parse_installed(s, entry, package);
	else if (read_in(s, entry, "top_level.txt", PACKAGE_TEXT_MAX) == 0)
		parse_top_level(s, package);
}

static void read_egg(struct site *s, const char *entry)
{
	struct names n = { 0 };

	name_by_directory(&n, entry);
	add_below(s, entry, add_package(s, &n));
}

static void read_egg_link(struct site *s, const char *entry)
{
	struct names n = { 0 };
	int package;

	name_by_directory(&n, entry);
	if (package_file_read(s->fd, entry, PACKAGE_TEXT_MAX, &s->text) < 0)
		return;
	(void)snprintf(n.location, sizeof(n.location), "%.*s",
		       (int)strcspn(str_cstr(&s->text), "\r\n"),
		       str_cstr(&s->text));
	if (n.location[0] != '/')
		return;
	package = add_package(s, &n);
	owner_builder_dir(s->builder, n.location, strlen(n.location), package);
}

static const struct {
	const char *end;
	void (*read)(struct site *s, const char *entry);
} kinds[] = {
	{ ".dist-info", read_dist_info },
	{ ".egg-info", read_egg_info },
	{ ".egg-link", read_egg_link },
	{ ".egg", read_egg },
};

static void release_site(struct site *s)
{
	str_release(&s->text);
}

int pip_database_read(const char *site, struct owner_builder *b)
{
	CLEANUP(release_site)
	struct site s = { .path = site, .builder = b };
	CLEANUP(closedirp) DIR *dir = opendir(site);
	struct dirent *entry;

	if (!dir)
		return -errno;
	s.fd = dirfd(dir);
	while ((entry = readdir(dir)))
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (ends_with(entry->d_name, kinds[i].end))
				kinds[i].read(&s, entry->d_name);
	return 0;
}
