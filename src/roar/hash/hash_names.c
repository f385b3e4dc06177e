/* hash_names.c - see hash_names.h */
#include "hash/hash_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cli/cli.h"

void hash_names_release(struct hash_names *names)
{
	pool_release(&names->pool);
	free(names->all);
	*names = (struct hash_names){ 0 };
}

int hash_names_add(struct hash_names *names, const char *path, int error)
{
	struct hash_name *name = VEC_PUSH(names->all, names->n, names->cap);

	if (!path || !name)
		return -ENOMEM;
	name->path = path;
	name->error = error;
	return 0;
}

bool hash_name_is_stdin(const struct hash_name *name)
{
	return !strcmp(name->path, "-");
}

/* What file_hash() means by these is more than their usual text says. */
const char *hash_names_cause(int error)
{
	switch (error) {
	case -EINVAL:
		return "Not a regular file";
	case -EAGAIN:
		return "It changed while it was read";
	default:
		return strerror(-error);
	}
}

int hash_names_report(const struct hash_names *names)
{
	int status = 0;

	for (size_t i = 0; i < names->n; i++) {
		const struct hash_name *name = &names->all[i];

		if (name->error < 0)
			status = cli_fail(
				"'%s': %s%s", name->path,
				hash_names_cause(name->error),
				name->error == -EISDIR ?
					" (-r hashes the files in it)" :
					"");
	}
	return status;
}
