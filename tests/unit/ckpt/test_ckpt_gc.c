/* test_ckpt_gc.c - what gc removes, and that it never removes what is referred to */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#include "blob/blob.h"
#include "ckpt/ckpt_failure.h"
#include "ckpt/ckpt_gc.h"
#include "ckpt/ckpt_listing.h"
#include "ckpt/ckpt_reader.h"
#include "made_checkpoint.h"

struct place {
	char base[64];
	struct blob_store *store;
};

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	(void)strcpy(p->base, "/tmp/test-ckpt.XXXXXX");
	if (!mkdtemp(p->base))
		return -1;
	*state = p;
	return blob_open(p->base, false, 1, &p->store, NULL);
}

static int remove_place(void **state)
{
	struct place *p = *state;
	char command[128];

	blob_close(p->store);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", p->base);
	free(p);
	return system(command);
}

static uint32_t seed = 1;

static uint32_t below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)seed * n >> 32);
}

static struct ckpt_gc_result collect(struct place *p,
				     struct ckpt_gc_options options)
{
	struct ckpt_gc_result result = { 0 };
	struct roar_error err = { 0 };
	int r = ckpt_gc_run(p->store, &options, &result, &err);

	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	return result;
}

static bool exists(const struct place *p, const char *path)
{
	char name[256];

	(void)snprintf(name, sizeof(name), "%s/%s", p->base, path);
	return access(name, F_OK) == 0;
}

static bool is_whole(struct place *p, uint64_t step)
{
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;

	return ckpt_reader_open(p->store, step, NULL, &reader, NULL) == 0 &&
	       ckpt_reader_scan(reader, NULL, NULL, NULL) == 0;
}

/* Every name below the base, a directory counts as well. */
static int count_name(void *ctx, const struct blob_entry *entry)
{
	(void)entry;
	++*(size_t *)ctx;
	return 0;
}

static size_t n_names(struct place *p)
{
	size_t n = 0;

	assert_int_equal(blob_list(p->store, "", count_name, &n, NULL), 0);
	return n;
}

/* ---- */

static void rules_remove_whole_checkpoints(void **state)
{
	struct place *p = *state;
	struct made_state s;
	struct ckpt_gc_result g;
	uint64_t latest = 0;

	made_state_init(&s, 1);
	for (uint64_t step = 1; step <= 6; step++)
		made_checkpoint_write(
			p->base, &s,
			&(struct made_options){ .step = step,
						.world = 2,
						.loss = (double)(step % 4),
						.tag = step == 1 ? "first" :
								   NULL });
	g = collect(p, (struct ckpt_gc_options){
			       .rules = { .last = 1,
					  .best = CKPT_BEST_HIGHEST,
					  .metric = "loss" },
			       .dry_run = true });
	assert_int_equal(g.n_removed, 3);
	assert_int_equal(g.n_files, 3 * 4);
	assert_true(is_whole(p, 2));
	g = collect(p, (struct ckpt_gc_options){
			       .rules = { .last = 1,
					  .best = CKPT_BEST_HIGHEST,
					  .metric = "loss" } });
	assert_int_equal(g.n_kept, 3);
	assert_int_equal(g.n_removed, 3);
	assert_int_equal(g.n_files, 3 * 4);
	for (uint64_t step = 1; step <= 6; step++) {
		char name[CKPT_NAME_SIZE];
		bool kept = step == 1 || step == 3 || step == 6;

		ckpt_name_step(name, step);
		assert_int_equal(exists(p, name), kept);
		assert_int_equal(is_whole(p, step), kept);
	}
	assert_int_equal(ckpt_store_latest(p->store, &latest, NULL), 0);
	assert_int_equal(latest, 6);
	made_state_release(&s);
}

static void without_rules_only_leftovers_go(void **state)
{
	struct place *p = *state;
	CLEANUP(ckpt_listing_release)
	struct ckpt_listing l = CKPT_LISTING_INIT;
	struct made_state s;
	struct ckpt_gc_result g;

	made_state_init(&s, 1);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1, .world = 2 });
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1,
						      .world = 3,
						      .save = "0badcafe",
						      .uncommitted = 1 });
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 2,
						      .world = 1,
						      .uncommitted = 1 });
	assert_int_equal(blob_put(p->store, "step-000000000002/notes.txt", NULL,
				  "mine", 4, 0, NULL),
			 0);
	assert_int_equal(
		ckpt_listing_read(&l, p->store, CKPT_LIST_MANIFESTS, NULL), 0);
	assert_int_equal(l.n_entries, 2);
	assert_int_equal(l.entries[0].n_leftovers, 6);
	assert_int_equal(l.entries[1].n_leftovers, 2);
	assert_false(l.entries[1].is_committed);
	g = collect(p, (struct ckpt_gc_options){ 0 });
	assert_int_equal(g.n_kept, 1);
	assert_int_equal(g.n_files, 8);
	assert_true(is_whole(p, 1));
	/* What is not ours stays, and its directory too. */
	assert_true(exists(p, "step-000000000002/notes.txt"));
	assert_int_equal(n_names(p), 1 + 5 + 2);
	made_state_release(&s);
}

static void a_save_that_goes_on_is_left_alone(void **state)
{
	struct place *p = *state;
	struct made_state s;
	struct blob_hold *hold = NULL;
	struct ckpt_gc_result g;
	CLEANUP(ckpt_listing_release)
	struct ckpt_listing l = CKPT_LISTING_INIT;

	made_state_init(&s, 1);
	for (uint64_t step = 1; step <= 2; step++)
		made_checkpoint_write(p->base, &s,
				      &(struct made_options){ .step = step,
							      .world = 1 });
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 3,
						      .world = 1,
						      .save = "0badcafe",
						      .uncommitted = 1 });
	assert_int_equal(blob_hold(p->store,
				   "step-000000000003/writing-0badcafe", &hold,
				   NULL),
			 0);
	assert_int_equal(
		ckpt_listing_read(&l, p->store, CKPT_LIST_MANIFESTS, NULL), 0);
	assert_true(l.entries[2].is_writing);
	assert_int_equal(l.entries[2].n_leftovers, 0);
	/* It may use data of step 1: these stay, and the manifest goes. */
	g = collect(p, (struct ckpt_gc_options){ .rules = { .last = 1 } });
	assert_int_equal(g.n_removed, 1);
	assert_int_equal(g.n_postponed, 1);
	assert_false(exists(p, "step-000000000001/manifest.json"));
	assert_true(exists(
		p,
		"step-000000000001/data-00000-of-00001-00000001.safetensors"));
	assert_true(exists(
		p,
		"step-000000000003/data-00000-of-00001-0badcafe.safetensors"));
	blob_release(hold, false);
	g = collect(p, (struct ckpt_gc_options){ .rules = { .last = 1 } });
	assert_int_equal(g.n_postponed, 0);
	assert_false(exists(p, "step-000000000001"));
	assert_false(exists(p, "step-000000000003"));
	assert_true(is_whole(p, 2));
	made_state_release(&s);
}

/* The note is shown until a later step is there; then gc removes it. */
static void a_failed_save_is_listed(void **state)
{
	struct place *p = *state;
	CLEANUP(ckpt_listing_release)
	struct ckpt_listing l = CKPT_LISTING_INIT, m = CKPT_LISTING_INIT;
	struct made_state s;

	made_state_init(&s, 1);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1, .world = 1 });
	ckpt_failure_put(p->base, 2, "0badcafe", "no space \"left\"");
	assert_int_equal(collect(p, (struct ckpt_gc_options){ 0 }).n_files, 0);
	assert_int_equal(
		ckpt_listing_read(&l, p->store, CKPT_LIST_MANIFESTS, NULL), 0);
	assert_int_equal(l.n_entries, 2);
	assert_int_equal(l.entries[1].n_failures, 1);
	assert_int_equal(l.entries[1].n_leftovers, 0);
	assert_string_equal(l.entries[1].failures[0].save, "0badcafe");
	assert_string_equal(l.entries[1].failures[0].sentence,
			    "no space \"left\"");
	assert_int_equal(ckpt_listing_latest(&l)->step, 1);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 3, .world = 1 });
	assert_int_equal(collect(p, (struct ckpt_gc_options){ 0 }).n_files, 1);
	assert_int_equal(
		ckpt_listing_read(&m, p->store, CKPT_LIST_MANIFESTS, NULL), 0);
	assert_int_equal(m.n_entries, 2);
	made_state_release(&s);
}

static void an_unreadable_manifest_stops_everything(void **state)
{
	struct place *p = *state;
	struct ckpt_gc_options options = { .rules = { .last = 1 } };
	struct ckpt_gc_result g;
	struct roar_error err = { 0 };
	struct made_state s;
	size_t n;

	made_state_init(&s, 1);
	for (uint64_t step = 1; step <= 3; step++)
		made_checkpoint_write(p->base, &s,
				      &(struct made_options){ .step = step,
							      .world = 1 });
	assert_int_equal(blob_put(p->store, "step-000000000002/manifest.json",
				  NULL, "{}\n", 3, 0, NULL),
			 0);
	n = n_names(p);
	assert_int_equal(ckpt_gc_run(p->store, &options, &g, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "step-000000000002/manifest.json"));
	assert_int_equal(n_names(p), n);
	made_state_release(&s);
}

/* ---- random histories ---- */

enum { STEPS = 14 };

struct history {
	struct made_state states[STEPS + 1];
	bool is_made[STEPS + 1], is_there[STEPS + 1];
};

/* A full checkpoint, or a delta of any that is there. */
static void save_random(struct place *p, struct history *h, uint64_t step)
{
	uint64_t parent = 0;
	uint64_t from = below(STEPS);

	for (uint64_t i = 0; below(4) && i < STEPS && !parent; i++)
		if (h->is_there[(from + i) % STEPS + 1])
			parent = (from + i) % STEPS + 1;
	made_state_init(&h->states[step], (uint32_t)step);
	for (int i = 0; parent && i < MADE_TENSORS; i++)
		memcpy(h->states[step].bytes[i], h->states[parent].bytes[i],
		       made_tensors[i].n_bytes);
	for (uint32_t i = below(8); i > 0; i--) {
		int t = (int)below(MADE_TENSORS);

		h->states[step].bytes[t][below(
			(uint32_t)made_tensors[t].n_bytes)] ^= 0x55;
	}
	made_checkpoint_write(
		p->base, &h->states[step],
		&(struct made_options){
			.step = step,
			.world = 2,
			.parent = parent,
			.parent_state = parent ? &h->states[parent] : NULL,
			.tag = below(6) ? NULL : "x",
			.loss = below(100) });
	h->is_made[step] = h->is_there[step] = true;
}

static void collect_random(struct place *p, struct history *h)
{
	struct ckpt_gc_options options = {
		.rules = { .last = 1 + below(4),
			   .every = below(2) ? 0 : 1 + below(5),
			   .best = below(2) ? CKPT_BEST_NONE : CKPT_BEST_LOWEST,
			   .metric = "loss" },
	};
	CLEANUP(ckpt_listing_release)
	struct ckpt_listing l = CKPT_LISTING_INIT;
	struct ckpt_gc_result dry, g;

	options.dry_run = true;
	dry = collect(p, options);
	options.dry_run = false;
	g = collect(p, options);
	/* A dry run has said the same. */
	assert_int_equal(dry.n_removed, g.n_removed);
	assert_int_equal(dry.n_files, g.n_files);
	assert_int_equal(dry.bytes, g.bytes);
	memset(h->is_there, 0, sizeof(h->is_there));
	assert_int_equal(
		ckpt_listing_read(&l, p->store, CKPT_LIST_MANIFESTS, NULL), 0);
	for (size_t i = 0; i < l.n_entries; i++) {
		h->is_there[l.entries[i].step] = l.entries[i].is_committed;
		assert_int_equal(l.entries[i].n_leftovers, 0);
	}
}

static void random_histories_keep_what_is_referred_to(void **state)
{
	for (uint32_t number = 1; number <= 12; number++) {
		struct history h = { 0 };
		void *place = NULL;
		size_t n_kept = 0;

		(void)state;
		seed = number * 2654435761u;
		assert_int_equal(make_place(&place), 0);
		for (uint64_t step = 1; step <= STEPS; step++) {
			save_random(place, &h, step);
			if (!below(3))
				collect_random(place, &h);
			for (uint64_t i = 1; i <= step; i++)
				if (h.is_there[i] && !is_whole(place, i))
					fail_msg("history %u: step %u lost "
						 "data after step %u",
						 number, (unsigned)i,
						 (unsigned)step);
		}
		for (uint64_t i = 1; i <= STEPS; i++) {
			n_kept += h.is_there[i];
			if (h.is_made[i])
				made_state_release(&h.states[i]);
		}
		assert_true(n_kept > 0);
		assert_int_equal(remove_place(&place), 0);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rules_remove_whole_checkpoints),
		TEST(without_rules_only_leftovers_go),
		TEST(a_save_that_goes_on_is_left_alone),
		TEST(a_failed_save_is_listed),
		TEST(an_unreadable_manifest_stops_everything),
		cmocka_unit_test(random_histories_keep_what_is_referred_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
