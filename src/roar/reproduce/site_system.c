/* site_system.c - packages of the operating system, with --package-sync
 *
 * The command of the system's package manager is printed and confirmed; the recorded
 * versions are asked for, so a version that is gone is an error of that command. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/pool.h"
#include "base/quote.h"
#include "reproduce/child.h"
#include "reproduce/reproduce.h"
#include "reproduce/site.h"
#include "ui/confirm.h"
#include "ui/view.h"

struct manager {
	const char *name; /* in the record */
	const char *argv[6];
	const char *join; /* between name and version */
};

static const struct manager managers[] = {
	{ "dpkg", { "apt-get", "install", "--yes", "--" }, "=" },
	{ "rpm", { "dnf", "install", "--assumeyes", "--" }, "-" },
	{ "apk", { "apk", "add", "--" }, "=" },
};

static char *package_word(struct pool *pool, const struct manager *m,
			  const struct requirement *q)
{
	bool arch = *q->arch && strcmp(m->name, "dpkg") == 0 &&
		    strcmp(q->arch, "all") != 0;

	return pool_printf(pool, "%s%s%s%s%s", q->name, arch ? ":" : "",
			   arch ? q->arch : "", m->join, q->version);
}

/* The whole command; *ret is NULL when the record has no package of that manager. */
static int make_argv(struct pool *pool, const struct manager *m,
		     const struct requirements *needs, char ***ret)
{
	char **argv = pool_zalloc(pool, (needs->n + 8) * sizeof(*argv));
	size_t n = 0;
	size_t first;

	if (!argv)
		return -ENOMEM;
	if (geteuid() != 0 && site_has_program("sudo"))
		argv[n++] = (char *)"sudo";
	for (size_t i = 0; i < ARRAY_SIZE(m->argv) && m->argv[i]; i++)
		argv[n++] = (char *)m->argv[i];
	first = n;
	for (size_t i = 0; i < needs->n; i++) {
		const struct requirement *q = &needs->all[i];

		if (strcmp(q->manager, m->name) != 0 || !q->installable)
			continue;
		argv[n] = package_word(pool, m, q);
		if (!argv[n++])
			return -ENOMEM;
	}
	*ret = n == first ? NULL : argv;
	return 0;
}

static int run(char *const *argv, struct roar_error *err)
{
	const struct child child = { .argv = argv, .dirfd = -1 };
	int r = child_run(&child);

	if (r == 0 || r == -EINTR)
		return r;
	if (r < 0)
		return error_set(err, r,
				 "the system's packages cannot be installed: "
				 "%s: %s",
				 argv[0], strerror(-r));
	return error_set(err, -EIO,
			 "the system's packages cannot be installed: %s ended "
			 "with exit code %d (a recorded version may no longer "
			 "exist)",
			 argv[0], r);
}

int site_system_sync(struct site *s, struct roar_error *err)
{
	struct pool *pool = &s->p->view->pool;
	bool any = false;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(managers) && r == 0; i++) {
		CLEANUP(str_release) struct str text = STR_INIT;
		char **argv = NULL;

		r = make_argv(pool, &managers[i], &s->p->recipe.needs, &argv);
		if (r < 0 || !argv)
			continue;
		any = true;
		quote_argv(&text, argv);
		if (str_error(&text) < 0)
			return -ENOMEM;
		(void)fprintf(stderr, "%s\n", text.data);
		if (confirm(s->p->args, "installs packages of the system",
			    "Run this command?") != 0)
			return -ECANCELED;
		r = run(argv, err);
	}
	if (r == 0 && !any)
		site_say("note: no packages of the system were recorded");
	return r;
}
