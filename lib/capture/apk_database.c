/* apk_database.c - Alpine's packages
 *
 * /lib/apk/db/installed has a paragraph per package, of lines "X:value":
 *	P name  V version  A architecture  F a directory  R a file in the last directory */
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "capture/owner_index.h"
#include "capture/package_database.h"

/* The paragraph's package: its name must be known before the first file. */
static int add_package(const char *text, size_t len, struct owner_builder *b)
{
	static const char *const fields[] = { "P", "V", "A" };
	struct owner_package p = { .location = "" };
	char buf[3][256] = { "", "", "" };

	for (size_t i = 0; i < 3; i++) {
		const char *value;
		size_t n;

		if (package_field(text, len, fields[i], &value, &n) &&
		    n < sizeof(buf[i]))
			memcpy(buf[i], value, n);
	}
	p.name = buf[0];
	p.version = buf[1];
	p.arch = buf[2];
	return *p.name ? owner_builder_package(b, &p) : -EBADMSG;
}

static void add_files(const char *text, size_t len, struct owner_builder *b,
		      int package)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	const char *end = text + len;
	size_t base = 0;

	while (text < end && !path.failed) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((eol ? eol : end) - text);

		if (n >= 2 && text[1] == ':' && text[0] == 'F') {
			str_clear(&path);
			str_addc(&path, '/');
			str_add(&path, text + 2, n - 2);
			if (n > 2)
				str_addc(&path, '/');
			base = path.len;
		} else if (n > 2 && text[1] == ':' && text[0] == 'R' && base) {
			path.len = base;
			str_add(&path, text + 2, n - 2);
			if (!path.failed)
				owner_builder_path(b, path.data, path.len,
						   package);
		}
		text += n + 1;
	}
}

int apk_installed_parse(const char *text, size_t len, struct owner_builder *b)
{
	const char *end = text + len;

	while (text < end) {
		const char *stop = memmem(text, (size_t)(end - text), "\n\n",
					  2);
		int package;

		if (!stop)
			stop = end;
		package = add_package(text, (size_t)(stop - text), b);
		if (package == -ENOMEM)
			return package;
		if (package >= 0)
			add_files(text, (size_t)(stop - text), b, package);
		text = stop + 2;
	}
	return 0;
}

int apk_database_read(const char *file, struct owner_builder *b)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	int r = package_file_read(AT_FDCWD, file, PACKAGE_LIST_MAX, &text);

	return r < 0 ? r : apk_installed_parse(str_cstr(&text), text.len, b);
}
