/* verify_run.c - see verify.h
 *
 * A window of the list at a time: its small files by the engine, all at once; then
 * the window in its order, with the large ones read as they come. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "hash/hash_line.h"
#include "hash/jobs/engine.h"
#include "hash/verify.h"

enum { WINDOW = 4096, LOOK_NS = 100000000 };

struct run {
	const struct verify_options *options;
	const struct verify_trees *trees;
	struct engine_file *files; /* one for each item of a window */
	bool *large; /* the same */
	struct progress progress;
	int64_t look_ns; /* monotonic: the next time the bar is drawn */
	uint64_t n_done;
	uint64_t bytes_done; /* of files that are done */
	struct str out;
	struct json json;
};

static void release(struct run *run)
{
	free(run->files);
	free(run->large);
	str_release(&run->out);
}

/* ---- the bar ---- */

static void show(struct run *run, uint64_t n_files, uint64_t n_bytes)
{
	struct hasher_progress p = {
		.n_done = run->n_done + n_files,
		.bytes_done = run->bytes_done + n_bytes,
		.bytes_read = run->bytes_done + n_bytes,
	};

	progress_show(&run->progress, &p);
}

static bool look_at_engine(void *ctx, const struct engine_progress *p)
{
	show(ctx, p->n_done, p->bytes_read);
	return false;
}

static bool look_at_file(void *ctx, uint64_t n_bytes)
{
	struct run *run = ctx;
	int64_t now = clock_mono_ns();

	if (now >= run->look_ns) {
		run->look_ns = now + LOOK_NS;
		show(run, 0, n_bytes);
	}
	return false;
}

/* The bar has to know the sizes beforehand. */
static void plan(struct run *run, const struct verify_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct verify_item *item = &list->all[i];
		struct stat st;

		if (item->state == VERIFY_OK && !item->is_link &&
		    stat(item->path, &st) == 0 && S_ISREG(st.st_mode))
			progress_plan(&run->progress, (uint64_t)st.st_size);
	}
}

/* ---- small files ---- */

static void settle(struct verify_item *item, const struct engine_file *file)
{
	if (file->result == 0) {
		verify_file_settle(item, file->hash.digests.blake3,
				   file->hash.stamp.size);
		return;
	}
	item->state = file->result == -ENOENT ? VERIFY_MISSING :
						VERIFY_UNREADABLE;
	item->error = file->result;
}

static int check_small(struct run *run, struct verify_item *items, size_t n)
{
	struct engine_options options = {
		.may_map = true,
		.want = DIGEST_SET_BLAKE3,
		.n_threads = run->options->n_threads,
		.own_tables = true,
		.look = look_at_engine,
		.ctx = run,
	};
	int r;

	for (size_t i = 0; i < n; i++) {
		bool read = verify_file_look(&items[i], run->options);

		run->large[i] = read && verify_file_is_large(&items[i]);
		run->files[i] = (struct engine_file){
			.path = read && !run->large[i] ? items[i].path : NULL,
		};
	}
	r = engine_run(run->files, n, &options);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (!run->files[i].path)
			continue;
		settle(&items[i], &run->files[i]);
		run->n_done++;
		run->bytes_done += items[i].found_bytes;
	}
	return r;
}

/* ---- in their order ---- */

static void check_large(struct run *run, struct verify_item *item)
{
	struct leaf_tree_file_options how = {
		.may_map = true,
		.n_threads = run->options->n_threads,
		.look = look_at_file,
		.ctx = run,
	};

	verify_file_read(item, run->options, run->trees, &how);
	run->n_done++;
	run->bytes_done += item->found_bytes;
}

static int flush(struct run *run)
{
	int status;

	if (!run->out.len)
		return 0;
	progress_end(&run->progress);
	if (!run->options->json)
		return hash_line_print(&run->out);
	status = cli_print(&run->out);
	str_clear(&run->out);
	return status;
}

static void say(struct run *run, const struct verify_item *item)
{
	/* A file that the runs themselves removed is not missing. */
	if (item->may_be_gone && item->state == VERIFY_MISSING)
		return;
	if (run->options->json)
		verify_say_json(&run->json, item);
	else
		verify_say_line(&run->out, item, run->options);
}

static int run_window(struct run *run, struct verify_item *items, size_t n)
{
	int r = check_small(run, items, n);
	int status = 0;

	if (r < 0)
		return cli_fail("cannot read the files: %s", strerror(-r));
	for (size_t i = 0; i < n && !status; i++) {
		if (run->large[i]) {
			status = flush(run);
			check_large(run, &items[i]);
		}
		say(run, &items[i]);
	}
	return status ? status : flush(run);
}

static int start(struct run *run, const struct verify_list *list)
{
	size_t size = list->n < WINDOW ? list->n : WINDOW;

	run->files = calloc(size + 1, sizeof(*run->files));
	run->large = calloc(size + 1, sizeof(*run->large));
	if (!run->files || !run->large)
		return cli_fail("no memory for the list of files");
	run->json = json_writer(&run->out, true);
	run->progress = progress_start(!run->options->quiet, NULL);
	if (run->progress.enabled && !run->options->has_range)
		plan(run, list);
	return 0;
}

static int end_json(struct run *run)
{
	json_end(&run->json);
	str_addc(&run->out, '\n');
	return flush(run);
}

int verify_run(struct verify_list *list, const struct verify_options *options,
	       const struct verify_trees *trees)
{
	CLEANUP(release)
	struct run run = { .options = options, .trees = trees };
	int status = start(&run, list);

	if (!status && options->json)
		json_put_array(&run.json);
	for (size_t at = 0; at < list->n && !status; at += WINDOW)
		status = run_window(&run, list->all + at,
				    list->n - at < WINDOW ? list->n - at :
							    WINDOW);
	if (!status && options->json)
		status = end_json(&run);
	progress_end(&run.progress);
	return status ? status : verify_say_end(list);
}
