/* live.c - see live.h */
#include "ui/live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/str.h"
#include "cli/cli.h"

#define ENTER "\033[?1049h\033[?25l" /* another screen, no cursor */
#define LEAVE "\033[?25h\033[?1049l"

static volatile sig_atomic_t signalled;

static void note_signal(int sig)
{
	signalled = sig;
}

/* ---- the screen ---- */

static int rows_of(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
		return 24;
	return size.ws_row;
}

/* The bytes of a line that fit.  Sequences for colours take no column; a character of
 * several bytes takes one. */
static size_t fit(const char *line, size_t len, int width)
{
	int column = 0;
	bool in_sequence = false;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if (c == '\033')
			in_sequence = true;
		else if (in_sequence)
			in_sequence = c != 'm';
		else if ((c & 0xc0) != 0x80 && ++column > width)
			return i;
	}
	return len;
}

/* Each line is wiped to its end, and all that is below, so nothing flickers. */
static void draw(const struct str *text)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	int width = term_of(STDOUT_FILENO).width;
	int rows = rows_of(STDOUT_FILENO) - 1;
	const char *at = str_cstr(text);

	str_adds(&out, "\033[H");
	for (int row = 0; *at && row < rows; row++) {
		size_t len = strcspn(at, "\n");

		str_add(&out, at, fit(at, len, width));
		str_adds(&out, "\033[0m\033[K\r\n");
		at += len;
		at += *at == '\n';
	}
	str_adds(&out, "\033[J\033[2mq ends\033[0m");
	(void)fd_write_all(STDOUT_FILENO, out.data, out.len);
}

/* ---- keys and time ---- */

/* Returns true when it is to end: a key, the end of the input, or a signal. */
static bool pause_or_key(int interval_ms)
{
	int64_t until = clock_mono_ns() / 1000000 + interval_ms;
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	while (!signalled) {
		int64_t left = until - clock_mono_ns() / 1000000;
		char key;

		if (left <= 0)
			return false;
		if (poll(&in, 1, (int)left) <= 0)
			continue;
		if (read(STDIN_FILENO, &key, 1) != 1)
			return true;
		if (key == 'q' || key == 'Q' || key == 3 || key == 27)
			return true;
	}
	return true;
}

/* Without a terminal only a signal ends it, or nobody reading any more. */
static bool pause_only(int interval_ms)
{
	struct timespec t = { .tv_sec = interval_ms / 1000,
			      .tv_nsec = interval_ms % 1000 * 1000000L };

	return nanosleep(&t, NULL) < 0 && signalled;
}

/* ---- both ways ---- */

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction note = { .sa_handler = note_signal };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		(void)sigaction(signals[i], &note, NULL);
}

static int on_terminal(int (*make)(void *, struct str *), void *data,
		       int interval_ms)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct termios before;
	struct termios raw;
	int r;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return cli_fail("cannot set up the terminal: %s",
				strerror(errno));
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
	(void)fd_write_all(STDOUT_FILENO, ENTER, strlen(ENTER));
	do {
		str_clear(&text);
		r = make(data, &text);
		if (r == 0)
			draw(&text);
	} while (r == 0 && !pause_or_key(interval_ms));
	(void)fd_write_all(STDOUT_FILENO, LEAVE, strlen(LEAVE));
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	return r < 0;
}

static int in_a_row(int (*make)(void *, struct str *), void *data,
		    int interval_ms)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	int r;

	do {
		str_clear(&text);
		r = make(data, &text);
		if (r < 0)
			return 1;
		r = cli_print(&text);
	} while (r == 0 && !signalled && !pause_only(interval_ms));
	return r;
}

int live_run(int (*make)(void *data, struct str *out), void *data,
	     int interval_ms, bool on_screen)
{
	catch_signals();
	if (on_screen && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO))
		return on_terminal(make, data, interval_ms);
	return in_a_row(make, data, interval_ms);
}
