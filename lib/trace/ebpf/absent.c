/* absent.c - replaces the eBPF tracer where it was not built */
#include <errno.h>

#include "trace/ebpf/ebpf.h"
#include "trace/ebpf/load.h"
#include "trace/ebpf/remote.h"
#include "trace/tracer.h"

static int absent(struct roar_error *err)
{
	return error_set(err, -ENOSYS,
			 "this roar was built without eBPF (it needs clang and "
			 "the headers of libbpf)");
}

static int absent_start(const struct tracer_job *job, struct tracer **ret,
			struct roar_error *err)
{
	(void)job;
	(void)ret;
	return absent(err);
}

const struct tracer_ops tracer_ebpf = {
	.name = "ebpf",
	.summary = "programs in the kernel: not built into this roar",
	.start = absent_start,
};

int ebpf_open(enum ebpf_how how, struct ebpf **ret_ebpf, struct roar_error *err)
{
	(void)how;
	(void)ret_ebpf;
	return absent(err);
}

void ebpf_close(struct ebpf *e)
{
	(void)e;
}

int ebpf_pin(struct ebpf *e, struct roar_error *err)
{
	(void)e;
	return absent(err);
}

int ebpf_unpin(struct roar_error *err)
{
	return absent(err);
}

bool ebpf_is_pinned(void)
{
	return false;
}

bool remote_answers(void)
{
	return false;
}
