/* fixture.c - see fixture.h */
#include "fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

enum { OUTPUT_MAX = 16 << 20, WORDS = 32 };

/* Puts `fd` on a fresh temporary file; returns what it was before. */
static int divert(int fd, FILE **ret_file)
{
	int saved = dup(fd);

	*ret_file = tmpfile();
	assert_non_null(*ret_file);
	assert_true(saved >= 0 && dup2(fileno(*ret_file), fd) == fd);
	return saved;
}

/* Ends the diversion; the text, with what varies replaced. */
static void collect(struct fixture *f, int fd, int saved, FILE *file,
		    struct str *out)
{
	const struct {
		const char *text;
		const char *name;
	} names[] = { { f->dir, "DIR" }, { f->session.uid, "SESSION" } };
	struct str raw = STR_INIT;
	char path[64];

	assert_true(dup2(saved, fd) == fd);
	(void)close(saved);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	assert_int_equal(fd_read_file(AT_FDCWD, path, OUTPUT_MAX, &raw), 0);
	(void)fclose(file);
	str_clear(out);
	for (const char *p = str_cstr(&raw); *p;) {
		size_t skip = 0;

		for (size_t i = 0; !skip && i < 2; i++) {
			size_t len = strlen(names[i].text);

			if (strncmp(p, names[i].text, len) != 0)
				continue;
			str_adds(out, names[i].name);
			skip = len;
		}
		if (!skip)
			str_addc(out, *p);
		p += skip ? skip : 1;
	}
	str_release(&raw);
}

int roar(struct fixture *f, const struct command *command, const char *words)
{
	CLEANUP(freep) char *copy = strdup(words);
	char *argv[WORDS + 2] = { (char *)command->name };
	struct roar_error err = { 0 };
	struct args args = { 0 };
	int argc = 1;
	FILE *files[2];
	int saved[2];
	int status;

	for (char *w = strtok(copy, " "); w && argc <= WORDS;
	     w = strtok(NULL, " "))
		argv[argc++] = w;
	fflush(NULL);
	saved[0] = divert(STDOUT_FILENO, &files[0]);
	saved[1] = divert(STDERR_FILENO, &files[1]);
	if (args_parse(command, argc, argv, &args, &err) < 0)
		status = cli_usage(command, "%s", err.text);
	else
		status = f->run ? f->run(command, &args) : command->run(&args);
	args_release(&args);
	fflush(NULL);
	collect(f, STDERR_FILENO, saved[1], files[1], &f->err);
	collect(f, STDOUT_FILENO, saved[0], files[0], &f->out);
	return status;
}

void expect(struct fixture *f, const struct command *command, const char *words,
	    int status, const char *out, const char *err)
{
	int got = roar(f, command, words);

	assert_string_equal(str_cstr(&f->err), err);
	assert_string_equal(str_cstr(&f->out), out);
	assert_int_equal(got, status);
}

void expect_part(struct fixture *f, const struct command *command,
		 const char *words, const char *part)
{
	assert_int_equal(roar(f, command, words), 0);
	if (!strstr(str_cstr(&f->out), part))
		fail_msg("'%s' is not in:\n%s", part, str_cstr(&f->out));
}
