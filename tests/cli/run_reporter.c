/* run_reporter.c - writes files and reports to the run above it.
 *
 * Each argument is one action; the file is the one that was opened last:
 *
 *	open=PATH	creates it or empties it, for writing
 *	update=PATH	the same, for reading and writing
 *	fill=N		writes N bytes, whose digest is the one reported
 *	report		reports that digest
 *	lie		reports another one
 *	append		writes one more byte
 *	restamp		changes the mode, and with it only the ctime
 *	fork		starts a process that ends at once
 *	close
 *	show=PATH	prints the BLAKE3 of a file
 *	took=RANK:N:PATH	reports N samples of the shard PATH
 *	checkpoint=STEP:WORLD:PARENT:DIR	reports the checkpoint in DIR, whose parent may
 *			be empty
 *	die		ends by SIGKILL
 *
 * It prints the errno of a report that failed. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <roar/hash.h>
#include <roar/run.h>

static int fd = -1;
static uint8_t blake3[32];

static void open_file(const char *path, int flags)
{
	fd = open(path, flags | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		err(1, "%s", path);
}

static void fill(const char *number)
{
	size_t n = strtoul(number, NULL, 10);
	struct roar_digests d;
	char *bytes = malloc(n + 1);

	if (!bytes)
		err(1, "malloc");
	memset(bytes, 'x', n);
	if (write(fd, bytes, n) != (ssize_t)n ||
	    roar_hash(bytes, n, ROAR_BLAKE3, &d) < 0)
		errx(1, "cannot write");
	memcpy(blake3, d.blake3, sizeof(blake3));
	free(bytes);
}

static void report(const uint8_t digest[32])
{
	int r = roar_run_wrote(fd, digest);

	if (r < 0)
		(void)printf("%d\n", -r);
}

static void lie(void)
{
	uint8_t other[32];

	memset(other, 0xee, sizeof(other));
	report(other);
}

static void start_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	(void)waitpid(pid, NULL, 0);
}

static void show(const char *path)
{
	struct roar_digests d;

	if (roar_hash_file(path, ROAR_BLAKE3, &d) < 0)
		errx(1, "cannot hash %s", path);
	for (size_t i = 0; i < sizeof(d.blake3); i++)
		(void)printf("%02x", d.blake3[i]);
	(void)printf("\n");
}

static void take(const char *value)
{
	char line[512];
	char path[256];
	long rank, n;

	if (sscanf(value, "%ld:%ld:%255s", &rank, &n, path) != 3)
		errx(2, "cannot take '%s'", value);
	(void)snprintf(line, sizeof(line), "%ld\t0\t%ld\tset\t%s\n", rank, n,
		       path);
	if (roar_run_note("shards", NULL, line, strlen(line)) < 0)
		errx(1, "cannot report '%s'", value);
}

static void report_checkpoint(char *value)
{
	char *world = strchr(value, ':');
	char *parent = world ? strchr(world + 1, ':') : NULL;
	char *dir = parent ? strchr(parent + 1, ':') : NULL;
	char path[512];
	struct roar_digests d;
	int r;

	if (!dir)
		errx(2, "cannot report '%s'", value);
	*parent++ = '\0';
	*dir++ = '\0';
	(void)snprintf(path, sizeof(path), "%s/manifest.json", dir);
	if (roar_hash_file(path, ROAR_BLAKE3, &d) < 0)
		memset(&d, 0, sizeof(d));
	r = roar_run_checkpoint(dir, strtoul(value, NULL, 10),
				(uint32_t)strtoul(world + 1, NULL, 10),
				*parent ? parent : NULL, d.blake3);
	if (r < 0)
		(void)printf("%d\n", -r);
}

static void act(char *word)
{
	static char none[] = "";
	char *value = strchr(word, '=');

	value = value ? value + 1 : none;
	if (!strncmp(word, "open=", 5))
		open_file(value, O_WRONLY);
	else if (!strncmp(word, "update=", 7))
		open_file(value, O_RDWR);
	else if (!strncmp(word, "fill=", 5))
		fill(value);
	else if (!strncmp(word, "show=", 5))
		show(value);
	else if (!strncmp(word, "took=", 5))
		take(value);
	else if (!strncmp(word, "checkpoint=", 11))
		report_checkpoint(value);
	else if (!strcmp(word, "report"))
		report(blake3);
	else if (!strcmp(word, "lie"))
		lie();
	else if (!strcmp(word, "append") && write(fd, "y", 1) == 1)
		return;
	else if (!strcmp(word, "restamp") && fchmod(fd, 0600) == 0)
		return;
	else if (!strcmp(word, "fork"))
		start_process();
	else if (!strcmp(word, "close") && close(fd) == 0)
		return;
	else if (!strcmp(word, "die"))
		(void)raise(SIGKILL);
	else
		errx(2, "cannot do '%s'", word);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		act(argv[i]);
	/* A sanitizer's search for leaks would start a process, which counts. */
	_exit(fflush(stdout) ? 1 : 0);
}
