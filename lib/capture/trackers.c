/* trackers.c - see trackers.h */
#include "capture/trackers.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/vec.h"
#include "capture/package_database.h"

enum {
	TRACKERS_MAX = 256,
	WANDB_HEAD = 32 * 1024, /* the record of the run is among the first */
};

struct tracker {
	const char *name;
	const char *run_id; /* "": unknown */
	const char *folder;
};

struct trackers {
	struct pool pool;
	struct map known; /* folder -> struct tracker */
	struct tracker **list; /* in the order of their first file */
	size_t n, cap;
};

int trackers_new(struct trackers **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void trackers_free(struct trackers *t)
{
	if (!t)
		return;
	map_release(&t->known);
	free(t->list);
	pool_release(&t->pool);
	free(t);
}

static void add(struct trackers *t, const char *name, const char *folder,
		size_t len, const char *run_id, size_t id_len)
{
	struct tracker *k = map_get(&t->known, folder, len);
	struct tracker **slot;

	if (k || t->n == TRACKERS_MAX)
		return;
	k = pool_zalloc(&t->pool, sizeof(*k));
	if (!k)
		return;
	k->name = name;
	k->folder = pool_dup(&t->pool, folder, len);
	k->run_id = pool_dup(&t->pool, run_id, id_len);
	if (!k->folder || !k->run_id ||
	    map_set(&t->known, k->folder, len, k) < 0)
		return;
	slot = VEC_PUSH(t->list, t->n, t->cap);
	if (slot)
		*slot = k;
}

/* ---- names ---- */

struct part {
	const char *text;
	size_t len;
};

/* The component at `at`; len 0 at the end. */
static struct part component(const char *at, const char *end)
{
	const char *slash = memchr(at, '/', (size_t)(end - at));

	return (struct part){ at, (size_t)((slash ? slash : end) - at) };
}

static bool starts_with(struct part p, const char *text)
{
	size_t n = strlen(text);

	return p.len > n && memcmp(p.text, text, n) == 0;
}

/* "run-20240102_030405-a1b2c3d4": the folder of a run; its id follows the last dash. */
static void find_wandb(struct trackers *t, const char *path, const char *at,
		       const char *end)
{
	struct part run = component(at, end);
	const char *dash;

	if (run.text + run.len == end ||
	    (!starts_with(run, "run-") && !starts_with(run, "offline-run-")))
		return;
	dash = memrchr(run.text, '-', run.len);
	add(t, "wandb", path, (size_t)(run.text + run.len - path), dash + 1,
	    (size_t)(run.text + run.len - dash - 1));
}

/* mlruns/EXPERIMENT/RUN with a RUN of 32 digits. */
static void find_mlflow(struct trackers *t, const char *path, const char *at,
			const char *end)
{
	struct part experiment = component(at, end);
	struct part run;

	at = experiment.text + experiment.len;
	if (at == end)
		return;
	run = component(at + 1, end);
	if (run.len == 32 && strspn(run.text, "0123456789abcdef") == run.len)
		add(t, "mlflow", path, (size_t)(run.text + run.len - path),
		    run.text, run.len);
}

static void find_neptune(struct trackers *t, const char *path, const char *at,
			 const char *end)
{
	struct part mode = component(at, end);
	struct part run;

	at = mode.text + mode.len;
	if (at == end ||
	    (!starts_with(mode, "asyn") && !starts_with(mode, "offlin") &&
	     !starts_with(mode, "syn")))
		return;
	run = component(at + 1, end);
	if (!run.len || run.text + run.len == end)
		return;
	add(t, "neptune", path, (size_t)(run.text + run.len - path), run.text,
	    run.len);
}

/* .aim/meta/chunks/RUN, .aim/seqs/chunks/RUN: one tracker for both. */
static void find_aim(struct trackers *t, const char *path, const char *at,
		     const char *end)
{
	struct part kind = component(at, end);
	struct part chunks, run;

	if (kind.text + kind.len == end)
		return;
	chunks = component(kind.text + kind.len + 1, end);
	if (chunks.len != 6 || memcmp(chunks.text, "chunks", 6) != 0 ||
	    chunks.text + chunks.len == end)
		return;
	run = component(chunks.text + chunks.len + 1, end);
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->list[i]->name, "aim") == 0 &&
		    strlen(t->list[i]->run_id) == run.len &&
		    memcmp(t->list[i]->run_id, run.text, run.len) == 0)
			return;
	if (run.len)
		add(t, "aim", path, (size_t)(run.text + run.len - path),
		    run.text, run.len);
}

static void find_trackio(struct trackers *t, const char *path, const char *at,
			 const char *end)
{
	(void)at;
	if (end - path > 3 && memcmp(end - 3, ".db", 3) == 0)
		add(t, "trackio", path, (size_t)(end - path), "", 0);
}

/* A directory, and what is looked for below it. */
static const struct {
	const char *dir;
	void (*find)(struct trackers *t, const char *path, const char *at,
		     const char *end);
} dirs[] = {
	{ "/wandb/", find_wandb },   { "/.wandb/", find_wandb },
	{ "/mlruns/", find_mlflow }, { "/.neptune/", find_neptune },
	{ "/.aim/", find_aim },	     { "/trackio/", find_trackio },
};

void trackers_add(struct trackers *t, const char *path, size_t len)
{
	static const char events[] = "events.out.tfevents.";
	const char *end = path + len;
	const char *slash = memrchr(path, '/', len);

	if (!slash)
		return;
	if ((size_t)(end - slash) > sizeof(events) &&
	    memcmp(slash + 1, events, sizeof(events) - 1) == 0)
		add(t, "tensorboard", path, (size_t)(slash - path), "", 0);
	if (end - slash == 10 && memcmp(slash + 1, "mlflow.db", 9) == 0)
		add(t, "mlflow", path, len, "", 0);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		size_t n = strlen(dirs[i].dir);
		const char *at = memmem(path, len, dirs[i].dir, n);

		if (at)
			dirs[i].find(t, path, at + n, end);
	}
}

/* ---- projects ---- */

/* A number of a protocol buffer; false: it does not end. */
static bool take_varint(const unsigned char **at, const unsigned char *end,
			uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		unsigned char byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/* The field of that number with bytes; NULL: there is none. */
static const unsigned char *find_field(const unsigned char *at,
				       const unsigned char *end,
				       uint64_t number, size_t *ret_len)
{
	while (at < end) {
		uint64_t tag, n = 0;

		if (!take_varint(&at, end, &tag))
			return NULL;
		switch (tag & 7) {
		case 0:
			if (!take_varint(&at, end, &n))
				return NULL;
			n = 0;
			break;
		case 1:
			n = 8;
			break;
		case 2:
			if (!take_varint(&at, end, &n))
				return NULL;
			break;
		case 5:
			n = 4;
			break;
		default:
			return NULL;
		}
		if (n > (uint64_t)(end - at))
			return NULL;
		if (tag >> 3 == number && (tag & 7) == 2) {
			*ret_len = (size_t)n;
			return at;
		}
		at += n;
	}
	return NULL;
}

/* A .wandb file is a log: seven bytes for the file, then chunks of checksum (4), length
 * (2), type (1) and a record.  Field 17 of a record is the run; its field 3 the project. */
const char *trackers_wandb_project(const char *text, size_t size,
				   size_t *ret_len)
{
	enum { FILE_HEADER = 7, CHUNK_HEADER = 7, RUN = 17, PROJECT = 3 };
	const unsigned char *at = (const unsigned char *)text + FILE_HEADER;
	const unsigned char *end = (const unsigned char *)text + size;

	*ret_len = 0;
	if (size < FILE_HEADER || memcmp(text, ":W&B", 4) != 0)
		return "";
	while (end - at > CHUNK_HEADER) {
		size_t n = at[4] | (size_t)at[5] << 8;
		const unsigned char *run, *project = NULL;
		size_t len = 0;

		at += CHUNK_HEADER;
		if (n > (size_t)(end - at))
			return "";
		run = find_field(at, at + n, RUN, &len);
		if (run)
			project = find_field(run, run + len, PROJECT, &len);
		if (project) {
			*ret_len = len;
			return (const char *)project;
		}
		at += n;
	}
	return "";
}

static void wandb_project(const struct tracker *k, struct str *out)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(closep) int fd = -1;
	char head[WANDB_HEAD];
	const char *project;
	size_t len;
	ssize_t n;

	str_addf(&path, "%s/run-%s.wandb", k->folder, k->run_id);
	if (str_error(&path) < 0)
		return;
	fd = open(path.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	n = fd < 0 ? -1 : read(fd, head, sizeof(head));
	if (n <= 0)
		return;
	project = trackers_wandb_project(head, (size_t)n, &len);
	str_add(out, project, len);
}

/* mlruns/EXPERIMENT/meta.yaml: "name: NAME" */
static void mlflow_project(const struct tracker *k, struct str *out)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *name;
	size_t len;

	if (!*k->run_id)
		return;
	path_dirname(&path, k->folder);
	str_adds(&path, "/meta.yaml");
	if (str_error(&path) == 0 &&
	    package_file_read(AT_FDCWD, path.data, PACKAGE_TEXT_MAX, &text) ==
		    0 &&
	    package_field(str_cstr(&text), text.len, "name", &name, &len))
		str_add(out, name, len);
}

/* The file is named for the project. */
static void trackio_project(const struct tracker *k, struct str *out)
{
	const char *name = path_basename(k->folder);

	str_add(out, name, strlen(name) - strlen(".db"));
}

static const struct {
	const char *name;
	const char *variable;
	void (*find)(const struct tracker *k, struct str *out);
} projects[] = {
	{ "wandb", "WANDB_PROJECT", wandb_project },
	{ "mlflow", "MLFLOW_EXPERIMENT_NAME", mlflow_project },
	{ "neptune", "NEPTUNE_PROJECT", NULL },
	{ "trackio", "TRACKIO_PROJECT", trackio_project },
};

/* ---- the document ---- */

static void put_project(const struct tracker *k,
			const char *(*variable)(void *ctx, const char *name),
			void *ctx, struct json *json)
{
	CLEANUP(str_release) struct str found = STR_INIT;
	const char *named = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(projects); i++) {
		if (strcmp(projects[i].name, k->name) != 0)
			continue;
		if (projects[i].find)
			projects[i].find(k, &found);
		if (!found.len)
			named = variable(ctx, projects[i].variable);
		if (named)
			str_adds(&found, named);
	}
	if (!found.len || found.failed)
		return;
	json_put_key(json, "project");
	json_put_bytes(json, found.data, found.len);
}

bool trackers_write(const struct trackers *t,
		    const char *(*variable)(void *ctx, const char *name),
		    void *ctx, struct json *json)
{
	if (!t->n)
		return false;
	json_put_object(json);
	json_put_key(json, "trackers");
	json_put_array(json);
	for (size_t i = 0; i < t->n; i++) {
		const struct tracker *k = t->list[i];

		json_put_object(json);
		json_put_key(json, "name");
		json_put_string(json, k->name);
		if (*k->run_id) {
			json_put_key(json, "run_id");
			json_put_string(json, k->run_id);
		}
		put_project(k, variable, ctx, json);
		json_put_key(json, "folder");
		json_put_string(json, k->folder);
		json_end(json);
	}
	json_end(json);
	json_end(json);
	return true;
}
