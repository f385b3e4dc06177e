/* sample.h - the record most tests look at: prepare, train, evaluate. */
#ifndef ROAR_TEST_QUERY_SAMPLE_H
#define ROAR_TEST_QUERY_SAMPLE_H

#include <unistd.h>

#include "record.h"

static inline void record_prepare(struct fixture *f, const char *uid,
				  const char *content)
{
	record_made(f, uid, "python prepare.py raw.csv", "raw.csv",
		    "features.bin", content);
}

static inline void record_pipeline(struct fixture *f)
{
	put(f, "raw.csv", "1,2,3\n");
	record_prepare(f, "aaaa0001", "features");
	job(f, "bbbb0002", "python train.py --epochs 10");
	f->job.name = "train";
	input(f, "features.bin");
	input(f, "raw.csv");
	output(f, "model.pt", "model one");
	record(f);
	record_made(f, "cccc0003", "python evaluate.py", "model.pt",
		    "metrics.json", "{}\n");
}

/* What the first job makes, mv and ln carry on: y -> yy, which is also yl. */
static inline void record_moves(struct fixture *f)
{
	struct store_file *row;

	record_made(f, "aaaa0001", "make y", NULL, "y", "content");
	job(f, "bbbb0002", "mv y yy");
	moved(f, "y", "yy");
	record(f);
	job(f, "cccc0003", "ln yy yl");
	moved(f, "yy", "yl");
	row = &f->files[f->n_files - 1];
	row->seen = LINEAGE_LINKED_TO | LINEAGE_PRIOR;
	assert_int_equal(link("yl", "yy"), 0);
	record(f);
}

#endif
