/* libraries.c - see libraries.h */
#include "capture/libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/vec.h"
#include "capture/elf_notes.h"
#include "capture/interpreter.h"
#include "capture/libraries_internal.h"
#include "capture/packages.h"
#include "hash/digest/digest.h"

enum { LIBRARIES_MAX = 4096, VENVS_MAX = 16 };

struct library {
	const char *path;
	struct stamp stamp;
	bool executed;
};

struct libraries {
	struct pool pool;
	struct library *list;
	size_t n, cap;
	size_t n_left_out;
	const char *venvs[VENVS_MAX]; /* directories with a pyvenv.cfg */
	size_t n_venvs;
	struct elf_cache cache;
};

int libraries_new(const char *cache, struct libraries **ret)
{
	struct libraries *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	r = elf_cache_init(&l->cache, cache);
	if (r < 0) {
		free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void libraries_free(struct libraries *l)
{
	if (!l)
		return;
	elf_cache_release(&l->cache);
	free(l->list);
	pool_release(&l->pool);
	free(l);
}

/* "libc.so.6", "_ssl.cpython-311.so"; not "notes.solution". */
static bool is_library_name(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	const char *name = slash ? slash + 1 : path;
	const char *end = path + len;
	const char *so = NULL;

	if (end - name < 4)
		return false;
	for (const char *at = name;
	     (at = memmem(at, (size_t)(end - at), ".so", 3)); at++)
		so = at;
	return so && so > name && (so + 3 == end || so[3] == '.');
}

static void add_venv(struct libraries *l, const char *path, size_t len)
{
	static const char name[] = "/pyvenv.cfg";
	size_t n = sizeof(name) - 1;

	if (len <= n || memcmp(path + len - n, name, n) != 0 ||
	    l->n_venvs == VENVS_MAX)
		return;
	l->venvs[l->n_venvs] = pool_dup(&l->pool, path, len - n);
	l->n_venvs += l->venvs[l->n_venvs] != NULL;
}

void libraries_add(struct libraries *l, const char *path, size_t len,
		   const struct stamp *stamp, bool executed)
{
	struct library *library;

	add_venv(l, path, len);
	if (!executed && !is_library_name(path, len))
		return;
	if (l->n == LIBRARIES_MAX) {
		l->n_left_out++;
		return;
	}
	library = VEC_PUSH(l->list, l->n, l->cap);
	if (!library)
		return;
	library->path = pool_dup(&l->pool, path, len);
	library->stamp = *stamp;
	library->executed = executed;
	l->n -= library->path == NULL;
}

/* ---- the document ---- */

static int compare_paths(const void *a, const void *b)
{
	const struct library *x = a;
	const struct library *y = b;

	return strcmp(x->path, y->path);
}

static void put_build_id(struct json *json, const struct elf_notes *notes)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1];

	if (!notes->build_id_len)
		return;
	digest_hex(hex, notes->build_id, notes->build_id_len);
	json_put_key(json, "build_id");
	json_put_string(json, hex);
}

static void write_library(struct libraries *l, const struct library *library,
			  struct json *json)
{
	struct elf_notes notes;
	const char *version;
	size_t len;

	/* A script, for example. */
	if (elf_cache_read(&l->cache, library->path, &library->stamp, &notes) <
	    0)
		return;
	json_put_object(json);
	json_put_key(json, "path");
	json_put_string(json, library->path);
	if (notes.soname[0]) {
		json_put_key(json, "soname");
		json_put_string(json, notes.soname);
	}
	version = elf_version_of_name(library->path, &len);
	if (len) {
		json_put_key(json, "version");
		json_put_bytes(json, version, len);
	}
	put_build_id(json, &notes);
	json_end(json);
}

static void write_interpreter(struct json *json, const struct interpreter *i)
{
	json_put_object(json);
	json_put_key(json, "kind");
	json_put_string(json, i->kind);
	json_put_key(json, "path");
	json_put_string(json, i->path);
	if (i->version[0]) {
		json_put_key(json, "version");
		json_put_string(json, i->version);
	}
	json_put_key(json, "prefix");
	json_put_string(json, i->prefix);
	json_put_key(json, "venv");
	json_put_bool(json, i->venv);
	json_end(json);
}

/* One entry per virtual environment that is based on the program, or one for itself. */
static void write_program(struct libraries *l, const struct library *program,
			  struct packages *packages, struct json *json)
{
	const char *manager, *version = "";
	struct elf_notes notes;
	struct interpreter i;
	bool found = false;

	if (!program->executed || !interpreter_kind(program->path))
		return;
	/* A script of that name, as pyenv has, starts the interpreter. */
	if (elf_cache_read(&l->cache, program->path, &program->stamp, &notes) ==
	    -ENOEXEC)
		return;
	(void)packages_owner(packages, program->path, strlen(program->path),
			     &manager, &version);
	for (size_t v = 0; v < l->n_venvs; v++)
		if (interpreter_of_venv(&i, l->venvs[v], program->path)) {
			write_interpreter(json, &i);
			found = true;
		}
	if (found)
		return;
	interpreter_of_program(&i, program->path, version);
	write_interpreter(json, &i);
}

bool libraries_write(struct libraries *l, struct packages *packages,
		     struct json *json)
{
	size_t n = 0;

	if (!l->n)
		return false;
	qsort(l->list, l->n, sizeof(*l->list), compare_paths);
	for (size_t i = 0; i < l->n; i++)
		if (!n || strcmp(l->list[n - 1].path, l->list[i].path) != 0)
			l->list[n++] = l->list[i];
		else
			l->list[n - 1].executed |= l->list[i].executed;
	l->n = n;
	json_put_object(json);
	json_put_key(json, "interpreters");
	json_put_array(json);
	for (size_t i = 0; i < n; i++)
		write_program(l, &l->list[i], packages, json);
	json_end(json);
	json_put_key(json, "libraries");
	json_put_array(json);
	for (size_t i = 0; i < n; i++)
		write_library(l, &l->list[i], json);
	json_end(json);
	if (l->n_left_out) {
		json_put_key(json, "n_left_out");
		json_put_int(json, (int64_t)l->n_left_out);
	}
	json_end(json);
	elf_cache_save(&l->cache);
	return true;
}
