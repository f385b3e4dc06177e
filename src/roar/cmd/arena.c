/* arena.c - `roar arena`: the arenas of live processes, from outside. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/arena_find.h"
#include "arena/arena_show.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/number.h"
#include "base/quote.h"
#include "base/str.h"
#include "commands.h"

static const struct option_spec options[] = {
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "ls", "", "list the arenas of all processes", "json" },
	{ "stat", "PID",
	  "show participants, units and waits of a process's arenas", "json" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar arena ls", NULL },
	{ "roar arena stat 4711", "which processes wait, and which hold units" },
	{ 0 },
};

/* ---- looking ---- */

struct sight {
	struct arena_list list;
	struct arena_seen *seen; /* those of the list that are still there */
	size_t n;
	size_t n_failed;
};

static void sight_release(struct sight *s)
{
	for (size_t i = 0; i < s->n; i++)
		arena_inspection_release(&s->seen[i].look);
	free(s->seen);
	arena_list_release(&s->list);
}

/* One that is damaged is still one that was found.  Returns false for one that is gone:
 * its last process has ended, or has closed it. */
static bool look_into(struct arena_seen *seen, const struct arena_found *found)
{
	CLEANUP(closep) int fd = arena_found_open(found);

	if (fd == -ENOENT || fd == -ESRCH || fd == -ESTALE)
		return false;
	*seen = (struct arena_seen){ .found = found };
	seen->failed = fd < 0 ? fd : arena_inspect(fd, &seen->look);
	if (seen->failed)
		(void)snprintf(seen->why, sizeof(seen->why), "%s",
			       fd < 0 ? strerror(-fd) : roar_arena_error());
	return true;
}

static int look_at_all(struct sight *s)
{
	s->seen = calloc(s->list.n + 1, sizeof(*s->seen));
	if (!s->seen)
		return -ENOMEM;
	for (size_t i = 0; i < s->list.n; i++) {
		if (!look_into(&s->seen[s->n], &s->list.arenas[i]))
			continue;
		s->n_failed += s->seen[s->n].failed != 0;
		s->n++;
	}
	return 0;
}

/* ---- ls ---- */

static int print_json(const struct sight *s,
		      void (*add)(struct json *, const struct arena_seen *))
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct json j = json_writer(&out, true);

	json_put_object(&j);
	json_put_key(&j, "arenas");
	json_put_array(&j);
	for (size_t i = 0; i < s->n; i++)
		add(&j, &s->seen[i]);
	json_end(&j);
	json_put_key(&j, "processes_not_seen");
	json_put_int(&j, (int64_t)s->list.n_shut);
	json_end(&j);
	str_addc(&out, '\n');
	return cli_print(&out);
}

static int ls_text(const struct sight *s)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct term term = term_of(1);

	if (s->n)
		arena_text_list(&out, &term, s->seen, s->n);
	else
		str_adds(&out, "No process has an arena.\n");
	if (s->list.n_shut) {
		format_count(&out, s->list.n_shut, "process");
		str_adds(
			&out,
			" of other users could not be inspected; root can do so.\n");
	}
	return cli_print(&out);
}

static int ls(bool json)
{
	CLEANUP(sight_release) struct sight s = { 0 };
	int r;

	r = arena_find_all(&s.list);
	if (r == 0)
		r = look_at_all(&s);
	if (r < 0)
		return cli_fail("cannot search /proc for arenas: %s",
				strerror(-r));
	return json ? print_json(&s, arena_json_list) : ls_text(&s);
}

/* ---- stat ---- */

static int stat_text(const struct sight *s)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct term term = term_of(1);

	for (size_t i = 0; i < s->n; i++) {
		if (s->seen[i].failed)
			continue;
		if (out.len)
			str_addc(&out, '\n');
		arena_text_stat(&out, &term, &s->seen[i]);
	}
	return cli_print(&out);
}

static int no_arena(pid_t pid, int r)
{
	if (r == -ESRCH)
		return cli_fail("there is no process %d: 'roar arena ls' lists "
				"those that have an arena",
				(int)pid);
	if (r == -EACCES)
		return cli_fail(
			"process %d belongs to another user: only root can inspect "
			"its arenas",
			(int)pid);
	if (r == -ENOENT)
		return cli_fail("process %d has no arena: 'roar arena ls' lists "
				"those that do",
				(int)pid);
	return cli_fail("cannot inspect process %d: %s", (int)pid,
			strerror(-r));
}

static void tell_failures(const struct sight *s, pid_t pid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->seen[i].failed)
			(void)cli_fail(
				"cannot inspect arena %llu of process %d: %s",
				(unsigned long long)s->seen[i].found->inode,
				(int)pid, s->seen[i].why);
}

static int stat_pid(pid_t pid, bool json)
{
	CLEANUP(sight_release) struct sight s = { 0 };
	int r;

	r = arena_find_of(pid, &s.list);
	if (r == 0)
		r = look_at_all(&s);
	if (r == 0 && !s.n)
		r = -ENOENT;
	if (r < 0)
		return no_arena(pid, r);
	r = json ? print_json(&s, arena_json_stat) : stat_text(&s);
	tell_failures(&s, pid);
	return r ? r : s.n_failed != 0;
}

/* ---- the command ---- */

static int run(const struct args *args)
{
	bool json = args_has(args, "json");
	CLEANUP(str_release) struct str shown = STR_INIT;
	int64_t pid;

	if (!args->n_operands || strcmp(args->operands[0], "ls") == 0)
		return ls(json);
	if (number_parse(args->operands[1], 1, INT32_MAX, &pid) == 0)
		return stat_pid((pid_t)pid, json);
	quote_printable_cut(&shown, args->operands[1], 100);
	return cli_usage(args->command, "'%s' is not a process ID",
			 str_cstr(&shown));
}

const struct command cmd_arena = {
	.name = "arena",
	.group = GROUP_DATA,
	.summary = "inspect the shared memory arenas of running processes",
	.synopsis = "[ls | stat PID] [OPTION]...",
	.about =
#include "arena.txt.inc"
		,
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.exit_status = "0 on success, 1 when the process does not exist, has no "
		       "arena or may not be inspected, or when an arena is "
		       "damaged, 2 on wrong usage.",
	.operand = OPERAND_NONE,
	.max_operands = 0,
	.run = run,
};
