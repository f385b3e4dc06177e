/* objects.c - see objects.h */
#include "run/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "event/note.h"
#include "lineage/object_fold.h"
#include "lineage/redact.h"
#include "project/project.h"
#include "run/run.h"

void objects_name(const char *uid, char ret_name[OBJECTS_NAME_MAX])
{
	(void)snprintf(ret_name, OBJECTS_NAME_MAX, "runs/%.*s.objects",
		       NOTE_UID_LEN, uid);
}

void objects_remove(int project, const char *uid)
{
	char name[OBJECTS_NAME_MAX];

	objects_name(uid, name);
	(void)unlinkat(project, name, 0);
}

/* ---- reading ---- */

static int add_op(void *ctx, const struct object_op *op)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	struct run *run = ctx;
	int r = object_fold_add(run->objects, op);

	if (r <= 0)
		return r;
	object_path(&path, op->bucket, op->key);
	fold_add_gap(run->fold, EVENT_GAP_REQUEST, str_cstr(&path));
	return 0;
}

static void add_count_gap(struct run *run, int code, int64_t n,
			  const char *noun)
{
	char text[64];

	if (!n)
		return;
	(void)snprintf(text, sizeof(text), "%lld %s%s", (long long)n, noun,
		       n == 1 ? "" : "s");
	fold_add_gap(run->fold, code, text);
}

/* Content that nothing names: neither a digest nor a version nor an ETag. */
static bool is_unknown(const struct object_fact *fact)
{
	return !fact->has_blake3 && !fact->etag[0] && !fact->version[0] &&
	       fact->role != LINEAGE_TEMPORARY;
}

static void count_facts(struct run *run)
{
	size_t n;
	struct object_fact *const *facts = object_fold_facts(run->objects, &n);

	for (size_t i = 0; i < n; i++) {
		run->n_inputs += facts[i]->role == LINEAGE_INPUT;
		run->n_outputs += facts[i]->role == LINEAGE_OUTPUT;
		if (is_unknown(facts[i]))
			fold_add_gap(run->fold, EVENT_GAP_UNREADABLE,
				     facts[i]->path);
	}
}

static int read_log(struct run *run, int fd)
{
	struct object_log_summary sum;
	int r = object_log_read(fd, add_op, run, &sum);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		fold_add_gap(run->fold, EVENT_GAP_OBJECT_LOG, strerror(-r));
		return 0;
	}
	/* A proxy that was killed says nothing about what did not come. */
	run->n_requests = sum.n_ops || sum.ended ? sum.n_ops : -1;
	add_count_gap(run, EVENT_GAP_OBJECT_LOG, sum.n_bad, "line");
	add_count_gap(run, EVENT_GAP_REQUEST, sum.n_open, "request");
	if (!sum.ended)
		fold_add_gap(run->fold, EVENT_GAP_PROXY, "");
	return 0;
}

int objects_read(struct run *run)
{
	char name[OBJECTS_NAME_MAX];
	CLEANUP(closep) int fd = -1;
	int r;

	objects_name(run_birth_uid(run), name);
	fd = openat(run->project->dirfd, name,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0) {
		if (run->meta.environment[0])
			fold_add_gap(run->fold, EVENT_GAP_OBJECT_LOG,
				     strerror(errno));
		return 0;
	}
	r = object_fold_new(&run->objects);
	if (r == 0)
		r = read_log(run, fd);
	if (r == 0)
		count_facts(run);
	return r;
}

/* ---- recording ---- */

size_t objects_outputs(const struct run *run, const char **ret_paths)
{
	struct object_fact *const *facts;
	size_t n_outputs = 0;
	size_t n;

	if (!run->objects)
		return 0;
	facts = object_fold_facts(run->objects, &n);
	for (size_t i = 0; i < n; i++)
		if (facts[i]->role == LINEAGE_OUTPUT)
			ret_paths[n_outputs++] = facts[i]->path;
	return n_outputs;
}

static void fill_digests(const struct object_fact *fact, struct digests *ret)
{
	if (fact->has_blake3) {
		memcpy(ret->blake3, fact->blake3, sizeof(ret->blake3));
		ret->have |= DIGEST_SET_BLAKE3;
	}
	if (fact->has_sha256) {
		memcpy(ret->sha256, fact->sha256, sizeof(ret->sha256));
		ret->have |= (digest_set)1 << DIGEST_SHA256;
	}
}

/* What a row of files says of an object; `order` is its place after all files. */
static struct store_file file_row(const struct run *run,
				  const struct object_fact *fact, int64_t order)
{
	bool is_input = fact->role == LINEAGE_INPUT;
	struct store_file row = {
		.job_id = run->job.id,
		.path = fact->path,
		.role = fact->role,
		.intermediate = fact->intermediate,
		.seen = is_input ? LINEAGE_READ_PRIOR : LINEAGE_CREATED,
		.read_order = is_input ? order : 0,
		.write_order = is_input ? 0 : order,
		.reader = is_input ? fact->pid : 0,
		.writer = is_input ? 0 : fact->pid,
		.bytes_read = is_input ? fact->n_bytes : -1,
		.bytes_written = is_input ? -1 : fact->n_bytes,
		.stamp.size = fact->size < 0 ? 0 : (uint64_t)fact->size,
	};

	if (fact->intermediate)
		row.seen |= LINEAGE_READ_OWN;
	if (fact->role == LINEAGE_TEMPORARY)
		row.seen |= LINEAGE_REMOVED;
	/* When its content was complete; of what was read, nobody knows. */
	if (!is_input)
		row.stamp.mtime_ns = row.stamp.ctime_ns = fact->end_ns;
	fill_digests(fact, &row.digests);
	return row;
}

static int add_row(struct run *run, struct store *store,
		   const struct object_fact *fact, int64_t order,
		   struct roar_error *err)
{
	CLEANUP(str_release) struct str ranges = STR_INIT;
	CLEANUP(str_release) struct str endpoint = STR_INIT;
	struct store_file row = file_row(run, fact, order);
	struct store_object object = {
		.op = object_op_name(fact->op),
		.version = fact->version,
		.etag = fact->etag,
		.copy_source = fact->copy_source,
		.n_parts = fact->n_parts,
		.n_requests = fact->n_requests,
		.pid = fact->pid,
	};

	object_ranges(&ranges, fact, OBJECTS_RANGES_MAX);
	redact_text(run->redact, fact->endpoint, strlen(fact->endpoint),
		    &endpoint);
	if (str_error(&ranges) < 0 || str_error(&endpoint) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	object.ranges = str_cstr(&ranges);
	object.endpoint = str_cstr(&endpoint);
	return store_object_add(store, &row, &object, err);
}

int objects_record(struct run *run, struct store *store, struct roar_error *err)
{
	struct object_fact *const *facts;
	int64_t order = 0;
	size_t n;

	if (!run->objects)
		return 0;
	for (size_t i = 0; i < run->n_files; i++) {
		const struct lineage_file *f = run->files[i].file;

		order = f->read_order > order ? f->read_order : order;
		order = f->write_order > order ? f->write_order : order;
	}
	facts = object_fold_facts(run->objects, &n);
	for (size_t i = 0; i < n; i++) {
		int r = add_row(run, store, facts[i], ++order, err);

		if (r < 0)
			return r;
	}
	return 0;
}
