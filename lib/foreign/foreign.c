/* foreign.c - see foreign.h */
#include "foreign/foreign.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

void foreign_release(struct foreign_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		free(runs->list[i].files);
	free(runs->list);
	*runs = FOREIGN_RUNS_INIT;
}

struct foreign_run *foreign_add_run(struct foreign_runs *runs,
				    struct roar_error *err)
{
	struct foreign_run *run;

	if (runs->n >= FOREIGN_RUNS_MAX) {
		(void)error_set(err, -EFBIG,
				"there are more than %d runs: import them in "
				"parts",
				FOREIGN_RUNS_MAX);
		return NULL;
	}
	run = VEC_PUSH(runs->list, runs->n, runs->cap);
	if (!run)
		(void)error_set(err, -ENOMEM, "out of memory");
	return run;
}

struct foreign_file *foreign_add_file(struct foreign_runs *runs,
				      struct foreign_run *run, const char *path,
				      bool is_output, struct roar_error *err)
{
	struct foreign_file *file;

	if (runs->n_files >= FOREIGN_FILES_MAX) {
		(void)error_set(err, -EFBIG,
				"there are more than %d files: import them in "
				"parts",
				FOREIGN_FILES_MAX);
		return NULL;
	}
	file = path ? VEC_PUSH(run->files, run->n_files, run->cap_files) : NULL;
	if (!file) {
		(void)error_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	runs->n_files++;
	*file = (struct foreign_file){ .path = path,
				       .is_output = is_output,
				       .size = -1 };
	return file;
}
