/* key_requests.c - see key_requests.h */
#include "coord/keys/key_requests.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "coord/keys/key.h"

void key_requests_release(struct key_requests *p)
{
	free(p->done);
	*p = (struct key_requests){ 0 };
}

int key_requests_reserve(struct key_requests *p, uint64_t request)
{
	if (!request || p->n == KEY_REQUESTS_MAX)
		return 0;
	return vec_reserve(&p->done, &p->cap, p->n + 1, sizeof(*p->done));
}

void key_requests_add(struct key_requests *p, uint64_t request,
		      uint64_t version)
{
	const struct key_request done = { request, version };

	if (!request)
		return;
	if (p->n < KEY_REQUESTS_MAX) {
		p->done[p->n++] = done;
		return;
	}
	p->done[p->first] = done;
	p->first = (p->first + 1) % KEY_REQUESTS_MAX;
}

const struct key_request *key_requests_at(const struct key_requests *p,
					  size_t i)
{
	assert(i < p->n);
	return &p->done[(p->first + i) % p->n];
}

bool key_requests_find(const struct key_requests *p, uint64_t request,
		       uint64_t *ret_version)
{
	for (size_t i = 0; request && i < p->n; i++) {
		if (p->done[i].request != request)
			continue;
		*ret_version = p->done[i].version;
		return true;
	}
	return false;
}

/* Only in snapshots, where nothing was done before. */
int change_key_past(struct coord *c, const Record *record)
{
	const Roar__Record__KeyPast *m = record->key_past;
	struct job *job = job_find(c, m->job_id);
	struct key_requests *p = job ? &job->key_requests : NULL;

	if (!c->replaying || !p || p->n || m->n_requests > KEY_REQUESTS_MAX ||
	    m->n_versions != m->n_requests)
		return -EBADMSG;
	for (size_t i = 0; i < m->n_requests; i++) {
		if (!m->requests[i])
			return -EBADMSG;
		if (key_requests_reserve(p, m->requests[i]) < 0)
			return -ENOMEM;
		key_requests_add(p, m->requests[i], m->versions[i]);
	}
	return 0;
}
