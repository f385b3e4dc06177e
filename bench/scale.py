"""What the coordinator costs with 10,000 workers and 10,000,000 shards (docs/scale.md).

 - the state machine without sockets and disk, by coord_scale: what each request, each
   worker and each shard takes, and that a snapshot of it is read back to the same table.
 - the server with workers behind agents, which coord_load plays: what the wire adds.
 - the model: these figures multiplied by how many there are, as docs/scale.md says."""

import json
import os
import subprocess

import coordinator
import shards_docs
from coordinator_servers import Failed

WORKERS, SHARDS = 10_000, 10_000_000
INTERVAL_S = 5  # between two heartbeats of a worker, as jobs have it
MIB = 1 << 20

# What coord_scale tells, as rows: title, unit, key.
STATE_ROWS = (
    ("a worker: memory", "B", "worker_bytes"),
    ("  join", "us", "join_us"),
    ("  join, in the log", "B", "join_log_bytes"),
    ("  heartbeat", "us", "beat_us"),
    ("  heartbeat, the answer", "B", "beat_reply_bytes"),
    ("  its shards are listed", "us", "list_us"),
    ("  its shards are listed, the answer", "B", "list_reply_bytes"),
    ("a barrier of all", "ms", "barrier_ms"),
    ("  a barrier of all, the answer", "B", "barrier_reply_bytes"),
    ("  in the log, a worker's part", "B", "barrier_log_bytes"),
    ("a shard: memory", "B", "shard_bytes"),
    ("all shards are dealt", "ms", "deal_ms"),
    ("  a worker joins, shards are dealt", "us", "deal_join_us"),
    ("  a worker leaves, shards are dealt", "us", "deal_leave_us"),
    ("a host of 8 is lost", "us", "lost_host_us"),
    ("snapshot", "ms", "snapshot_ms"),
    ("  its size", "MiB", "snapshot_mib"),
    ("  read back", "ms", "replay_ms"),
)


def state(bench):
    """What coord_scale says, a dict of lists."""
    told = []
    for _ in range(1 if bench.args.quick else 5):
        done = subprocess.run([bench.tool("coord_scale"), str(WORKERS),
                               str(SHARDS)], stdout=subprocess.PIPE,
                              check=True)
        told.append(json.loads(done.stdout))
    return {key: [t[key] for t in told] for key in told[0]}


def state_rows(bench, found):
    for title, unit, key in STATE_ROWS:
        bench.add(title, unit, None, found[key])
    for what in ("join", "leave"):
        bench.add(f"moved to the minimum, a worker {what}s", "x", 1,
                  [m / n for m, n in zip(found[f"{what}_moved"],
                                         found[f"{what}_minimum"])])


def middle(values):
    return sorted(values)[len(values) // 2]


def model_rows(bench, found, worker_kib, beat_us):
    """Of what was measured; see docs/scale.md for each."""
    workers_mib = WORKERS * worker_kib / 1024
    shards_mib = SHARDS * middle(found["shard_bytes"]) / MIB
    bench.add("model: memory of the coordinator", "MiB", None,
              [workers_mib + shards_mib])
    bench.add("model: heartbeats, of one CPU", "%", None,
              [100 * WORKERS / INTERVAL_S * beat_us / 1e6])
    bench.add("model: all workers join, state machine", "s", None,
              [WORKERS * middle(found["join_us"]) / 1e6])
    bench.add("model: log, all workers join", "MiB", None,
              [WORKERS * middle(found["join_log_bytes"]) / MIB])
    bench.add("model: log, a barrier of all", "KiB", None,
              [WORKERS * middle(found["barrier_log_bytes"]) / 1024])


def rows(bench, facts):
    if not os.path.exists(bench.tool("coord_scale")):
        print("bench: this build has no coordinator: no rows of its scale")
        return
    before = len(bench.rows)
    found = state(bench)
    state_rows(bench, found)
    try:
        server = coordinator.Rows(bench)
        beats = coordinator.agent_rows(server)
        memory = coordinator.agent_memory_row(server)
        model_rows(bench, found, middle(memory),
                   middle(coordinator.of(beats, "server_us")))
    except Failed as error:
        print(f"bench: {error}: no model of the whole")
    if bench.args.docs:
        shards_docs.into(bench.args.docs, facts, bench.rows[before:], "scale")
