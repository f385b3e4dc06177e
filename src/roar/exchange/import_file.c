/* import_file.c - see import_file.h */
#include "exchange/import_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/quote.h"
#include "base/str.h"

enum { HEAD_BYTES = 4096 };

/* The formats; IMPORT_FORMATS has the same names. */
static const struct import_format formats[] = {
	{ "roar", import_is_roar, import_roar },
	{ "dvc", import_is_dvc, import_dvc },
	{ "openlineage", import_is_openlineage, import_openlineage },
};

static int open_file(const char *path, const char *shown,
		     struct roar_error *err)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) :
				     dup(STDIN_FILENO);

	return fd >= 0 ? fd :
			 error_set(err, -errno, "cannot read '%s': %s", shown,
				   strerror(errno));
}

static const struct import_format *
find_format(const char *name, const char *path, const char *head, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct import_format *f = &formats[i];

		if (name ? !strcmp(f->name, name) : f->matches(path, head, len))
			return f;
	}
	return NULL;
}

int import_file(struct view *v, const char *path, const char *format,
		struct import_result *ret, struct roar_error *err)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	CLEANUP(closep) int fd = -1;
	char head[HEAD_BYTES];
	struct import_request request = { .view = v, .head = head };
	const struct import_format *f;
	ssize_t n;

	quote_printable_cut(&shown, path, 200);
	fd = open_file(path, str_cstr(&shown), err);
	if (fd < 0)
		return fd;
	n = fd_read_all(fd, head, sizeof(head));
	if (n < 0)
		return error_set(err, (int)n, "cannot read '%s': %s",
				 str_cstr(&shown), strerror((int)-n));
	f = find_format(format, path, head, (size_t)n);
	if (!f)
		return error_set(err, -EINVAL,
				 "'%s' has none of the formats that roar can "
				 "import: 'roar import --help' lists them",
				 str_cstr(&shown));
	request.path = str_cstr(&shown);
	request.fd = fd;
	request.head_len = (size_t)n;
	return f->read(&request, ret, err);
}
