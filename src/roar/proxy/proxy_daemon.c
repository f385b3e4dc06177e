/* proxy_daemon.c - see proxy_daemon.h */
#include "proxy/proxy_daemon.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/str.h"

#define FILE_NAME "proxy.json"

enum {
	FILE_MAX = 4096,
	ANSWER_MAX = 64 * 1024,
	ANSWER_S = 10, /* it waits 2 s for open requests at most */
};

/* ---- the control socket ---- */

/* By a name that is short, however long the project's is. */
static int connect_control(int dirfd)
{
	CLEANUP(closep)
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = ANSWER_S };

	if (fd < 0)
		return -errno;
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "/proc/self/fd/%d/" PROXY_DAEMON_SOCKET, dirfd);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static void add_escaped(struct str *out, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (isalnum(*p) || strchr("-._~/", *p))
			str_addc(out, (char)*p);
		else
			str_addf(out, "%%%02X", *p);
	}
}

/* The body of an answer of HTTP/1.1 with this head; NULL when it is not one. */
static const char *find_body(const char *answer, int *ret_status)
{
	const char *body = strstr(answer, "\r\n\r\n");

	if (!body || sscanf(answer, "HTTP/1.%*d %d ", ret_status) != 1)
		return NULL;
	return body + 4;
}

static int refuse(int r, const char *what, struct roar_error *err)
{
	return error_set(err, r,
			 "the proxy daemon does not answer: %s; "
			 "'roar proxy stop' ends it",
			 what);
}

/* Asks and appends the body of the answer.  With "Connection: close" and a body that has
 * a length, the end of the stream is the end of the body. */
static int ask(int dirfd, const char *method, const char *path, const char *log,
	       struct str *ret_body, struct roar_error *err)
{
	CLEANUP(closep) int fd = connect_control(dirfd);
	CLEANUP(str_release) struct str request = STR_INIT;
	CLEANUP(freep) char *answer = calloc(1, ANSWER_MAX + 1);
	const char *body;
	int status = 0;
	ssize_t n;
	int r;

	str_addf(&request, "%s %s", method, path);
	if (log) {
		str_adds(&request, "?log=");
		add_escaped(&request, log);
	}
	str_adds(&request, " HTTP/1.1\r\nHost: localhost\r\n"
			   "Connection: close\r\nContent-Length: 0\r\n\r\n");
	if (!answer || str_error(&request) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	r = fd < 0 ? fd : fd_write_all(fd, request.data, request.len);
	if (r < 0)
		return refuse(r, strerror(-r), err);
	n = fd_read_all(fd, answer, ANSWER_MAX);
	if (n == -EAGAIN)
		return refuse(-ETIMEDOUT, "it is stopped or too busy", err);
	if (n < 0)
		return refuse((int)n, strerror((int)-n), err);
	body = find_body(answer, &status);
	if (!body)
		return refuse(-EBADMSG, "its answer is not valid", err);
	if (status < 200 || status > 299)
		return error_set(err, -EIO,
				 "the proxy daemon refuses: %.100s (%d)", body,
				 status);
	str_adds(ret_body, body);
	return str_error(ret_body);
}

/* ---- the file ---- */

/* NULL: it is not an object or array of JSON, or there is no memory. */
static json_t *parse(const struct str *text)
{
	return json_loadb(str_cstr(text), text->len, JSON_REJECT_DUPLICATES,
			  NULL);
}

static void read_text(const json_t *file, const char *name,
		      char ret[PROXY_URL_MAX])
{
	const char *text = json_string_value(json_object_get(file, name));

	if (text && strlen(text) < PROXY_URL_MAX)
		(void)snprintf(ret, PROXY_URL_MAX, "%s", text);
}

static int read_file(int dirfd, struct proxy_daemon *ret)
{
	CLEANUP(json_decrefp) json_t *file = NULL;
	CLEANUP(str_release) struct str text = STR_INIT;
	int r = fd_read_file(dirfd, FILE_NAME, FILE_MAX, &text);

	if (r < 0)
		return r;
	file = parse(&text);
	*ret = (struct proxy_daemon){
		.pid = (pid_t)json_integer_value(json_object_get(file, "pid")),
		.started_ns = json_integer_value(
			json_object_get(file, "started_ns")),
	};
	read_text(file, "endpoint", ret->endpoint);
	read_text(file, "upstream", ret->upstream);
	return ret->pid > 0 && ret->endpoint[0] ? 0 : -EBADMSG;
}

int proxy_daemon_keep(int dirfd, const struct proxy_daemon *daemon)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct json j = json_writer(&text, true);

	json_put_object(&j);
	json_put_key(&j, "pid");
	json_put_int(&j, daemon->pid);
	json_put_key(&j, "control");
	json_put_string(&j, PROXY_DAEMON_SOCKET);
	json_put_key(&j, "endpoint");
	json_put_string(&j, daemon->endpoint);
	json_put_key(&j, "upstream");
	json_put_string(&j, daemon->upstream);
	json_put_key(&j, "started_ns");
	json_put_int(&j, daemon->started_ns);
	json_end(&j);
	str_addc(&text, '\n');
	if (str_error(&text) < 0)
		return -ENOMEM;
	return fd_replace_file(dirfd, FILE_NAME, text.data, text.len, 0600);
}

void proxy_daemon_forget(int dirfd)
{
	(void)unlinkat(dirfd, FILE_NAME, 0);
	(void)unlinkat(dirfd, PROXY_DAEMON_SOCKET, 0);
}

int proxy_daemon_find(int dirfd, struct proxy_daemon *ret)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	struct proxy_daemon daemon;
	CLEANUP(closep) int fd = -1;
	int r = read_file(dirfd, &daemon);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		fd = connect_control(dirfd);
	if (fd >= 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	    peer.pid == daemon.pid) {
		*ret = daemon;
		return 1;
	}
	/* One that is too busy to accept is there nevertheless. */
	if (fd < 0 && r == 0 && fd != -ECONNREFUSED && fd != -ENOENT)
		return 0;
	proxy_daemon_forget(dirfd);
	return 0;
}

/* ---- questions ---- */

int proxy_daemon_open(int dirfd, const char *log, char ret_url[PROXY_URL_MAX],
		      struct roar_error *err)
{
	CLEANUP(str_release) struct str body = STR_INIT;
	CLEANUP(json_decrefp) json_t *answer = NULL;
	char url[PROXY_URL_MAX] = "";
	int r = ask(dirfd, "POST", "/runs", log, &body, err);

	if (r < 0)
		return r;
	answer = parse(&body);
	read_text(answer, "endpoint", url);
	if (!url[0])
		return refuse(-EBADMSG, "its answer is not valid", err);
	memcpy(ret_url, url, sizeof(url));
	return 0;
}

int proxy_daemon_end(int dirfd, const char *log, struct roar_error *err)
{
	CLEANUP(str_release) struct str body = STR_INIT;

	return ask(dirfd, "DELETE", "/runs", log, &body, err);
}

int proxy_daemon_status(int dirfd, struct str *out, struct roar_error *err)
{
	CLEANUP(str_release) struct str body = STR_INIT;
	CLEANUP(json_decrefp) json_t *answer = NULL;
	int r = ask(dirfd, "GET", "/status", NULL, &body, err);

	if (r < 0)
		return r;
	answer = parse(&body);
	if (!answer)
		return refuse(-EBADMSG, "its answer is not valid", err);
	str_add(out, body.data, body.len);
	return str_error(out);
}
