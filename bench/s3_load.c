/* s3_load.c - sends one request again and again over a few connections.
 *
 * usage: s3_load ADDRESS PORT HEAD BODY REPEAT CONNECTIONS REQUESTS
 *
 * HEAD and BODY are files with the bytes of the request; the body is sent REPEAT times,
 * so that a small file makes a large upload.  Each connection sends its next request when
 * the answer to the last is complete.  Bodies of answers are discarded in the kernel, so
 * that the load costs little beside what is measured.
 *
 * Prints JSON: how many requests were answered with 2xx, how many were not, the bytes of
 * bodies, the wall time, and the latency at the quantiles. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { MAX_HEAD = 16 << 10, N_EVENTS = 64, DISCARD = 1 << 20 };

struct bytes {
	char *data;
	size_t len;
};

struct connection {
	int fd;
	uint64_t sent; /* bytes of this request */
	uint64_t left; /* bytes of the answer's body that are still to come */
	size_t n_head; /* bytes of the answer's head so far */
	bool in_body;
	bool good; /* 2xx */
	int64_t start_ns;
	char head[MAX_HEAD];
};

static struct bytes head, body;
static uint64_t request_size, n_repeats;
static unsigned n_wanted, n_begun, n_good, n_bad;
static uint64_t n_body_bytes;
static int64_t *latencies_ns;
static int epoll_fd;

static void die(const char *what)
{
	(void)fprintf(stderr, "s3_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct bytes map_file(const char *path)
{
	struct bytes b = { 0 };
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		die(path);
	b.len = (size_t)st.st_size;
	if (b.len > 0) {
		b.data = mmap(NULL, b.len, PROT_READ,
			      MAP_PRIVATE | MAP_POPULATE, fd, 0);
		if (b.data == MAP_FAILED)
			die(path);
	}
	(void)close(fd);
	return b;
}

static void watch(struct connection *c, int op, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = c };

	if (epoll_ctl(epoll_fd, op, c->fd, &e) < 0)
		die("epoll_ctl");
}

/* Sends what is left of the request.  0: the socket is full. */
static int send_more(struct connection *c)
{
	while (c->sent < request_size) {
		struct iovec iov[2];
		int n = 0;
		ssize_t done;

		if (c->sent < head.len) {
			iov[n++] = (struct iovec){ head.data + c->sent,
						   head.len - (size_t)c->sent };
		}
		if (body.len > 0) {
			uint64_t at = c->sent > head.len ? c->sent - head.len :
							   0;
			size_t skip = (size_t)(at % body.len);

			iov[n++] = (struct iovec){ body.data + skip,
						   body.len - skip };
		}
		done = writev(c->fd, iov, n);
		if (done < 0)
			return errno == EAGAIN ? 0 : -errno;
		c->sent += (uint64_t)done;
	}
	return 1;
}

static int begin(struct connection *c)
{
	int r;

	c->sent = c->left = 0;
	c->n_head = 0;
	c->in_body = false;
	c->start_ns = now_ns();
	n_begun++;
	r = send_more(c);
	if (r == 0)
		watch(c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
	return r < 0 ? r : 0;
}

/* Reads the status and the length of an answer.  The end of its head is at `end`. */
static void parse(struct connection *c, char *end)
{
	size_t extra = c->n_head - (size_t)(end + 4 - c->head);
	char *length;

	*end = '\0';
	c->good = strncmp(c->head, "HTTP/1.1 2", 10) == 0;
	length = strcasestr(c->head, "\r\ncontent-length:");
	c->left = length ? strtoull(length + 17, NULL, 10) : 0;
	extra = extra < c->left ? extra : (size_t)c->left;
	c->left -= extra;
	n_body_bytes += extra;
	c->in_body = true;
}

/* 1: a head is there; 0: not yet. */
static int read_head(struct connection *c)
{
	ssize_t n;
	char *end;

	n = recv(c->fd, c->head + c->n_head, MAX_HEAD - 1 - c->n_head, 0);
	if (n <= 0)
		return n < 0 && errno == EAGAIN ? 0 : -EPIPE;
	c->n_head += (size_t)n;
	c->head[c->n_head] = '\0';
	end = strstr(c->head, "\r\n\r\n");
	if (!end)
		return c->n_head < MAX_HEAD - 1 ? 0 : -EMSGSIZE;
	if (strncmp(c->head, "HTTP/1.1 100", 12) == 0) {
		c->n_head -= (size_t)(end + 4 - c->head);
		memmove(c->head, end + 4, c->n_head);
		return 0;
	}
	parse(c, end);
	return 1;
}

/* 1: the answer is complete. */
static int receive(struct connection *c)
{
	while (!c->in_body) {
		int r = read_head(c);

		if (r <= 0)
			return r;
	}
	while (c->left > 0) {
		size_t n = c->left < DISCARD ? (size_t)c->left : DISCARD;
		ssize_t done = recv(c->fd, NULL, n, MSG_TRUNC);

		if (done <= 0)
			return done < 0 && errno == EAGAIN ? 0 : -EPIPE;
		c->left -= (uint64_t)done;
		n_body_bytes += (uint64_t)done;
	}
	return 1;
}

static void finish(struct connection *c)
{
	if (c->good)
		latencies_ns[n_good++] = now_ns() - c->start_ns;
	else
		n_bad++;
	n_body_bytes += request_size - head.len;
}

/* Handles an event; false: the connection has nothing more to do. */
static bool advance(struct connection *c, uint32_t events)
{
	int r = 0;

	if (events & EPOLLOUT) {
		r = send_more(c);
		if (r > 0)
			watch(c, EPOLL_CTL_MOD, EPOLLIN);
	}
	if (r >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		r = receive(c);
	else if (r > 0)
		r = 0;
	if (r < 0) {
		n_bad++;
		return false;
	}
	if (r == 0)
		return true;
	finish(c);
	return n_begun < n_wanted && begin(c) == 0;
}

static void start(struct connection *c, const struct sockaddr_in *address)
{
	int one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)address,
				 sizeof(*address)) < 0)
		die("connect");
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0)
		die("fcntl");
	watch(c, EPOLL_CTL_ADD, EPOLLIN);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static double quantile_us(double q)
{
	if (n_good == 0)
		return 0;
	return (double)latencies_ns[(size_t)(q * (n_good - 1))] / 1e3;
}

static void print(double wall_s)
{
	qsort(latencies_ns, n_good, sizeof(*latencies_ns), compare);
	(void)printf("{\"good\": %u, \"bad\": %u, \"bytes\": %" PRIu64
		     ", \"wall_s\": %.6f, \"p50_us\": %.1f, \"p95_us\": %.1f, "
		     "\"p99_us\": %.1f}\n",
		     n_good, n_bad, n_body_bytes, wall_s, quantile_us(0.5),
		     quantile_us(0.95), quantile_us(0.99));
}

static double run(struct connection *connections, unsigned n)
{
	struct epoll_event events[N_EVENTS];
	int64_t start_ns = now_ns();
	unsigned n_open = n;

	for (unsigned i = 0; i < n; i++)
		if (n_begun < n_wanted && begin(&connections[i]) < 0)
			die("send");
	while (n_open > 0 && n_good + n_bad < n_wanted) {
		int n_events = epoll_wait(epoll_fd, events, N_EVENTS, -1);

		for (int i = 0; i < n_events; i++) {
			struct connection *c = events[i].data.ptr;

			if (advance(c, events[i].events))
				continue;
			(void)close(c->fd);
			n_open--;
		}
	}
	return (double)(now_ns() - start_ns) / 1e9;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct connection *connections;
	unsigned n;

	if (argc != 8 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
		(void)fputs("usage: s3_load ADDRESS PORT HEAD BODY REPEAT "
			    "CONNECTIONS REQUESTS\n",
			    stderr);
		return 2;
	}
	address.sin_port = htons((uint16_t)atoi(argv[2]));
	head = map_file(argv[3]);
	body = map_file(argv[4]);
	n_repeats = strtoull(argv[5], NULL, 10);
	request_size = head.len + n_repeats * body.len;
	n = (unsigned)atoi(argv[6]);
	n_wanted = (unsigned)atoi(argv[7]);
	connections = calloc(n, sizeof(*connections));
	latencies_ns = calloc(n_wanted + 1, sizeof(*latencies_ns));
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!connections || !latencies_ns || epoll_fd < 0)
		die("start");
	for (unsigned i = 0; i < n; i++)
		start(&connections[i], &address);
	print(run(connections, n));
	return n_bad > 0;
}
