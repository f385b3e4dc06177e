/* dataset_list.c - the datasets of a job, as they were registered. */
#include "coord/data/data.h"

#include <errno.h>

enum {
	PAGE_DEFAULT = 100,
	PAGE_MAX = 1000,
	PAGE_BYTES = 4 << 20, /* of a reply, about; one dataset fits always */
};

static size_t limit_of(const Roar__ListDatasetsRequest *m)
{
	return !m->limit	   ? PAGE_DEFAULT :
	       m->limit > PAGE_MAX ? PAGE_MAX :
				     (size_t)m->limit;
}

/* Fills a page from `first` on.  Returns where the next one begins; 0: nowhere. */
static size_t fill(const struct job *job, size_t first, size_t limit,
		   Coordinator__DatasetInfo **page, size_t *ret_n)
{
	size_t bytes = 0, n = 0;

	for (size_t i = first; i < job->n_datasets; i++) {
		Coordinator__DatasetInfo *info = job->datasets[i]->info;

		bytes += protobuf_c_message_get_packed_size(&info->base);
		if (n == limit || (n && bytes > PAGE_BYTES))
			return i;
		page[n++] = info;
		*ret_n = n;
	}
	return 0;
}

static void tell_one(const struct request *q, const struct job *job,
		     const char *id)
{
	Roar__ListDatasetsReply reply = ROAR__LIST_DATASETS_REPLY__INIT;
	struct dataset *d = request_dataset(q, job, id);

	if (!d)
		return;
	reply.datasets = &d->info;
	reply.n_datasets = 1;
	request_reply(q, &reply);
}

void method_list_datasets(const struct request *q, const void *message)
{
	const Roar__ListDatasetsRequest *m = message;
	Roar__ListDatasetsReply reply = ROAR__LIST_DATASETS_REPLY__INIT;
	Coordinator__DatasetInfo *page[PAGE_MAX];
	struct job *job = request_job(q, m->job_id);

	if (!job || request_check_natural(q, "first", m->first) < 0 ||
	    request_check_natural(q, "limit", m->limit) < 0)
		return;
	if (*m->dataset_id) {
		tell_one(q, job, m->dataset_id);
		return;
	}
	reply.next = (int32_t)fill(job, (size_t)m->first, limit_of(m), page,
				   &reply.n_datasets);
	reply.datasets = page;
	request_reply(q, &reply);
}
