/* target.h - the job, session or artifact that an argument of the user means.
 *
 *	@N, @BN		step N (build step N) of the active session, latest run
 *	@N.M, @BN.M	execution M of that step
 *	8 hex digits	job UID (or a unique prefix of at least 4), else session,
 *			else artifact
 *	hex prefix	session by UID or hash, else artifact by any digest (at
 *			least 4 digits, unique)
 *	s3://B/K	place of a recorded object
 *	anything else	path of a recorded file or of a directory that is a collection,
 *			relative to the directory `cwd`; else the name of a collection */
#ifndef ROAR_QUERY_TARGET_H
#define ROAR_QUERY_TARGET_H

#include "base/error.h"
#include "store/store.h"
#include "store/store_collection.h"

struct query;

enum target_kind { TARGET_JOB, TARGET_ARTIFACT, TARGET_SESSION };

enum target_want {
	/* A job or an artifact.  The name of a session is -EINVAL, with a sentence
	 * that says so. */
	TARGET_ANY,
	TARGET_ANY_OR_SESSION,
	TARGET_WANT_JOB, /* --job */
	TARGET_WANT_ARTIFACT, /* --artifact HASH */
	TARGET_WANT_PATH, /* --path P */
	TARGET_WANT_SESSION, /* --session REF */
};

/* An argument such as "@N", before anything is looked up. */
struct target_step {
	const char *kind; /* "run" or "build" */
	int64_t step;
	int64_t attempt; /* 0: the latest execution */
};

/* Does the argument have the form of a step (it starts with @), valid or not? */
bool target_is_step(const char *word);

/* Parses a step.  -EINVAL and a message when it is not valid. */
int target_parse_step(const char *word, struct target_step *ret,
		      struct roar_error *err);

struct target {
	enum target_kind kind;
	struct store_job job; /* TARGET_JOB */
	struct store_artifact artifact; /* TARGET_ARTIFACT */
	struct store_session session; /* TARGET_SESSION */
	struct store_collection collection; /* that the artifact is; id 0: none */
	const char *path; /* the artifact was named by this path; else NULL */
};

/* Fills *ret for the collection that `word` names: by name, path of its directory or
 * hash.  Errors as target_resolve(). */
int target_collection(struct query *q, const char *cwd, const char *word,
		      struct target *ret, struct roar_error *err);

/* Resolves `word`, an argument of the user.  -ENOENT, -ENODATA (the path is recorded,
 * its content was never identified), -EINVAL or -ENOTUNIQ with a message that names the
 * argument, what was tried and the remedy (an ambiguous prefix lists candidates).
 * -EINVAL is wrong usage: no record could contain such an argument. */
int target_resolve(struct query *q, const char *cwd, const char *word,
		   enum target_want want, struct target *ret,
		   struct roar_error *err);

#endif
