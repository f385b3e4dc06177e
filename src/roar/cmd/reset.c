/* reset.c - `roar reset`: close the session and start a new one. */
#include "commands.h"
#include "ui/confirm.h"
#include "ui/view.h"

static long long n_steps(const struct view *v)
{
	return v->session.n_steps + v->session.n_build_steps;
}

/* Of a session without jobs nothing is lost. */
static int ask(const struct args *args, const struct view *v)
{
	CLEANUP(str_release) struct str deed = STR_INIT;

	if (!v->has_session || !v->session.n_jobs)
		return 0;
	str_addf(&deed, "closes the session with its %lld step(s)", n_steps(v));
	return confirm(args, str_cstr(&deed),
		       "Close it and start a new session?");
}

static int reset(struct view *v, struct roar_error *err)
{
	struct store_session old = { 0 };
	struct store_session new = { 0 };
	int r;

	r = store_begin(v->store, err);
	if (r < 0)
		return r;
	r = store_session_reset(v->store, &old, &new, err);
	if (r >= 0)
		r = store_commit(v->store, err);
	if (r < 0) {
		store_rollback(v->store);
		return r;
	}
	if (old.id)
		str_addf(&v->out, "Deactivated session %s.\n", old.uid);
	str_addf(&v->out, "Created new session %s.\n", new.uid);
	return 0;
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct roar_error err = { 0 };
	int r;

	r = view_open(&v, 0);
	if (r)
		return r;
	if (v.has_session)
		str_addf(&v.out, "Current session has %lld step(s).\n",
			 n_steps(&v));
	else
		str_adds(&v.out, "No active session.\n");
	r = view_print(&v);
	if (r == 0)
		r = ask(args, &v);
	if (r)
		return r;
	str_clear(&v.out);
	r = reset(&v, &err);
	return r < 0 ? view_fail(r, &err) : view_print(&v);
}

static const struct option_spec options[] = {
	{ .name = "yes", .letter = 'y', .help = "do not ask" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar reset", "ask, then start a new session" },
	{ "roar reset -y", "start a new session at once" },
	{ 0 },
};

const struct command cmd_reset = {
	.name = "reset",
	.group = GROUP_SESSIONS,
	.summary = "start a new session",
	.synopsis = "[OPTION]...",
	.about =
#include "reset.txt.inc"
		,
	.options = options,
	.examples = examples,
	.run = run,
};
