/* session.c - `roar session`: the active session, for scripts. */
#include "commands.h"
#include "ui/view.h"

static const struct verb_spec verbs[] = {
	{ "hash", "", "print only the hash of the active session", NULL },
	{ 0 },
};

static const struct example examples[] = {
	{ "git tag run-$(roar session hash)",
	  "tag the commit with the hash of the session" },
	{ 0 },
};

static int print_hash(struct view *v)
{
	uint8_t hash[BLAKE3_LEN];
	char hex[2 * BLAKE3_LEN + 1];
	struct roar_error err = { 0 };
	int r;

	if (!v->has_session)
		return cli_fail(
			"there is no active session: 'roar run' starts one");
	r = store_session_hash(v->store, v->session.id, hash, &err);
	if (r < 0)
		return view_fail(r, &err);
	digest_hex(hex, hash, BLAKE3_LEN);
	str_addf(&v->out, "%s\n", hex);
	return view_print(v);
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	int r;

	(void)args; /* there is one action */
	r = view_open(&v, STORE_READONLY);
	return r ? r : print_hash(&v);
}

const struct command cmd_session = {
	.name = "session",
	.group = GROUP_SESSIONS,
	.summary = "print the hash of the active session",
	.synopsis = "hash",
	.about =
#include "session.txt.inc"
		,
	.verbs = verbs,
	.examples = examples,
	.exit_status = "0 on success, 1 when there is no active session or the "
		       "record cannot be read, 2 on wrong usage.",
	.operand = OPERAND_NONE,
	.min_operands = 1,
	.run = run,
};
