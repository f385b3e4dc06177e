/* scene.c - see scene.h */
#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "commands.h"

static char dir[4096];

int scene_setup(void **state)
{
	char template[] = "/tmp/roar-test-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(template));
	assert_non_null(realpath(template, dir));
	assert_int_equal(chdir(dir), 0);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int scene_teardown(void **state)
{
	(void)state;
	assert_int_equal(chdir("/"), 0);
	(void)chmod(dir, 0700);
	return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *scene_dir(void)
{
	return dir;
}

/* Standard output and error go to a file each while the command runs. */
static int redirect(int fd, const char *path)
{
	int saved = dup(fd);
	int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(saved >= 0 && file >= 0);
	assert_int_equal(dup2(file, fd), fd);
	(void)close(file);
	return saved;
}

static void restore(int fd, int saved)
{
	assert_int_equal(dup2(saved, fd), fd);
	(void)close(saved);
}

static int run_words(int argc, char **argv)
{
	CLEANUP(args_release) struct args args = { 0 };
	const struct command *command = program_command(&roar_program, argv[0]);
	struct roar_error err = { 0 };
	int r = args_parse(command, argc, argv, &args, &err);

	if (r < 0)
		return cli_usage(command, "%s", err.text);
	return command->run(&args);
}

int scene_run(const char *words, struct str *out)
{
	CLEANUP(freep) char *copy = strdup(words);
	char out_path[4200];
	char err_path[4200];
	char *argv[16] = { 0 };
	int argc = 0;
	int status;
	int saved_out;
	int saved_err;

	for (char *rest = copy; rest && argc < 15;)
		argv[argc++] = strsep(&rest, "|");
	(void)snprintf(out_path, sizeof(out_path), "%s.out", dir);
	(void)snprintf(err_path, sizeof(err_path), "%s.err", dir);
	(void)fflush(stdout);
	saved_out = redirect(STDOUT_FILENO, out_path);
	saved_err = redirect(STDERR_FILENO, err_path);
	status = run_words(argc, argv);
	restore(STDOUT_FILENO, saved_out);
	restore(STDERR_FILENO, saved_err);
	assert_int_equal(fd_read_file(AT_FDCWD, out_path, 1 << 20, out), 0);
	assert_int_equal(fd_read_file(AT_FDCWD, err_path, 1 << 20, out), 0);
	(void)unlink(out_path);
	(void)unlink(err_path);
	return status;
}

void scene_expect(const char *words, int status, const char *output)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	int r = scene_run(words, &out);

	assert_string_equal(str_cstr(&out), output);
	assert_int_equal(r, status);
}

void scene_write(const char *path, const char *text)
{
	assert_int_equal(
		fd_replace_file(AT_FDCWD, path, text, strlen(text), 0600), 0);
}

void scene_read(const char *path, struct str *out)
{
	str_clear(out);
	assert_int_equal(fd_read_file(AT_FDCWD, path, 1 << 20, out), 0);
}

int scene_mode(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}
