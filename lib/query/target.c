/* target.c - see target.h */
#include "query/target.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/quote.h"
#include "base/str.h"
#include "query/query.h"

enum {
	PREFIX_MIN = 4, /* hex digits */
	UID_DIGITS = 8,
	CANDIDATES = 5, /* listed when a prefix is ambiguous */
	SHOWN = 160, /* bytes of a word in a sentence */
};

struct lookup {
	struct query *query;
	const char *cwd; /* where relative paths start */
	const char *word; /* as the user typed it */
	char shown[SHOWN]; /* the same, safe in a sentence */
	struct roar_error *err;
};

static void show_word(const char *word, char ret[SHOWN])
{
	struct str text = STR_INIT;

	quote_printable_cut(&text, word, 120);
	(void)snprintf(ret, SHOWN, "%.150s", str_cstr(&text));
	str_release(&text);
}

static bool is_hex(const char *word)
{
	size_t len = strlen(word);

	return len >= PREFIX_MIN && len <= 2 * DIGEST_MAX &&
	       strspn(word, "0123456789abcdefABCDEF") == len;
}

/* ---- @N, @BN, @N.M ---- */

/* Reads a number from 1 on; returns what follows it, NULL when there is none. */
static const char *parse_number(const char *digits, int64_t *ret)
{
	uint64_t n;

	if (number_take(&digits, 999999999, &n) < 0 || !n)
		return NULL;
	*ret = (int64_t)n;
	return digits;
}

bool target_is_step(const char *word)
{
	return word[0] == '@';
}

static bool parse_step(const char *word, struct target_step *ret)
{
	bool build = word[1] == 'B' || word[1] == 'b';
	const char *rest = parse_number(word + 1 + build, &ret->step);

	if (rest && *rest == '.')
		rest = parse_number(rest + 1, &ret->attempt);
	ret->kind = build ? "build" : "run";
	return rest && !*rest;
}

int target_parse_step(const char *word, struct target_step *ret,
		      struct roar_error *err)
{
	struct target_step step = { 0 };
	char shown[SHOWN];

	if (target_is_step(word) && parse_step(word, &step)) {
		*ret = step;
		return 0;
	}
	show_word(word, shown);
	return error_set(
		err, -EINVAL,
		"'%s' is not a step: use @N for a run step or @BN for a "
		"build step, with N from 1, and @N.M for its execution M",
		shown);
}

static int unknown_step(struct lookup *l, const struct store_job_query *query)
{
	return error_set(
		l->err, -ENOENT,
		query->attempt ?
			"execution '%s' does not exist in the active session: 'roar "
			"dag --expanded' lists the executions" :
			"step '%s' does not exist in the active session: 'roar log' "
			"lists its steps",
		l->shown);
}

static int find_step(struct lookup *l, struct target *ret)
{
	struct store_job_query query = { .limit = 1 };
	struct store_session session;
	struct target_step step;
	struct store_job *jobs;
	size_t n;
	int r;

	r = target_parse_step(l->word, &step, l->err);
	if (r < 0)
		return r;
	query.kind = step.kind;
	query.step = step.step;
	query.attempt = step.attempt;
	r = store_session_active(l->query->store, false, &session, l->err);
	if (r == -ENOENT)
		return error_set(
			l->err, -ENOENT,
			"step '%s' does not exist, because there is no active "
			"session: 'roar run' starts one",
			l->shown);
	if (r < 0)
		return r;
	query.session_id = session.id;
	r = store_jobs(l->query->store, l->query->pool, &query, &jobs, &n,
		       l->err);
	if (r < 0)
		return r;
	if (!n)
		return unknown_step(l, &query);
	ret->kind = TARGET_JOB;
	ret->job = jobs[0];
	return 0;
}

/* ---- hex digits ---- */

static int ambiguous_jobs(struct lookup *l, const struct store_job *jobs,
			  size_t n)
{
	struct str list = STR_INIT;

	for (size_t i = 0; i < n && i < CANDIDATES; i++)
		str_addf(&list, "%s%s", i ? ", " : "", jobs[i].uid);
	error_set(l->err, 0,
		  "'%s' is the start of several jobs (%s%s): give more digits",
		  l->shown, str_cstr(&list), n > CANDIDATES ? ", ..." : "");
	str_release(&list);
	return -ENOTUNIQ;
}

/* 1 when found, 0 when there is none. */
static int find_job(struct lookup *l, struct target *ret)
{
	struct store_job_query query = { .limit = CANDIDATES + 1 };
	char prefix[UID_DIGITS + 1] = "";
	struct store_job *jobs;
	size_t n;
	int r;

	if (strlen(l->word) > UID_DIGITS)
		return 0;
	for (size_t i = 0; l->word[i]; i++)
		prefix[i] = (char)tolower((unsigned char)l->word[i]);
	query.uid_prefix = prefix;
	r = store_jobs(l->query->store, l->query->pool, &query, &jobs, &n,
		       l->err);
	if (r < 0 || !n)
		return r;
	if (n > 1)
		return ambiguous_jobs(l, jobs, n);
	ret->kind = TARGET_JOB;
	ret->job = jobs[0];
	return 1;
}

/* ---- sessions ---- */

/* Does the session's UID (1) or hash (2) start with the word?  The hash of one that was
 * not closed, or by an earlier version, is computed when `compute` is set. */
static int matches_session(struct lookup *l, struct store_session *session,
			   bool compute)
{
	char hex[2 * BLAKE3_LEN + 1] = "";
	size_t len = strlen(l->word);
	int r;

	if (!compute && !strncasecmp(session->uid, l->word, len))
		return 1;
	if (session->has_hash == compute)
		return 0;
	if (compute) {
		r = store_session_hash(l->query->store, session->id,
				       session->hash, l->err);
		if (r < 0)
			return r;
	}
	digest_hex(hex, session->hash, BLAKE3_LEN);
	return strncasecmp(hex, l->word, len) ? 0 : 2;
}

static int ambiguous_sessions(struct lookup *l)
{
	return error_set(l->err, -ENOTUNIQ,
			 "'%s' is the start of several sessions: give more "
			 "digits, or a UID that 'roar log --all-sessions' lists",
			 l->shown);
}

/* 1 when found, 0 when there is none.  Kept hashes are tried first: computing one reads
 * all jobs of its session.  Of sessions with the same hash the newest is meant. */
static int find_session(struct lookup *l, struct target *ret)
{
	struct store_session *sessions;
	size_t n;
	size_t n_found = 0;
	int r;

	r = store_sessions(l->query->store, l->query->pool, &sessions, &n,
			   l->err);
	if (r < 0)
		return r;
	for (int compute = 0; compute < 2 && !n_found; compute++) {
		for (size_t i = 0; i < n; i++) {
			r = matches_session(l, &sessions[i], compute);
			if (r < 0)
				return r;
			if (r == 0)
				continue;
			n_found += !n_found || r == 1 ||
				   memcmp(ret->session.hash, sessions[i].hash,
					  BLAKE3_LEN) != 0;
			ret->session = sessions[i];
		}
	}
	if (n_found > 1)
		return ambiguous_sessions(l);
	ret->kind = TARGET_SESSION;
	return n_found == 1;
}

static int ambiguous_artifacts(struct lookup *l,
			       const struct store_artifact *found, size_t n)
{
	struct str list = STR_INIT;
	char hex[2 * BLAKE3_LEN + 1];

	for (size_t i = 0; i < n && i < CANDIDATES; i++) {
		digest_hex(hex, found[i].digests.blake3, BLAKE3_LEN);
		str_addf(&list, "%s%.16s ", i ? ", " : "", hex);
		quote_printable_cut(&list, path_basename(found[i].first_path),
				    40);
	}
	error_set(l->err, 0,
		  "'%s' is the start of several artifacts (%s%s): give more "
		  "digits",
		  l->shown, str_cstr(&list), n > CANDIDATES ? ", ..." : "");
	str_release(&list);
	return -ENOTUNIQ;
}

/* 1 when found, 0 when there is none. */
static int find_digest(struct lookup *l, struct target *ret)
{
	struct store_artifact *found;
	size_t n;
	int r;

	r = store_artifacts_by_prefix(l->query->store, l->query->pool, l->word,
				      CANDIDATES + 1, &found, &n, l->err);
	if (r < 0 || !n)
		return r;
	if (n > 1)
		return ambiguous_artifacts(l, found, n);
	ret->kind = TARGET_ARTIFACT;
	ret->artifact = found[0];
	ret->path = NULL;
	return 1;
}

/* ---- paths ---- */

/* 1 when the record knows that path: its newest identified content.  0 when it
 * does not, -ENODATA when only unidentified content was seen there. */
static int find_exact_path(struct lookup *l, const char *path,
			   struct target *ret)
{
	struct store_file *rows;
	size_t n;
	int r;

	r = store_path_uses(l->query->store, l->query->pool, path, &rows, &n,
			    l->err);
	if (r < 0 || !n)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (!rows[i].artifact_id)
			continue;
		r = store_artifact(l->query->store, l->query->pool,
				   rows[i].artifact_id, &ret->artifact, l->err);
		if (r < 0)
			return r;
		ret->kind = TARGET_ARTIFACT;
		ret->path = rows[i].path;
		return 1;
	}
	return error_set(
		l->err, -ENODATA,
		"'%s' is in the record, but its content was never "
		"identified: 'roar show --all' of its job gives the reason",
		l->shown);
}

/* Is it the place of an object, which is not a path of the file system? */
static bool is_object(const char *word)
{
	return strncmp(word, "s3://", 5) == 0 || strncmp(word, "gs://", 5) == 0;
}

/* Makes the artifact of a collection the target. */
static int take_collection(struct lookup *l, const char *path,
			   struct target *ret)
{
	int r = store_artifact(l->query->store, l->query->pool,
			       ret->collection.id, &ret->artifact, l->err);

	if (r < 0)
		return r;
	ret->kind = TARGET_ARTIFACT;
	ret->path = path;
	return 1;
}

/* 1 when a directory at that path was used or named as a whole. */
static int find_directory(struct lookup *l, const char *path,
			  struct target *ret)
{
	int r = store_collection_at(l->query->store, l->query->pool, path,
				    &ret->collection, l->err);

	return r <= 0 ? r : take_collection(l, ret->collection.path, ret);
}

static int find_place(struct lookup *l, const char *path, struct target *ret)
{
	int r = find_directory(l, path, ret);

	return r ? r : find_exact_path(l, path, ret);
}

static int find_name(struct lookup *l, struct target *ret)
{
	int r = store_collection_named(l->query->store, l->query->pool, l->word,
				       &ret->collection, l->err);

	return r <= 0 ? r : take_collection(l, NULL, ret);
}

/* The record has paths without symbolic links; what was typed may lead through
 * one, so the real name is tried as well. */
static int find_path(struct lookup *l, struct target *ret)
{
	CLEANUP(freep) char *real = NULL;
	struct str path = STR_INIT;
	int r;

	if (is_object(l->word))
		return find_exact_path(l, l->word, ret);
	path_normalize(&path, l->cwd, l->word);
	r = str_error(&path);
	if (!r)
		r = find_place(l, str_cstr(&path), ret);
	if (r == 0) {
		real = realpath(str_cstr(&path), NULL);
		if (real && strcmp(real, str_cstr(&path)) != 0)
			r = find_place(l, real, ret);
	}
	str_release(&path);
	return r;
}

/* ---- all of it ---- */

static int unknown_path(struct lookup *l, enum target_want want)
{
	struct str path = STR_INIT;
	struct stat st;
	int found;

	if (is_object(l->word))
		return error_set(
			l->err, -ENOENT,
			"no recorded job used an object '%s': 'roar run --proxy' "
			"records objects",
			l->shown);
	path_normalize(&path, l->cwd, l->word);
	found = path.failed ? -1 : stat(path.data, &st);
	str_release(&path);
	if (found < 0 && want == TARGET_WANT_PATH)
		return error_set(
			l->err, -ENOENT,
			"no recorded job used a file '%s': 'roar show JOB' and "
			"'roar status' list the recorded files",
			l->shown);
	if (found < 0)
		return error_set(
			l->err, -ENOENT,
			"nothing in the record matches '%s': give a step (@N), a "
			"job, a hash of at least %d digits or a recorded file; "
			"'roar log' lists the jobs",
			l->shown, PREFIX_MIN);
	if (S_ISDIR(st.st_mode))
		return error_set(
			l->err, -ENOENT,
			"'%s' is a directory that no recorded job read or wrote "
			"as a whole: name a file in it",
			l->shown);
	return error_set(
		l->err, -ENOENT,
		"the file '%s' was not used by any recorded job: 'roar run' "
		"the command that reads or writes it",
		l->shown);
}

static int unknown(struct lookup *l, enum target_want want)
{
	if (want == TARGET_WANT_JOB)
		return error_set(
			l->err, -ENOENT,
			"job '%s' does not exist: 'roar log --all-sessions' lists "
			"the jobs",
			l->shown);
	if (want == TARGET_WANT_SESSION)
		return error_set(
			l->err, -ENOENT,
			"session '%s' does not exist: 'roar log --all-sessions' "
			"lists the sessions",
			l->shown);
	if (want == TARGET_WANT_ARTIFACT)
		return error_set(
			l->err, -ENOENT,
			"no recorded content has a hash that starts with '%s'",
			l->shown);
	return unknown_path(l, want);
}

static int refuse(struct lookup *l, enum target_want want)
{
	if (want == TARGET_WANT_JOB)
		return error_set(
			l->err, -EINVAL,
			"'%s' is not a job: use @N, @BN or at least %d digits of a "
			"job's UID",
			l->shown, PREFIX_MIN);
	if (want == TARGET_WANT_SESSION)
		return error_set(
			l->err, -EINVAL,
			"'%s' is not a session: use at least %d digits of its UID "
			"or hash",
			l->shown, PREFIX_MIN);
	return error_set(l->err, -EINVAL,
			 "'%s' is not a hash: use %d to %d hex digits",
			 l->shown, PREFIX_MIN, 2 * DIGEST_MAX);
}

static int refuse_session(struct lookup *l)
{
	return error_set(
		l->err, -EINVAL,
		"'%s' is a session, and this command takes a job or an "
		"artifact: 'roar show %s' lists the jobs of the session",
		l->shown, l->shown);
}

static int resolve(struct lookup *l, enum target_want want, struct target *ret)
{
	bool any = want == TARGET_ANY || want == TARGET_ANY_OR_SESSION;
	bool jobs = any || want == TARGET_WANT_JOB;
	bool sessions = want == TARGET_ANY_OR_SESSION ||
			want == TARGET_WANT_SESSION;
	bool digests = any || want == TARGET_WANT_ARTIFACT;
	bool paths = any || want == TARGET_WANT_PATH;
	bool hex = is_hex(l->word);
	int r = 0;

	if (jobs && target_is_step(l->word))
		return find_step(l, ret);
	if (!paths && !hex)
		return refuse(l, want);
	if (jobs && hex)
		r = find_job(l, ret);
	if (r == 0 && sessions && hex)
		r = find_session(l, ret);
	if (r == 0 && digests && hex)
		r = find_digest(l, ret);
	if (r == 0 && paths)
		r = find_path(l, ret);
	if (r == 0 && want == TARGET_ANY && hex) {
		r = find_session(l, ret);
		if (r > 0)
			return refuse_session(l);
	}
	if (r == 0 && any)
		r = find_name(l, ret);
	if (r > 0 && ret->kind == TARGET_ARTIFACT && !ret->collection.id)
		r = store_collection(l->query->store, l->query->pool,
				     ret->artifact.id, &ret->collection,
				     l->err);
	else if (r == 0)
		r = unknown(l, want);
	return r < 0 ? r : 0;
}

int target_resolve(struct query *q, const char *cwd, const char *word,
		   enum target_want want, struct target *ret,
		   struct roar_error *err)
{
	struct lookup l = {
		.query = q,
		.cwd = cwd,
		.word = word,
		.err = err,
	};
	struct target found = { 0 };
	int r;

	if (!word[0])
		return error_set(
			err, -EINVAL,
			"the argument is empty: give a step (@N), a job, a hash or "
			"a recorded file");
	show_word(word, l.shown);
	r = resolve(&l, want, &found);
	if (r < 0)
		return r;
	*ret = found;
	return 0;
}

static int no_collection(struct lookup *l)
{
	return error_set(
		l->err, -ENOENT,
		"'%s' is not a collection: 'roar collection ls' lists names, "
		"directories and hashes",
		l->shown);
}

int target_collection(struct query *q, const char *cwd, const char *word,
		      struct target *ret, struct roar_error *err)
{
	struct lookup l = { .query = q, .cwd = cwd, .word = word, .err = err };
	struct roar_error why = { 0 };
	struct target found = { 0 };
	int r;

	show_word(word, l.shown);
	r = find_name(&l, &found);
	if (r == 0) {
		l.err = &why;
		r = find_path(&l, &found);
		if (r == 0 && is_hex(word))
			r = find_digest(&l, &found);
		l.err = err;
	}
	if (r == -ENOTUNIQ || r == -ENOMEM)
		*err = why;
	else if (r == 0 || r == -ENODATA)
		r = no_collection(&l);
	else if (r > 0 && !found.collection.id)
		r = store_collection(q->store, q->pool, found.artifact.id,
				     &found.collection, err);
	if (r < 0)
		return r;
	if (!found.collection.id)
		return no_collection(&l);
	*ret = found;
	return 0;
}
