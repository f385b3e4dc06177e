/* conda_database.c - packages of a conda environment
 *
 * PREFIX/conda-meta/NAME-VERSION-BUILD.json describes one package.  Such a file may have
 * megabytes, of which "name", "version", "subdir" and the array of strings "files" count;
 * so the text is scanned, and no tree is made of it. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "capture/owner_index.h"
#include "capture/package_database.h"

struct scan {
	const char *at;
	const char *end;
};

static bool skip_to(struct scan *s, char c)
{
	while (s->at < s->end &&
	       (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' ||
		*s->at == '\t' || *s->at == ','))
		s->at++;
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

/* After the opening quote.  Escapes are taken as they are, except that they do not end
 * the string: a path with one is not found later, which costs one file. */
static bool take_string(struct scan *s, const char **ret, size_t *ret_len)
{
	const char *start = s->at;

	while (s->at < s->end && *s->at != '"')
		s->at += *s->at == '\\' ? 2 : 1;
	if (s->at >= s->end) {
		s->at = s->end;
		return false;
	}
	*ret = start;
	*ret_len = (size_t)(s->at++ - start);
	return true;
}

/* Moves to the end of a value that is not needed. */
static void skip_value(struct scan *s)
{
	const char *text;
	size_t len;
	int depth = 0;

	while (s->at < s->end) {
		char c = *s->at;

		if (!depth && (c == ',' || c == '}' || c == ']'))
			return;
		s->at++;
		if (c == '"')
			(void)take_string(s, &text, &len);
		else if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			depth--;
	}
}

struct meta {
	const char *name, *version, *subdir;
	size_t name_len, version_len, subdir_len;
	struct scan files; /* inside of the array */
};

static bool is(const char *key, size_t len, const char *name)
{
	return strlen(name) == len && memcmp(key, name, len) == 0;
}

static void take_member(struct scan *s, struct meta *m, const char *key,
			size_t len)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == ':'))
		s->at++;
	if (is(key, len, "files") && s->at < s->end && *s->at == '[') {
		m->files = (struct scan){ s->at + 1, s->end };
	} else if (s->at < s->end && *s->at == '"') {
		struct scan value = { s->at + 1, s->end };

		if (is(key, len, "name"))
			(void)take_string(&value, &m->name, &m->name_len);
		else if (is(key, len, "version"))
			(void)take_string(&value, &m->version, &m->version_len);
		else if (is(key, len, "subdir"))
			(void)take_string(&value, &m->subdir, &m->subdir_len);
	}
	skip_value(s);
}

static void add_files(const char *prefix, struct scan files,
		      struct owner_builder *b, int package)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	const char *name;
	size_t base;
	size_t len;

	str_adds(&path, prefix);
	str_addc(&path, '/');
	base = path.len;
	while (!path.failed && skip_to(&files, '"') &&
	       take_string(&files, &name, &len)) {
		path.len = base;
		str_add(&path, name, len);
		if (!path.failed)
			owner_builder_path(b, path.data, path.len, package);
	}
}

int conda_meta_parse(const char *prefix, const char *text, size_t len,
		     struct owner_builder *b)
{
	CLEANUP(str_release) struct str strings = STR_INIT;
	struct scan s = { text, text + len };
	struct meta m = { .name = "", .version = "", .subdir = "" };
	struct owner_package p = { .location = "" };
	size_t version_at, subdir_at;
	const char *key;
	size_t key_len;
	int package;

	if (!skip_to(&s, '{'))
		return -EBADMSG;
	while (skip_to(&s, '"') && take_string(&s, &key, &key_len))
		take_member(&s, &m, key, key_len);
	if (!m.name_len || m.name_len + m.version_len > 4096)
		return -EBADMSG;
	str_add(&strings, m.name, m.name_len);
	str_addc(&strings, '\0');
	version_at = strings.len;
	str_add(&strings, m.version, m.version_len);
	str_addc(&strings, '\0');
	subdir_at = strings.len;
	str_add(&strings, m.subdir, m.subdir_len < 64 ? m.subdir_len : 0);
	str_addc(&strings, '\0');
	if (str_error(&strings) < 0)
		return -ENOMEM;
	p.name = strings.data;
	p.version = strings.data + version_at;
	p.arch = strings.data + subdir_at;
	package = owner_builder_package(b, &p);
	if (package < 0)
		return package;
	if (m.files.at)
		add_files(prefix, m.files, b, package);
	return 0;
}

int conda_database_read(const char *prefix, struct owner_builder *b)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str meta = STR_INIT;
	CLEANUP(closedirp) DIR *dir = NULL;
	struct dirent *entry;

	str_addf(&meta, "%s/conda-meta", prefix);
	if (str_error(&meta) < 0)
		return -ENOMEM;
	dir = opendir(meta.data);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		if (len > 5 && !strcmp(entry->d_name + len - 5, ".json") &&
		    package_file_read(dirfd(dir), entry->d_name,
				      PACKAGE_LIST_MAX, &text) == 0)
			(void)conda_meta_parse(prefix, str_cstr(&text),
					       text.len, b);
	}
	return 0;
}
