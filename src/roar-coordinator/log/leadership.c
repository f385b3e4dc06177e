/* leadership.c - see leadership.h */
#include "log/leadership.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/cleanup.h"
#include "base/private_file.h"
#include "etcd/election.h"
#include "server.h"

enum role { STANDBY, LOADING, LEADS };

struct leadership {
	struct etcd *etcd;
	struct election *election;
	enum role role;
	int64_t token; /* while we lead or load */
	char *own; /* our address */
	char *leader; /* another's, or NULL */
	bool in_trouble; /* etcd does not answer, or refuses an election */
	char trouble[512];
};

/* ---- what it is ---- */

bool leadership_serves(const struct server *s)
{
	return !s->leadership || (s->leadership->role == LEADS &&
				  election_holds(s->leadership->election));
}

const char *leadership_leader(const struct server *s)
{
	return s->leadership && s->leadership->leader ? s->leadership->leader :
							"";
}

int64_t leadership_token(const struct server *s)
{
	return s->leadership && s->leadership->role == LEADS ?
		       s->leadership->token :
		       0;
}

bool leadership_in_trouble(const struct server *s)
{
	return s->leadership && s->leadership->in_trouble;
}

void leadership_sentence(const struct server *s, struct str *ret)
{
	const struct leadership *l = s->leadership;

	if (l->in_trouble)
		str_addf(ret, "no coordinator can lead: %s; try again",
			 l->trouble);
	else if (l->leader)
		str_addf(ret,
			 "this coordinator is a standby: '%s' leads, ask "
			 "there",
			 l->leader);
	else
		str_adds(ret,
			 "this coordinator is a standby and none leads yet: "
			 "try again");
}

/* ---- changes ---- */

static void tell_all(struct server *s)
{
	char token[24];

	(void)snprintf(token, sizeof(token), "%" PRId64, leadership_token(s));
	rpc_server_set_token(s->rpc, (uint64_t)leadership_token(s));
	coord_set_fencing_token(s->coord, (uint64_t)leadership_token(s));
	http_service_set_field(s->http, "roar-fencing-token",
			       leadership_token(s) ? token : NULL);
	builtin_report_health(s);
}

/* All that was said to clients of this lead ends with it. */
static void forget_state(struct server *s)
{
	call_forget_all(s);
	http_service_fail_held(s->http,
			       "{\"error\":\"this coordinator no longer leads: "
			       "ask again\"}\n");
	live_end(s, NULL);
	rpc_server_hang_up(s->rpc);
	journal_close(s);
	server_renew_state(s);
}

static void step_down(struct server *s, const char *why)
{
	struct leadership *l = s->leadership;

	if (l->role == LEADS)
		log_lines_add(&s->lines, LOG_WARNING, NULL,
			      "no longer leads: %s; token %" PRId64 " is over",
			      why, l->token);
	l->role = STANDBY;
	l->token = 0;
	forget_state(s);
	tell_all(s);
}

static void begin_loading(struct server *s, bool is_full)
{
	struct leadership *l = s->leadership;

	l->role = LOADING;
	if (journal_open_etcd(s, l->etcd, l->token, is_full) < 0)
		election_resign(l->election, false, "out of memory");
}

void leadership_loaded(struct server *s)
{
	struct leadership *l = s->leadership;

	l->role = LEADS;
	log_lines_add(&s->lines, LOG_INFO, NULL, "leads with token %" PRId64,
		      l->token);
	tell_all(s);
}

static void say_how_to_make_room(struct server *s)
{
	log_lines_add(
		&s->lines, LOG_ERR, NULL,
		"'etcdctl compact', 'defrag' and 'alarm disarm' make room in "
		"etcd");
}

/* Without room the lead is kept: the state is read again as far as it was kept, and
 * whatever needs no record goes on. */
void leadership_log_failed(struct server *s, int error, const char *sentence)
{
	struct leadership *l = s->leadership;

	if (error == -EBADMSG) {
		server_fail(s, error, sentence);
		return;
	}
	if (error != -ENOSPC) {
		election_resign(l->election, false, sentence);
		return;
	}
	log_lines_add(&s->lines, LOG_ERR, NULL,
		      "etcd at '%s' is full: changes are refused until there is "
		      "room",
		      s->options->etcd);
	say_how_to_make_room(s);
	s->disk_full = true;
	forget_state(s);
	begin_loading(s, true);
	tell_all(s);
}

/* ---- what etcd tells ---- */

static void on_elected(void *data, int64_t token)
{
	struct server *s = data;

	s->leadership->token = token;
	s->disk_full = false;
	free(s->leadership->leader);
	s->leadership->leader = NULL;
	begin_loading(s, false);
}

static void on_deposed(void *data, const char *why)
{
	step_down(data, why);
}

/* Our own key, of a lead that is over, leads nobody. */
static void on_follows(void *data, const char *leader)
{
	struct server *s = data;
	struct leadership *l = s->leadership;

	free(l->leader);
	l->leader = leader && strcmp(leader, l->own) != 0 ? strdup(leader) :
							    NULL;
	if (l->leader)
		log_lines_add(&s->lines, LOG_INFO, NULL,
			      "a standby: '%s' leads", l->leader);
}

static void on_refused(void *data, const char *sentence)
{
	server_fail(data, -EINVAL, sentence);
}

static void say_trouble(struct server *s, const char *trouble)
{
	struct leadership *l = s->leadership;

	l->in_trouble = true;
	(void)snprintf(l->trouble, sizeof(l->trouble), "%s", trouble);
	log_lines_add(&s->lines, LOG_ERR, NULL, "%s; retrying", trouble);
}

static void on_hindered(void *data, const char *sentence)
{
	struct server *s = data;
	char trouble[512];

	if (!sentence) {
		s->leadership->in_trouble = false;
		return;
	}
	(void)snprintf(trouble, sizeof(trouble),
		       "etcd at '%.200s' refuses what an election needs: %.200s",
		       s->options->etcd, sentence);
	say_trouble(s, trouble);
	if (strstr(sentence, "space"))
		say_how_to_make_room(s);
}

static const struct election_events events = {
	.elected = on_elected,
	.deposed = on_deposed,
	.follows = on_follows,
	.hindered = on_hindered,
	.refused = on_refused,
};

static void on_etcd_changed(void *data, const char *trouble)
{
	struct server *s = data;

	if (trouble) {
		say_trouble(s, trouble);
		return;
	}
	s->leadership->in_trouble = false;
	log_lines_add(&s->lines, LOG_INFO, NULL, "etcd answers again");
}

/* ---- life ---- */

void leadership_resign(struct server *s)
{
	if (s->leadership)
		election_resign(s->leadership->election, true,
				"the coordinator stops");
}

bool leadership_is_resigning(const struct server *s)
{
	return s->leadership && election_is_resigning(s->leadership->election);
}

void leadership_close(struct server *s)
{
	struct leadership *l = s->leadership;

	if (!l)
		return;
	election_free(l->election);
	etcd_free(l->etcd);
	free(l->own);
	free(l->leader);
	free(l);
	s->leadership = NULL;
}

enum { MAX_PASSWORD_FILE = 1024 }; /* bytes */

/* The first line of the user's file, or what the environment has.  NULL: there is none. */
static int find_password(const struct options *o, struct str *text,
			 const char **ret, struct roar_error *err)
{
	int r = 0;

	*ret = NULL;
	if (o->etcd_user && !o->etcd_password_file)
		*ret = getenv("ROAR_ETCD_PASSWORD");
	if (!o->etcd_password_file)
		return 0;
	r = private_file_read(o->etcd_password_file, "passwords",
			      MAX_PASSWORD_FILE, text, err);
	if (r == 0) {
		text->data[strcspn(text->data, "\r\n")] = '\0';
		*ret = text->data;
	}
	return r;
}

static int open_etcd(struct server *s, struct roar_error *err)
{
	const struct options *o = s->options;
	CLEANUP(str_release) struct str text = STR_INIT;
	struct etcd_access access = {
		.addresses = o->etcd,
		.ca = o->etcd_ca,
		.cert = o->etcd_cert,
		.key = o->etcd_key,
		.user = o->etcd_user,
	};
	int r = find_password(o, &text, &access.password, err);

	if (r == 0 && o->etcd_user && !access.password)
		r = error_set(err, -EINVAL,
			      "no password for the etcd user '%s': set "
			      "--etcd-password-file, or ROAR_ETCD_PASSWORD in "
			      "the environment",
			      o->etcd_user);
	if (r == 0)
		r = etcd_new(s->loop, &access, on_etcd_changed, s,
			     &s->leadership->etcd, err);
	private_wipe(&text);
	return r;
}

int leadership_open(struct server *s, const char *address,
		    struct roar_error *err)
{
	struct leadership *l = s->leadership = calloc(1, sizeof(*l));
	int r = -ENOMEM;

	if (l)
		l->own = strdup(address);
	if (l && l->own)
		r = open_etcd(s, err);
	else
		(void)error_set(err, r, "out of memory");
	if (r == 0) {
		r = election_new(s->loop, l->etcd, s->options->cluster, address,
				 s->options->lease_s, &events, s, &l->election);
		if (r < 0)
			(void)error_set(err, r, "out of memory");
	}
	return r;
}
