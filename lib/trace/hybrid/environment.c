/* environment.c - see environment.h */
#include "trace/hybrid/environment.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "trace/preload/log.h"

#define NAME "libroar-preload.so"

static int take_if_there(const char *dir, const char *relative, char *path,
			 size_t size)
{
	int n = snprintf(path, size, "%s%s", dir, relative);

	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	return access(path, R_OK) < 0 ? -ENOENT : 0;
}

int environment_find_library(char *path, size_t size)
{
	/* As built, as installed, as built for a test program. */
	static const char *const places[] = {
		"/../preload/" NAME,
		"/../lib/roar/" NAME,
		"/../../src/preload/" NAME,
		"/../src/preload/" NAME,
	};
	const char *given = getenv("ROAR_PRELOAD_LIBRARY");
	char exe[PATH_MAX];
	ssize_t n;

	if (given)
		return take_if_there(given, "", path, size);
	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (n > 0) {
		exe[n] = '\0';
		*strrchr(exe, '/') = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(places); i++)
			if (take_if_there(exe, places[i], path, size) == 0)
				return 0;
	}
	return take_if_there(ROAR_PRELOAD_DIR "/", NAME, path, size);
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

/* The two strings of ours are the last ones, so that they can be freed. */
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
	/* The user's libraries come first, ours stands behind them. */
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
