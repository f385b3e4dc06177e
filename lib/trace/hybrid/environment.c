/* environment.c - see environment.h */
#include "trace/hybrid/environment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/install_path.h"
#include "trace/preload/log.h"

#define NAME "libroar-preload.so"

int environment_find_library(char *path, size_t size)
{
	static const char *const places[] = {
		"../preload/" NAME, /* as built */
		"../" ROAR_LIBDIR "/roar/" NAME, /* as installed */
		"../lib/roar/" NAME,
		"../../src/preload/" NAME, /* as built for a test program */
		"../src/preload/" NAME,
		NULL,
	};
	static const char *const none[] = { NULL };
	const char *given = getenv("ROAR_PRELOAD_LIBRARY");

	if (given)
		return install_path_find(none, given, R_OK, path, size);
	return install_path_find(places, ROAR_PRELOAD_DIR "/" NAME, R_OK, path,
				 size);
}

static bool is(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

static char *join(const char *name, const char *first, const char *second)
{
	char *text = NULL;

	if (asprintf(&text, "%s=%s%s%s", name, first, *first ? ":" : "",
		     second) < 0)
		return NULL;
	return text;
}

/* Our two strings are the last ones, so that they can be freed. */
char **environment_new(char *const *envp, const char *library, const char *log,
		       uint64_t pass)
{
	const char *users = "";
	size_t n = 0, used = 0;
	char word[24];
	char **copy;

	while (envp[n])
		n++;
	copy = calloc(n + 3, sizeof(*copy));
	if (!copy)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (is(envp[i], "LD_PRELOAD"))
			users = strchr(envp[i], '=') + 1;
		else if (!is(envp[i], LOG_ENV))
			copy[used++] = envp[i];
	}
	/* The user's libraries come first, ours follows. */
	copy[used] = join("LD_PRELOAD", users, library);
	(void)snprintf(word, sizeof(word), "%" PRIx64, pass);
	copy[used + 1] = join(LOG_ENV, log, word);
	if (copy[used] && copy[used + 1])
		return copy;
	free(copy[used]);
	free(copy[used + 1]);
	free(copy);
	return NULL;
}

void environment_free(char **envp)
{
	size_t n = 0;

	if (!envp)
		return;
	while (envp[n])
		n++;
	free(envp[n - 1]);
	free(envp[n - 2]);
	free(envp);
}
