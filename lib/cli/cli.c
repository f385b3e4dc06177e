/* cli.c - see cli.h */
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/quote.h"
#include "base/str.h"

static struct roar_error last_message;

const char *cli_last_message(void)
{
	return last_message.text;
}

/* One line, in one write.  Control characters in the text are escaped.  If stderr
 * cannot be written, nobody can be told. */
static void print_message(const char *tail, const char *fmt, va_list ap)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str line = STR_INIT;

	str_addv(&text, fmt, ap);
	(void)error_set(&last_message, 0, "%s", str_cstr(&text));
	str_addf(&line, "%s: ", program_selected()->name);
	quote_printable(&line, str_cstr(&text), text.len);
	str_adds(&line, tail);
	str_addc(&line, '\n');
	(void)fd_write_all(STDERR_FILENO, str_cstr(&line), line.len);
}

int cli_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message("", fmt, ap);
	va_end(ap);
	return 1;
}

int cli_usage(const struct command *command, const char *fmt, ...)
{
	CLEANUP(str_release) struct str tail = STR_INIT;
	va_list ap;

	str_adds(&tail, " (see '");
	if (command)
		command_add_call(&tail, command);
	else
		str_adds(&tail, program_selected()->name);
	str_adds(&tail, " --help')");
	va_start(ap, fmt);
	print_message(str_cstr(&tail), fmt, ap);
	va_end(ap);
	return EXIT_USAGE;
}

/* Writes all, and waits where the descriptor does not block. */
static int write_patiently(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);
		struct pollfd ready = { .fd = fd, .events = POLLOUT };

		if (n < 0 && errno == EAGAIN) {
			(void)poll(&ready, 1, -1);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int cli_print(const struct str *text)
{
	int r = str_error(text);

	if (r == 0)
		r = write_patiently(STDOUT_FILENO, str_cstr(text), text->len);
	if (r == -EPIPE)
		return 1;
	if (r < 0)
		return cli_fail("cannot write to the standard output: %s",
				strerror(-r));
	return 0;
}
