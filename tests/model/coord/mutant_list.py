"""mutant_list.py - faults of the state machine that the simulator must find.

A mutant replaces one place of lib/coord, `right`, by `wrong`.  When that place is
written anew, the mutant is to be written anew as well.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    right: str
    wrong: str
    seeds: int = 2000  # so many are tried


MUTANTS = [
    # Meetings.
    Mutant("a retry counts twice", "meetings/round.c",
           """\
		not_here(a);
		wait_remove(q->c, &a->wait);
""", """\
		wait_remove(q->c, &a->wait);
"""),
    Mutant("who stands aside is waited for", "meetings/round.c",
           "	return round->meeting->job->n_aside - round->n_aside;\n",
           "	return round->n_aside * 0;\n"),
    Mutant("a cancel is ignored", "meetings/round_end.c",
           """\
	a->worker->heard_ms = c->now.mono_ms;
	round_give_up(a);
	round_tidy(round);
}

/* Where else it waits""", """\
	a->worker->heard_ms = c->now.mono_ms;
	wait_remove(c, &a->wait);
	round_tidy(round);
}

/* Where else it waits"""),
    Mutant("released without min_workers", "meetings/round_end.c",
           "if (!round->group && !job_ready(round->meeting->job))",
           "if (0 && !round->group && !job_ready(round->meeting->job))"),
    Mutant("a job that is started anew has begun", "core/job.c",
           "		if (!w->dead && w->born <= job->started_epoch)\n",
           "		if (1)\n"),
    Mutant("a job begins again when one has left", "core/job.c",
           "	else if (job->started_epoch && !somebody_is_left(job))\n",
           "	else\n"),
    Mutant("released by the living although the dead are waited for",
           "meetings/round.c",
           """\
	return (round->on_death == ROAR__ON_DEATH__SHRINK ? job_n_alive(job) :
""", """\
	return (1 ? job_n_alive(job) :
"""),
    Mutant("a meeting that must fail waits for the dead", "meetings/meeting.c",
           "	if (round->on_death != ROAR__ON_DEATH__FAIL)\n",
           "	if (!round->group)\n"),
    Mutant("a place that is waited for is given up", "members/liveness.c",
           "	if (rounds_wait_for(w)) {", "	if (0) {"),
    Mutant("a death does not fail a meeting", "meetings/round_end.c",
           "if (round->on_death == ROAR__ON_DEATH__FAIL) {",
           "if (round->on_death == ROAR__ON_DEATH__FAIL && !w->dead) {"),
    Mutant("a successor does not fail a meeting", "members/membership.c",
           "	if (!was_dead)\n		rounds_lost(",
           "	if (0 && !was_dead)\n		rounds_lost("),
    Mutant("a predecessor gets its place back", "members/membership.c",
           "	else if (m->session)\n", "	else if (0)\n"),
    Mutant("a meeting does not shrink", "meetings/round_end.c",
           "if (w->dead && round->on_death == ROAR__ON_DEATH__SHRINK)",
           "if (0 && w->dead)"),
    Mutant("who leaves is waited for", "meetings/round_end.c",
           "		let_go(round, id, false);\n		round_check(round);\n",
           "		let_go(round, id, false);\n"),
    Mutant("who leaves a group is waited for", "meetings/round_end.c",
           "		let_go(round, id, false);\n", ""),
    Mutant("a new world does not complete a meeting", "core/job_settings.c",
           "	rounds_check(job);\n", ""),
    Mutant("a deadline is no end", "meetings/round_end.c",
           "		round_give_up(a);\n	}\n	round_tidy(round);",
           "		a->wait.deadline.timer.due_ms += 100;\n		break;\n"
           "	}\n	round_tidy(round);"),
    Mutant("an old generation is released again", "meetings/meeting.c",
           "if (last && asked <= last->generation && "
           "!outlived(m->job, last)) {",
           "if (0 && last && outlived(m->job, last)) {"),
    Mutant("a restart outlives a release", "meetings/meeting.c",
           "(w->suspicion && !worker_is_unheard(w))", "w->suspicion"),
    Mutant("a use of old goes on", "meetings/meeting.c",
           "	end_outlived(m, w);\n", ""),
    Mutant("who asks again waits anew", "meetings/meeting.c",
           "return me && (!asked || me->numbered);",
           "return false;"),
    Mutant("an answer of another generation", "meetings/meeting.c",
           "if (asked && asked != last->generation)\n",
           "if (0)\n"),
    Mutant("who came after the others has their value", "meetings/round.c",
           "		memcpy(copy, ask->value, ask->value_len);\n",
           "		memset(copy, 'v', ask->value_len);\n"),
    Mutant("a vote is lost", "meetings/round.c",
           "	a->in_favour = ask->in_favour;\n", ""),
    Mutant("those who are there are called absent", "meetings/round.c",
           "if (w && !(a && a->wait.call) && !!a == came_once)",
           "if (w && !!a == came_once)"),

    # Places.
    Mutant("ranks are not compacted", "members/worker.c",
           "	last->rank = w->rank;\n", ""),
    Mutant("a living worker is replaced", "members/membership.c",
           "else if (!w->suspicion && !w->dead)",
           "else if (!w->suspicion && !w->dead && !m->port)\n"
           "		take_over(q, w, m);\n	else if (!w)"),
    Mutant("after a restart the first to ask gets a place", "members/membership.c",
           "	else if (may_come_back(w))\n", "	else if (0)\n"),
    Mutant("the session of a predecessor is good", "members/membership.c",
           "	bool own = session ? w && session == w->session :",
           "	bool own = session ? w && (session == w->session || "
           "w->incarnation > 1) :"),
    Mutant("a predecessor arrives for its successor", "members/membership.c",
           "q->who->conn != w->former_conn", "1"),
    Mutant("a successor begins without a new epoch", "members/liveness.c",
           "	m.world_epoch = job->epoch + 1;\n	m.registered_ms",
           "	m.world_epoch = job->epoch;\n	m.registered_ms"),
    Mutant("a heartbeat is not heard", "members/liveness.c",
           """\
	w->heard_ms = q->c->now.mono_ms;
	if (w->suspicion) {
""", """\
	if (w->suspicion) {
"""),
    Mutant("the end of a connection is forgotten", "core/conn.c",
           "	else if (!other)\n",
           "	else if (0)\n"),
    Mutant("who waits dies of silence", "members/liveness.c",
           "	if (waits(w)) {", "	if (0 && waits(w)) {"),
    Mutant("a place is held for ever", "members/liveness.c",
           "	else if (w->dead)\n		give_up_dead(w);\n",
           "	else if (w->dead)\n		timer_heap_set(&c->mono, &a->timer, "
           "c->now.mono_ms + 60000);\n"),
    Mutant("after a restart nobody is missed", "members/liveness.c",
           "				worker_suspect(\n",
           "				(void)(\n"),

    # Watches.
    Mutant("a change of the world is not told", "core/watch.c",
           "	if (due < job->world.timer.due_ms)\n",
           "	if (due < job->world.timer.due_ms && worker_id && *worker_id != 'w')\n"),
    Mutant("a watch tells an old rank", "core/watch.c",
           "	return w ? w->rank : -1;\n",
           "	return w ? w->rank : 0;\n"),
    Mutant("a command for a watch is lost", "core/watch.c",
           "		event.command = commands[i];\n",
           "		event.command = commands[i] + (n > 0);\n"),

    # The log.
    Mutant("a release is not remembered", "meetings/release.c",
           "	m->last = r;\n	job->n_releases++;",
           "	r->generation += job->c->replaying;\n"
           "	m->last = r;\n	job->n_releases++;"),
    Mutant("a death is not recorded", "members/worker.c",
           """\
	r = record_append(c, record);
	if (r < 0)
		return r;
	lendings_lose(job, w->slot);
	w->dead = true;
""", """\
	r = 0;
	if (r < 0)
		return r;
	lendings_lose(job, w->slot);
	w->dead = true;
"""),
    Mutant("a snapshot has no commands", "core/state_snapshot.c",
           "		r = tell_commands(walk, w);", "		r = 0;"),
    Mutant("a snapshot has no versions", "core/state_snapshot.c",
           "	m.last_version = job->last_version;\n", ""),
    Mutant("a command is told again", "members/worker_command.c",
           "	w->n_commands -= n;\n",
           "	w->n_commands -= n - c->replaying;\n"),

    # Checkpoints.
    Mutant("a step is saved with a part missing", "data/checkpoint.c",
           "	return step->n_parts >= (size_t)step->expected;",
           "	return step->n_parts + 1 >= (size_t)step->expected;"),
    Mutant("parts of two worlds make one", "data/checkpoint.c",
           "		       (step_is_complete(step) || same_world(step, m));",
           "		       true;"),
    Mutant("a world is known by its size", "data/checkpoint.c",
           "	return step->expected == m->expected &&\n"
           "	       step->joined_epoch == m->joined_epoch;",
           "	return step->expected == m->expected;"),

    # Checkpoints in two phases.
    Mutant("a stale token commits", "data/save_calls.c",
           "	if (m->fencing_token == q->c->fencing_token)\n", "	if (1)\n"),
    Mutant("a part of another world is taken", "data/save_calls.c",
           "	if (world_epoch && world_epoch != job->epoch) {", "	if (0) {"),
    Mutant("a save does not need the dead", "data/save_calls.c",
           "i < job->n_workers && job->n_dead; i++)",
           "i < job->n_workers && 0; i++)"),
    Mutant("a manifest is taken with a part missing", "data/save.c",
           "	return step->expected > 0 && step->n_parts >= (size_t)step->expected;",
           "	return step->expected > 0 &&\n"
           "	       step->n_parts + 1 >= (size_t)step->expected;"),
    Mutant("a step is committed twice", "data/save_calls.c",
           "	if (step && step_is_complete(step))\n", "	if (0)\n"),
    Mutant("two saves of one step go on", "data/save_calls.c",
           "	else if (step && step->save && !save_trouble(job, step))\n"
           "		refuse_other_save(q, step);\n", ""),
    Mutant("any rank commits", "data/save_calls.c",
           "	else if (!save_is_writer(w, step))\n", "	else if (0)\n"),
    Mutant("a successor commits for its predecessor", "data/save.c",
           "	return w && w->born <= step->world_epoch;", "	return w;"),
    Mutant("any rank ends what rank 0 writes", "data/save_calls.c",
           "	else if (known && save_has_all(step) && !save_is_writer(w, step))\n",
           "	else if (0)\n"),
    Mutant("a death after all parts calls the save off", "data/save.c",
           "	if (!save_has_all(step))\n		return step->world_epoch",
           "	if (1)\n		return step->world_epoch"),
    Mutant("an unknown outcome is told as a failure", "data/save.c",
           "	return step->end || !save_has_all(step) ? COORD_ABORTED :\n"
           "						  COORD_DATA_LOSS;",
           "	return COORD_ABORTED + !step;"),
    Mutant("who waits for a save is not told that it is over",
           "core/watch.c", "	saves_check(job);\n", ""),
    Mutant("rank 0 is not told that all parts are there", "data/save_calls.c",
           "	if (save_has_all(step))\n		save_wake_writer(q->c, step);\n", ""),
    Mutant("a snapshot has no commits", "core/state_snapshot.c",
           "	if (r >= 0 && step->end) {", "	if (0) {"),

    # Keys.
    Mutant("an add is not recorded", "keys/key.c",
           "		r = record_append(c, record);\n	if (r < 0)\n		return r;\n"
           "	key_requests_add(&job->key_requests, m->request, m->version);",
           "		r = key ? 0 : record_append(c, record);\n	if (r < 0)\n"
           "		return r;\n"
           "	key_requests_add(&job->key_requests, m->request, m->version);"),
    Mutant("compare-set does not compare", "keys/key_calls.c",
           "return m->version == (key ? key->version : 0);",
           "return true;"),
    Mutant("a key outlives its time", "keys/key.c",
           "	return key->expires_ms && "
           "key->expires_ms <= key->job->c->time_ms;",
           "	return false;"),
    Mutant("keys follow the wall clock", "core/coord.c",
           "	c->time_ms += now.mono_ms - ran_ms - late_ms;",
           "	c->time_ms = now.wall_ms;"),
    Mutant("an outage ends keys", "core/service_time.c",
           "	c->time_ms = c->recorded_ms ? c->recorded_ms : wall_ms;",
           "	c->time_ms = wall_ms;"),
    Mutant("service time is not recorded", "core/service_time.c",
           "	if (c->service.count == 1) {", "	if (1) {"),
    Mutant("a snapshot has no service time", "core/state_snapshot.c",
           "	if (!c->recorded_ms)\n", "	if (1)\n"),
    Mutant("who waits for a key is not woken", "keys/key_wait.c",
           "	if (key && on)\n		wake(", "	if (0 && on)\n		wake("),
    Mutant("a version is used twice", "keys/key.c",
           "	m.version = job->last_version + 1;\n	m.expires_ms",
           "	m.version = job->last_version + !job->last_version;\n"
           "	m.expires_ms"),
    # Shards.
    Mutant("a place that is given up keeps its shards", "data/worker_slot.c",
           """\
	leave_first(job, job->n_datasets, w->slot);
	lendings_leave(job, w->slot);
""", """\
	lendings_leave(job, w->slot);
"""),
    Mutant("a snapshot has no tables", "core/state_snapshot.c",
           "	if (!shard_table_version(d->table))\n		return 0;",
           "	if (d)\n		return 0;"),
    Mutant("an order of its own after a snapshot", "core/state_snapshot.c",
           "	m.slot = w->slot + 1;\n", ""),
    Mutant("a snapshot has no leases", "core/state_snapshot.c",
           "		return lending_snapshot(job, d, walk->each, walk->data);",
           "		return 0;"),
    Mutant("a lease that is used is not recorded", "data/lending.c",
           """\
		r = record_append(c, record);
	if (r < 0)
		return r;
	l->result = use(l, w->slot, m);
""", """\
		r = 0;
	if (r < 0)
		return r;
	l->result = use(l, w->slot, m);
"""),
    Mutant("a lease lapses before its time", "data/lending.c",
           "leases_overdue(&l->leases, l->job->c->now.mono_ms,",
           "leases_overdue(&l->leases, l->job->c->now.mono_ms + 20,"),
    Mutant("a silent holder keeps its lease", "data/lending.c",
           "	while (r == 0 &&\n	       (m.n_ids =",
           "	while (0 &&\n	       (m.n_ids ="),
    Mutant("after a restart all leases are late", "data/lending.c",
           "		leases_renew_all(&l->leases, resume_ms(l));\n", ""),
    Mutant("that leases lapsed is not recorded", "data/lending.c",
           """\
	r = record_append(c, record);
	for (size_t i = 0;""", """\
	r = 0;
	for (size_t i = 0;"""),
    Mutant("a sign of life is not heard", "data/lease_calls.c",
           "	else\n		leases_renew(l, lease->id, q->c->now.mono_ms);\n",
           ""),
    Mutant("a take that is repeated takes two", "data/lease_calls.c",
           "lease = leases_find_request(l, w->slot, request);",
           "lease = NULL;"),
    Mutant("a use that is repeated is refused", "data/lease_calls.c",
           "	if (!end || !has_counted(end, m))", "	if (1)"),
    Mutant("a lease that is lost still counts", "data/lease_calls.c",
           "	if ((uint64_t)m->consumed_to > end->to)\n		return false;\n",
           ""),
    Mutant("what is given back is kept", "data/lending.c",
           "	if (r == 0 && m->give_back && leases_find(",
           "	if (0 && leases_find("),
    Mutant("the dead keep their leases", "members/worker.c",
           "	lendings_lose(job, w->slot);\n", ""),
    Mutant("a successor inherits leases", "members/worker.c",
           "		lendings_leave(w->job, w->slot);\n", ""),
    Mutant("who names a worker is served as it", "data/worker_shards.c",
           "	if (!w || session || (q->who->conn && "
           "q->who->conn == w->own_conn))",
           "	if (1)"),
]
