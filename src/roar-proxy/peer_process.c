/* peer_process.c - see peer_process.h */
#include "peer_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"

enum {
	MAX_LOOKS = 1 << 16, /* descriptors that are looked at for one connection */
	FEW_LOOKS = 16, /* the newest of a process: mostly it is among them */
	KEEP_MS = 1000, /* how long a socket is remembered */
	REST_MS = 100, /* after a search in vain, which costs milliseconds */
	ALL_STATES = -1,
};

void peer_processes_init(struct peer_processes *p)
{
	*p = (struct peer_processes){ .netlink_fd = -1 };
}

void peer_processes_release(struct peer_processes *p)
{
	free(p->sockets);
	p->sockets = NULL;
	closep(&p->netlink_fd);
	p->netlink_fd = -1;
}

/* ---- the other end ---- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static void fill_id(struct inet_diag_sockid *id, const union address *peer,
		    const union address *own)
{
	if (peer->any.sa_family == AF_INET) {
		id->idiag_sport = peer->v4.sin_port;
		id->idiag_dport = own->v4.sin_port;
		memcpy(id->idiag_src, &peer->v4.sin_addr, 4);
		memcpy(id->idiag_dst, &own->v4.sin_addr, 4);
	} else {
		id->idiag_sport = peer->v6.sin6_port;
		id->idiag_dport = own->v6.sin6_port;
		memcpy(id->idiag_src, &peer->v6.sin6_addr, 16);
		memcpy(id->idiag_dst, &own->v6.sin6_addr, 16);
	}
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
}

/* Its own end of the connection is the other one's far end. */
static int ask_kernel(int netlink_fd, const union address *peer,
		      const union address *own, struct peer_identity *ret)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} q = {
		.head = { .nlmsg_len = sizeof(q),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_family = (uint8_t)peer->any.sa_family,
			  .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = (uint32_t)ALL_STATES },
	};
	struct {
		struct nlmsghdr head;
		struct inet_diag_msg body;
		char more[1024];
	} answer;
	ssize_t n;

	fill_id(&q.body.id, peer, own);
	if (send(netlink_fd, &q, sizeof(q), 0) < 0)
		return -ENOENT;
	n = recv(netlink_fd, &answer, sizeof(answer), MSG_DONTWAIT);
	if (n < (ssize_t)(sizeof(answer.head) + sizeof(answer.body)) ||
	    answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -ENOENT;
	*ret = (struct peer_identity){ .uid = answer.body.idiag_uid,
				       .inode = answer.body.idiag_inode };
	return 0;
}

static int tcp_identity(struct peer_processes *p, int fd,
			struct peer_identity *ret)
{
	union address peer = { .v6 = { 0 } }, own = { .v6 = { 0 } };
	socklen_t peer_len = sizeof(peer), own_len = sizeof(own);

	if (getpeername(fd, &peer.any, &peer_len) < 0 ||
	    getsockname(fd, &own.any, &own_len) < 0 ||
	    (peer.any.sa_family != AF_INET && peer.any.sa_family != AF_INET6))
		return -ENOENT;
	if (p->netlink_fd < 0)
		p->netlink_fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC,
				       NETLINK_SOCK_DIAG);
	return p->netlink_fd < 0 ? -ENOENT :
				   ask_kernel(p->netlink_fd, &peer, &own, ret);
}

int peer_identity_get(struct peer_processes *p, int fd,
		      struct peer_identity *ret)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int family = 0;
	socklen_t family_len = sizeof(family);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &family_len) < 0)
		return -ENOENT;
	if (family != AF_UNIX)
		return tcp_identity(p, fd, ret);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -ENOENT;
	*ret = (struct peer_identity){ .uid = peer.uid, .pid = peer.pid };
	return 0;
}

/* ---- the process that has it ---- */

struct numbers {
	int *list;
	size_t n, cap;
};

static void numbers_release(struct numbers *n)
{
	free(n->list);
}

static int compare_down(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x < y) - (x > y);
}

/* The names of a directory that are numbers, the highest first: the newest mostly are. */
static int read_numbers(DIR *dir, struct numbers *ret)
{
	for (struct dirent *e; (e = readdir(dir));) {
		int *place;

		if (e->d_name[0] < '0' || e->d_name[0] > '9' ||
		    ret->n >= MAX_LOOKS)
			continue;
		place = VEC_PUSH(ret->list, ret->n, ret->cap);
		if (!place)
			return -ENOMEM;
		*place = atoi(e->d_name);
	}
	if (ret->n)
		qsort(ret->list, ret->n, sizeof(ret->list[0]), compare_down);
	return 0;
}

/* ---- sockets that were met ---- */

static int64_t now_ms(void)
{
	return clock_mono_ns() / 1000000;
}

static struct peer_socket *place_of(struct peer_processes *p, uint32_t inode)
{
	return &p->sockets[inode % PEER_SOCKETS];
}

static void remember(struct peer_processes *p, uint32_t inode, pid_t pid)
{
	if (!p->sockets) {
		p->sockets = calloc(PEER_SOCKETS, sizeof(*p->sockets));
		p->since_ms = now_ms();
	}
	if (p->sockets)
		*place_of(p, inode) = (struct peer_socket){ inode, pid };
}

static pid_t recall(struct peer_processes *p, uint32_t inode)
{
	if (!p->sockets)
		return 0;
	if (now_ms() - p->since_ms > KEEP_MS) {
		free(p->sockets);
		p->sockets = NULL;
		return 0;
	}
	return place_of(p, inode)->inode == inode ? place_of(p, inode)->pid : 0;
}

/* The inode of "socket:[123]"; 0: it is something else. */
static uint32_t read_inode(int dir_fd, int fd)
{
	char name[16], text[64];
	unsigned inode = 0;
	ssize_t n;

	(void)snprintf(name, sizeof(name), "%d", fd);
	n = readlinkat(dir_fd, name, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "socket:[%u]", &inode) == 1 ? inode : 0;
}

static bool has_socket(struct peer_processes *p, pid_t pid, uint32_t inode,
		       unsigned *left)
{
	CLEANUP(numbers_release) struct numbers fds = { 0 };
	CLEANUP(closedirp) DIR *dir = NULL;
	bool is_found = false;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir || read_numbers(dir, &fds) < 0)
		return false;
	for (size_t i = 0; i < fds.n && *left; i++, (*left)--) {
		uint32_t met = read_inode(dirfd(dir), fds.list[i]);

		is_found |= met == inode;
		if (is_found && i < FEW_LOOKS)
			return true;
		if (met && i >= FEW_LOOKS)
			remember(p, met, pid);
	}
	return is_found;
}

static bool is_ours(int proc_fd, pid_t pid)
{
	char name[16];
	struct stat st;

	(void)snprintf(name, sizeof(name), "%d", (int)pid);
	return fstatat(proc_fd, name, &st, 0) == 0 && st.st_uid == geteuid();
}

static pid_t find_owner(struct peer_processes *p, uint32_t inode)
{
	CLEANUP(numbers_release) struct numbers pids = { 0 };
	CLEANUP(closedirp) DIR *proc = NULL;
	unsigned left = MAX_LOOKS;

	if (p->last && has_socket(p, p->last, inode, &left))
		return p->last;
	if (p->missed_ms && now_ms() - p->missed_ms < REST_MS)
		return 0;
	proc = opendir("/proc");
	if (!proc || read_numbers(proc, &pids) < 0)
		return 0;
	for (size_t i = 0; i < pids.n && left; i++) {
		pid_t pid = pids.list[i];

		if (pid != p->last && pid != getpid() &&
		    is_ours(dirfd(proc), pid) &&
		    has_socket(p, pid, inode, &left))
			return p->last = pid;
	}
	p->missed_ms = now_ms();
	return 0;
}

pid_t peer_process_find(struct peer_processes *p,
			const struct peer_identity *peer)
{
	pid_t known;

	if (peer->pid || !peer->inode)
		return peer->pid;
	known = recall(p, peer->inode);
	return known ? known : find_owner(p, peer->inode);
}
