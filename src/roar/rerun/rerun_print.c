/* rerun_print.c - what `roar rerun` says: the plan, a line per step, the result. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/quote.h"
#include "rerun/rerun_work.h"
#include "ui/view.h"

enum { COMMAND_MAX = 60, NAMED = 4 };

static const struct store_job *job_of(const struct rerun_work *w, size_t step)
{
	return pipeline_job(&w->pipeline, w->plan.steps[step].node);
}

static void add_step(const struct rerun_work *w, size_t step, struct str *out)
{
	view_step(out, job_of(w, step));
}

/* "@1, @2 and 7 more" */
static void add_steps(const struct rerun_work *w, const size_t *steps, size_t n,
		      struct str *out)
{
	size_t named = n > NAMED ? NAMED : n;

	for (size_t i = 0; i < named; i++) {
		str_adds(out, i ? ", " : "");
		add_step(w, steps[i], out);
	}
	if (n > named)
		str_addf(out, " and %zu more", n - named);
}

static void add_path(struct rerun_work *w, const char *path, const char *after,
		     struct str *out)
{
	view_path(w->view, out, path ? path : "");
	str_adds(out, after);
}

/* "if @1 changes what it reads" */
static void add_upstream(struct rerun_work *w, const struct rerun_step *s,
			 struct str *out)
{
	size_t list[NAMED + 1];
	size_t n = 0;

	if (!s->n_after) {
		str_adds(out, "in a cycle");
		return;
	}
	for (; n < s->n_after && n <= NAMED; n++)
		list[n] = s->after[n];
	str_adds(out, "if ");
	add_steps(w, list, n > NAMED ? NAMED : n, out);
	if (s->n_after > NAMED)
		str_addf(out, " and %zu more", s->n_after - NAMED);
	str_adds(out, s->n_after == 1 ? " changes" : " change");
	str_adds(out, " what it reads");
}

static void add_reason(struct rerun_work *w, const struct rerun_step *s,
		       enum rerun_reason reason, const char *path,
		       struct str *out)
{
	static const char *const ends[RERUN_REASON_END] = {
		[RERUN_STALE] = " was written again",
		[RERUN_OUTDATED] = " has changed",
		[RERUN_GONE] = ", which it reads, is missing",
		[RERUN_LOST] = ", its output, is missing",
		[RERUN_NEEDED] = ", its output, is missing",
	};

	if (reason == RERUN_UPSTREAM)
		add_upstream(w, s, out);
	else if (reason == RERUN_FORCED)
		str_adds(out, "--force");
	else if (reason == RERUN_FAILED)
		str_adds(out, "its last execution did not succeed");
	else if (ends[reason])
		add_path(w, path, ends[reason], out);
}

/* ---- the plan ---- */

static const char *action_of(struct rerun_work *w, size_t step)
{
	const struct rerun_step *s = &w->plan.steps[step];

	if (rerun_refusal(job_of(w, step)))
		return "skip";
	if (s->reason == RERUN_UPSTREAM)
		return "maybe";
	if (s->reason == RERUN_GONE)
		return "blocked";
	if (!w->no_restore && s->reason != RERUN_FORCED && !s->n_after &&
	    rerun_restore(w, step, true) > 0)
		return "restore";
	return "run";
}

static void add_plan_row(struct rerun_work *w, size_t step)
{
	const struct rerun_step *s = &w->plan.steps[step];
	struct str *out = &w->view->out;
	struct str why = STR_INIT;
	size_t start = out->len;

	str_adds(out, "  ");
	add_step(w, step, out);
	view_pad(out, start, 9);
	str_adds(out, action_of(w, step));
	view_pad(out, start, 18);
	view_cut(out, job_of(w, step)->command, COMMAND_MAX);
	add_reason(w, s, s->reason, s->path, &why);
	str_addf(out, "  (%s)\n", str_cstr(&why));
	out->failed |= why.failed;
	str_release(&why);
}

static void add_cycle_note(struct rerun_work *w)
{
	size_t list[NAMED + 1];
	size_t n = 0;

	for (size_t i = 0; i < w->plan.n && n < NAMED; i++)
		if (w->plan.steps[i].in_cycle)
			list[n++] = i;
	if (!n)
		return;
	add_steps(w, list, n, &w->view->out);
	str_adds(&w->view->out,
		 n == 1 ? " depends on later steps that depend on it: each is "
			  "run once\n" :
			  " depend on later steps that depend on them: each is "
			  "run once\n");
}

void rerun_print_plan(struct rerun_work *w)
{
	struct str *out = &w->view->out;
	size_t n_maybe = 0;

	if (!w->plan.n) {
		format_count(out, w->plan.n_up_to_date, "step");
		str_adds(out, ", all up to date\n");
		return;
	}
	for (size_t i = 0; i < w->plan.n; i++)
		n_maybe += w->plan.steps[i].reason == RERUN_UPSTREAM;
	str_adds(out, "Plan: ");
	format_count(out, w->plan.n - n_maybe, "step");
	str_addf(out, ", %zu that may follow, %zu up to date\n", n_maybe,
		 w->plan.n_up_to_date);
	for (size_t i = 0; i < w->plan.n; i++)
		add_plan_row(w, i);
	add_cycle_note(w);
}

/* ---- JSON ---- */

static void json_step(struct rerun_work *w, struct json *j, size_t step,
		      bool dry_run)
{
	static const char *const results[STEP_ENDS] = {
		[STEP_WAITING] = "not-run",   [STEP_RAN] = "run",
		[STEP_RESTORED] = "restored", [STEP_UNCHANGED] = "unchanged",
		[STEP_REFUSED] = "skipped",   [STEP_BLOCKED] = "blocked",
		[STEP_FAILED] = "failed",
	};
	const struct step_fate *fate = &w->fates[step];
	const struct rerun_step *s = &w->plan.steps[step];
	const struct store_job *job = job_of(w, step);
	bool decided = !dry_run && fate->end != STEP_WAITING;

	json_put_object(j);
	view_json_text(j, "step_ref", view_step_ref(w->view, job));
	view_json_text(j, "previous_job_uid", job->uid);
	view_json_text(j, "command", job->command);
	view_json_text(j, "reason",
		       rerun_reason_name(decided ? fate->reason : s->reason));
	view_json_text(j, "path", decided ? fate->path : s->path);
	json_put_key(j, "after");
	json_put_array(j);
	for (size_t i = 0; i < s->n_after; i++)
		json_put_string(j,
				view_step_ref(w->view, job_of(w, s->after[i])));
	json_end(j);
	if (dry_run) {
		view_json_text(j, "action", action_of(w, step));
	} else {
		view_json_text(j, "result", results[fate->end]);
		view_json_int(j, "exit_code", fate->exit_code);
		view_json_seconds(j, "duration_s", fate->duration_ns);
	}
	json_end(j);
}

void rerun_print_json(struct rerun_work *w, bool dry_run)
{
	struct json j = json_writer(&w->view->out, true);

	json_put_object(&j);
	view_json_text(&j, "status",
		       dry_run		     ? "planned" :
		       w->sig		     ? "interrupted" :
		       w->failed < w->plan.n ? "failed" :
					       "done");
	view_json_int(&j, "up_to_date", (int64_t)w->plan.n_up_to_date);
	json_put_key(&j, "steps");
	json_put_array(&j);
	for (size_t i = 0; i < w->plan.n; i++)
		json_step(w, &j, i, dry_run);
	json_end(&j);
	json_end(&j);
	str_addc(&w->view->out, '\n');
}

/* ---- what happens, on stderr ---- */

static void say(struct str *line)
{
	str_addc(line, '\n');
	if (str_error(line) == 0)
		(void)fwrite(line->data, 1, line->len, stderr);
	str_release(line);
}

static void add_end(struct rerun_work *w, size_t step, struct str *line)
{
	const struct step_fate *fate = &w->fates[step];

	switch (fate->end) {
	case STEP_FAILED:
		if (fate->exit_code > 128 && w->sig)
			str_adds(line, " was interrupted after ");
		else
			str_addf(line, " failed with exit status %d after ",
				 fate->exit_code);
		break;
	case STEP_RESTORED:
		str_adds(line, " restored in ");
		break;
	case STEP_UNCHANGED:
		str_adds(line, " unchanged: what it reads is as it was");
		return;
	case STEP_REFUSED:
		str_adds(line, " not run, ");
		str_adds(line, rerun_refusal(job_of(w, step)));
		return;
	case STEP_BLOCKED:
		str_adds(line, " cannot run: ");
		view_path(w->view, line, fate->path);
		str_adds(line,
			 ", which it reads, is missing, and no step makes "
			 "it; 'roar run ");
		add_step(w, step, line);
		str_adds(line, "' runs it all the same");
		return;
	default:
		str_adds(line, " ran in ");
	}
	clock_format_duration(line, fate->duration_ns);
}

void rerun_print_end(struct rerun_work *w, size_t step)
{
	const struct step_fate *fate = &w->fates[step];
	struct str line = STR_INIT;

	if (w->quiet && fate->end != STEP_FAILED && fate->end != STEP_BLOCKED)
		return;
	str_adds(&line, "roar: ");
	add_step(w, step, &line);
	add_end(w, step, &line);
	if (fate->end != STEP_BLOCKED) {
		str_adds(&line, ": ");
		view_cut(&line, job_of(w, step)->command, COMMAND_MAX);
	}
	say(&line);
}

/* The steps that were not started. */
static void add_left(struct rerun_work *w, struct str *line)
{
	size_t list[NAMED];
	size_t n = 0;

	for (size_t i = 0; i < w->plan.n; i++) {
		if (w->fates[i].end != STEP_WAITING)
			continue;
		if (n < NAMED)
			list[n] = i;
		n++;
	}
	str_adds(line, n ? "; not run: " : "; no step is left");
	add_steps(w, list, n > NAMED ? NAMED : n, line);
	if (n > NAMED)
		str_addf(line, " and %zu more", n - NAMED);
}

static void add_count(struct str *line, size_t n, const char *what)
{
	if (n)
		str_addf(line, "%s%zu %s", line->len > 6 ? ", " : "", n, what);
}

void rerun_print_summary(struct rerun_work *w)
{
	size_t n[STEP_ENDS] = { 0 };
	bool stopped = w->sig || w->failed < w->plan.n;
	struct str line = STR_INIT;

	if (w->quiet && !stopped)
		return;
	for (size_t i = 0; i < w->plan.n; i++)
		n[w->fates[i].end]++;
	str_adds(&line, "roar: ");
	if (stopped) {
		str_adds(&line, w->sig ? "interrupted" : "stopped at ");
		if (!w->sig)
			add_step(w, w->failed, &line);
		add_left(w, &line);
		str_adds(&line, "; 'roar rerun' goes on");
		say(&line);
		return;
	}
	add_count(&line, n[STEP_RAN], "run");
	add_count(&line, n[STEP_RESTORED], "restored");
	add_count(&line, n[STEP_UNCHANGED], "unchanged");
	add_count(&line, n[STEP_REFUSED], "not run");
	add_count(&line, w->plan.n_up_to_date, "up to date before");
	say(&line);
}
