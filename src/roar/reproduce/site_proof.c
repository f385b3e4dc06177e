/* site_proof.c - compares what a step has made with the record
 *
 * Every output is hashed right after its step, because a later one may change it.  Where
 * the digest differs and a tolerance was given, the values of known types are compared with
 * the recorded content, if that is at hand. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/quote.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "compare/compare.h"
#include "event/event.h"
#include "hash/file/file_hash.h"
#include "keep/keep.h"
#include "lineage/fold.h"
#include "reproduce/enclosure.h"
#include "reproduce/reproduce.h"
#include "reproduce/site.h"
#include "ui/view.h"

/* ---- values ---- */

/* The recorded content: at a name it had, or kept.  A descriptor, or -ENOENT. */
static int open_recorded(struct site *s, const struct store_file *row)
{
	CLEANUP(closep)
	int fd = open(row->path,
		      O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	struct file_hash now;

	if (fd >= 0 &&
	    file_hash_fd(fd, DIGEST_SET_BLAKE3, NULL, NULL, &now) == 0 &&
	    !memcmp(now.digests.blake3, row->digests.blake3, BLAKE3_LEN))
		return TAKE_FD(fd);
	return keep_open(s->p->view->project.dirfd, row->digests.blake3);
}

/* The Python that can read files of torch: that of the step. */
static const char *python_of(struct site *s, size_t step)
{
	const char *venv;

	if (!s->python_of[step])
		return "python3";
	venv = s->pythons[s->python_of[step] - 1].dir;
	return pool_printf(&s->p->view->pool, "%s/bin/python", venv);
}

static int compare_values(struct site *s, struct site_proof *proof,
			  struct roar_error *err)
{
	const struct compare_options options = {
		.rtol = s->p->rtol,
		.atol = s->p->atol,
		.python = python_of(s, proof->step),
	};
	CLEANUP(closep) int old = open_recorded(s, proof->row);
	CLEANUP(closep) int new = enclosure_open_file(s->dirfd, proof->place);
	CLEANUP(str_release) struct str text = STR_INIT;
	struct compare_result result;
	int r;

	if (old < 0 || new < 0) {
		proof->detail = "the recorded content is not at hand, so "
				"values cannot be compared";
		return 0;
	}
	r = compare_files(&(struct compare_file){ old, proof->place },
			  &(struct compare_file){ new, proof->place }, &options,
			  &result, err);
	if (r < 0)
		return r;
	if (s->p->tolerance && result.verdict == COMPARE_EQUAL)
		proof->state = PROOF_EQUAL;
	compare_describe(&result, &text);
	proof->detail = pool_strdup(&s->p->view->pool, str_cstr(&text));
	return proof->detail ? 0 : -ENOMEM;
}

/* ---- outputs ---- */

static int prove(struct site *s, struct site_proof *proof,
		 struct roar_error *err)
{
	const struct store_file *row = proof->row;
	struct digests now;
	int r;

	if (!proof->place) {
		proof->place = row->path;
		proof->state = PROOF_UNKNOWN;
		proof->detail = "it is outside of the new directory, where "
				"nothing was written";
		return 0;
	}
	r = enclosure_hash(s->dirfd, proof->place, &now, NULL);
	if (r < 0) {
		proof->state = PROOF_MISSING;
		proof->detail = r == -ENOENT ? "the step did not make it" :
					       strerror(-r);
		return r == -ENOMEM ? r : 0;
	}
	if (!(row->digests.have & DIGEST_SET_BLAKE3)) {
		proof->state = PROOF_UNKNOWN;
		proof->detail = "the record has no digest of it";
		return 0;
	}
	proof->state = memcmp(now.blake3, row->digests.blake3, BLAKE3_LEN) ?
			       PROOF_DIFFERENT :
			       PROOF_IDENTICAL;
	if (proof->state == PROOF_DIFFERENT && row->ftype == EVENT_FTYPE_REGULAR)
		return compare_values(s, proof, err);
	return 0;
}

int site_proof_step(struct site *s, size_t step, struct roar_error *err)
{
	const struct recipe_step *t = &s->p->recipe.steps[step];
	int r = 0;

	for (size_t i = 0; i < t->n_files && r == 0; i++) {
		struct site_proof *proof;
		const char *place;

		if (t->files[i].role != LINEAGE_OUTPUT ||
		    (t->files[i].ftype != EVENT_FTYPE_REGULAR &&
		     t->files[i].ftype != EVENT_FTYPE_SYMLINK))
			continue;
		r = recipe_place(&s->p->recipe.roots, &s->p->view->pool,
				 t->files[i].path, &place);
		proof = r < 0 ? NULL :
				VEC_PUSH(s->proofs, s->n_proofs, s->cap_proofs);
		if (!proof)
			return -ENOMEM;
		proof->step = step;
		proof->row = &t->files[i];
		proof->place = place;
		r = prove(s, proof, err);
	}
	return r;
}

const struct site_proof *site_proof_first(const struct site *s)
{
	for (size_t i = 0; i < s->n_proofs; i++)
		if (s->proofs[i].state > PROOF_EQUAL)
			return &s->proofs[i];
	return NULL;
}

/* ---- the result ---- */

static const char *const words[PROOF_STATE_END] = {
	[PROOF_IDENTICAL] = "identical", [PROOF_EQUAL] = "equal",
	[PROOF_DIFFERENT] = "different", [PROOF_MISSING] = "missing",
	[PROOF_UNKNOWN] = "unknown",
};

static int exit_status(const size_t counts[PROOF_STATE_END])
{
	if (counts[PROOF_DIFFERENT] || counts[PROOF_MISSING] ||
	    counts[PROOF_UNKNOWN])
		return REPRODUCE_DIFFERENT;
	return counts[PROOF_EQUAL] ? REPRODUCE_EQUAL : 0;
}

static void add_row(struct site *s, const struct site_proof *proof)
{
	static const enum color colors[PROOF_STATE_END] = {
		[PROOF_IDENTICAL] = COLOR_GREEN, [PROOF_EQUAL] = COLOR_GREEN,
		[PROOF_DIFFERENT] = COLOR_RED,	 [PROOF_MISSING] = COLOR_RED,
		[PROOF_UNKNOWN] = COLOR_YELLOW,
	};
	struct view *v = s->p->view;

	str_adds(&v->out, "  ");
	view_cell(v, colors[proof->state], words[proof->state], 11);
	view_step_full(v, &v->out, s->p->recipe.steps[proof->step].job);
	str_adds(&v->out, "  ");
	quote_name(&v->out, proof->place, strlen(proof->place));
	if (proof->detail) {
		str_adds(&v->out, ": ");
		quote_printable_cut(&v->out, proof->detail, 400);
	}
	str_addc(&v->out, '\n');
}

static void add_verdict(struct site *s, const size_t counts[PROOF_STATE_END])
{
	struct str *out = &s->p->view->out;
	size_t n_bad = counts[PROOF_DIFFERENT] + counts[PROOF_MISSING] +
		       counts[PROOF_UNKNOWN];

	if (!s->n_proofs) {
		str_adds(out, "The steps ran; the record names no output to "
			      "compare.\n");
		return;
	}
	format_count(out, s->n_proofs, "output");
	if (counts[PROOF_IDENTICAL] == s->n_proofs)
		str_addf(out, ", all hashed: identical with the record.\n");
	else if (!n_bad)
		str_addf(out,
			 ", all hashed: %zu identical, %zu equal within "
			 "the tolerance.\n",
			 counts[PROOF_IDENTICAL], counts[PROOF_EQUAL]);
	else
		str_addf(out,
			 ": %zu identical, %zu equal within the "
			 "tolerance, %zu different, %zu missing, %zu without a "
			 "digest in the record.\n",
			 counts[PROOF_IDENTICAL], counts[PROOF_EQUAL],
			 counts[PROOF_DIFFERENT], counts[PROOF_MISSING],
			 counts[PROOF_UNKNOWN]);
}

static void add_reasons(struct site *s, const struct site_proof *first,
			const struct site_reasons *reasons)
{
	struct view *v = s->p->view;

	str_adds(&v->out, "The first that is not the same is ");
	quote_name(&v->out, first->place, strlen(first->place));
	str_adds(&v->out, " of step ");
	view_step_full(v, &v->out, s->p->recipe.steps[first->step].job);
	str_adds(&v->out, ", which had the recorded inputs.\n");
	if (reasons->n)
		str_adds(&v->out, "Likely reasons:\n");
	for (size_t i = 0; i < reasons->n; i++) {
		str_adds(&v->out, "  ");
		quote_printable_cut(&v->out, reasons->list[i], 400);
		str_addc(&v->out, '\n');
	}
}

static void put_json(struct site *s, const struct site_proof *first,
		     const struct site_reasons *reasons, int status)
{
	static const char *const verdicts[] = {
		[0] = "identical",
		[REPRODUCE_EQUAL] = "equal",
		[REPRODUCE_DIFFERENT] = "different",
	};
	struct json j = json_writer(&s->p->view->out, true);

	json_put_object(&j);
	view_json_text(&j, "directory", s->dir);
	view_json_text(&j, "verdict",
		       s->n_proofs ? verdicts[status] : "nothing to compare");
	view_json_int(&j, "n_steps", (int64_t)s->n_run);
	json_put_key(&j, "outputs");
	json_put_array(&j);
	for (size_t i = 0; i < s->n_proofs; i++) {
		const struct site_proof *proof = &s->proofs[i];

		json_put_object(&j);
		view_json_text(&j, "place", proof->place);
		view_json_text(&j, "recorded_path", proof->row->path);
		view_json_digests(&j, "recorded", &proof->row->digests);
		view_json_text(&j, "state", words[proof->state]);
		view_json_text(&j, "detail", proof->detail);
		view_json_job_ref(s->p->view, &j, "made_by",
				  s->p->recipe.steps[proof->step].job);
		json_end(&j);
	}
	json_end(&j);
	view_json_text(&j, "first_difference", first ? first->place : NULL);
	json_put_key(&j, "likely_reasons");
	json_put_array(&j);
	for (size_t i = 0; i < reasons->n; i++)
		json_put_string(&j, reasons->list[i]);
	json_end(&j);
	json_end(&j);
	str_addc(&s->p->view->out, '\n');
}

int site_proof_print(struct site *s)
{
	const struct site_proof *first = site_proof_first(s);
	struct view *v = s->p->view;
	size_t counts[PROOF_STATE_END] = { 0 };
	struct site_reasons reasons = { 0 };
	int status;
	int printed;

	for (size_t i = 0; i < s->n_proofs; i++)
		counts[s->proofs[i].state]++;
	status = exit_status(counts);
	if (first && site_reasons_find(s, first, &reasons) < 0)
		site_say("note: the reasons of the difference cannot be "
			 "searched for");
	if (args_has(s->p->args, "json")) {
		put_json(s, first, &reasons, status);
	} else {
		str_adds(&v->out, "Reproduced in ");
		quote_name(&v->out, s->dir, strlen(s->dir));
		str_addc(&v->out, '\n');
		for (size_t i = 0; i < s->n_proofs; i++)
			add_row(s, &s->proofs[i]);
		add_verdict(s, counts);
		if (first)
			add_reasons(s, first, &reasons);
	}
	printed = view_print(v);
	return printed ? printed : status;
}
