/* ops_fd.c - descriptors that stay open while their files are renamed, linked,
 * removed and written by others. */
#include "ops.h"

void keep(int fd, int node, bool reads, bool writes)
{
	if (m->n_fds == FDS_MAX) {
		CHECK(close(fd));
		return;
	}
	m->fds[m->n_fds++] = (struct kept){ .fd = fd,
					    .node = node,
					    .inode = m->nodes[node].inode,
					    .reads = reads,
					    .writes = writes };
}

static struct kept *pick(void)
{
	return m->n_fds ? &m->fds[below((unsigned)m->n_fds)] : NULL;
}

void read_all(int fd, int inode)
{
	const struct inode *i = &m->inodes[inode];
	char data[DATA_MAX + 1];

	REQUIRE(pread(fd, data, sizeof(data), 0) == i->len);
	REQUIRE(memcmp(data, i->data, (size_t)i->len) == 0);
}

void write_some(int fd, int inode, bool append)
{
	char data[8];
	int len = (int)below(sizeof(data));
	int at = m->inodes[inode].len;

	if (!append && at && one_in(2))
		at = (int)below((unsigned)at);
	if (at + len > DATA_MAX)
		return;
	for (int i = 0; i < len; i++)
		data[i] = (char)('a' + below(26));
	SAY("  %d bytes at %d", len, at);
	REQUIRE(pwrite(fd, data, (size_t)len, at) == len);
	was_changed(inode, at, data, len);
}

void op_kept_write(void)
{
	struct kept *k = pick();

	if (!k || !k->writes)
		return;
	SAY("write kept %d", k->fd);
	write_some(k->fd, k->inode, false);
}

void op_kept_read(void)
{
	struct kept *k = pick();

	if (!k || !k->reads)
		return;
	SAY("read kept %d", k->fd);
	read_all(k->fd, k->inode);
}

void op_kept_truncate(void)
{
	struct kept *k = pick();
	struct inode *inode = k ? &m->inodes[k->inode] : NULL;
	int len;

	if (!k || !k->writes || !m->nodes[k->node].alive)
		return;
	len = (inode->len + 1 + (int)below(8)) % DATA_MAX;
	SAY("truncate kept %d %d", k->fd, len);
	CHECK(ftruncate(k->fd, len));
	was_truncated(k->node, len);
}

void op_kept_close(void)
{
	struct kept *k = pick();

	if (!k)
		return;
	SAY("close kept %d", k->fd);
	CHECK(close(k->fd));
	*k = m->fds[--m->n_fds];
}

void op_kept_duplicate(void)
{
	struct kept *k = pick();
	struct kept copy;

	if (!k || m->n_fds == FDS_MAX)
		return;
	copy = *k;
	copy.fd = CHECK(one_in(2) ? dup(k->fd) : fcntl(k->fd, F_DUPFD, 40));
	SAY("duplicate kept %d %d", k->fd, copy.fd);
	m->fds[m->n_fds++] = copy;
}

/* /proc/self/fd opens the file anew, whatever its name is by now. */
void op_kept_reopen(void)
{
	struct kept *k = pick();
	char path[64];
	int fd;

	if (!k || !m->nodes[k->node].alive)
		return;
	snprintf(path, sizeof(path),
		 one_in(2) ? "/proc/self/fd/%d" : "/dev/fd/%d", k->fd);
	SAY("reopen kept %s", path);
	if (one_in(2)) {
		fd = CHECK(open(path, O_RDONLY));
		was_read(k->node);
		read_all(fd, k->inode);
	} else {
		fd = CHECK(open(path, O_WRONLY));
		was_opened_for_writing(k->node);
		write_some(fd, k->inode, false);
	}
	CHECK(close(fd));
}
