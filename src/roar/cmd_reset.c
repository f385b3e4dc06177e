/* cmd_reset.c - `roar reset`: close the session and start a new one. */
#include <unistd.h>

#include "commands.h"
#include "view.h"

/* Returns an exit status; *ret_go tells whether to go on. */
static int confirm(const struct args *args, struct view *v, bool *ret_go)
{
	*ret_go = true;
	if (args_has(args, "yes") || !v->has_session || !v->session.n_jobs)
		return 0;
	if (!isatty(STDIN_FILENO))
		return cli_fail(
			"reset closes the session with its %lld step(s), and "
			"nobody can be asked because stdin is no terminal: "
			"use 'roar reset -y'",
			(long long)(v->session.n_steps +
				    v->session.n_build_steps));
	*ret_go = view_confirm("Close it and start a new session?");
	return 0;
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
	bool go;
	int r;

	r = view_open(&v, 0);
	if (r)
		return r;
	if (v.has_session)
		str_addf(&v.out, "Current session has %lld step(s).\n",
			 (long long)(v.session.n_steps +
				     v.session.n_build_steps));
	else
		str_adds(&v.out, "No active session.\n");
	r = view_print(&v);
	if (r == 0)
		r = confirm(args, &v, &go);
	if (r)
		return r;
	str_clear(&v.out);
	if (!go)
		return cli_fail("nothing was changed");
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
	.about = "Closes the active session and starts an empty one; steps "
		 "count from @1 again. Nothing is removed: the jobs of closed "
		 "sessions stay in the record and are found by roar log "
		 "--all-sessions, by UID, by hash and by path.\n"
		 "\n"
		 "Asks first when the session has jobs. Where stdin is no "
		 "terminal, -y is needed.",
	.options = options,
	.examples = examples,
	.run = run,
};
