// What the coordinator tells: the data of its events, see live.h and docs/coordinator.md.

export type WorkerState = "alive" | "suspect" | "dead" | "draining" | "gone" | "unknown";

export interface Worker {
  id: string;
  job: string;
  rank: number;
  ip: string;
  port: number;
  gpu_count: number;
  memory_bytes: number;
  assigned_shards: number | null;
  incarnation: number;
  registered_at: number;
  status: string;
  state: WorkerState;
  reason: string;
  activity: string;
  last_heartbeat: number;
  current_epoch: number;
  current_step: number;
  current_task: string;
  // What its heartbeats say that it uses; null where they do not.
  cpu_percent: number | null;
  memory_used_bytes: number | null;
  gpu_percent: number | null;
  gpu_memory_used_bytes: number | null;
  gpu_memory_total_bytes: number | null;
}

export interface Server {
  status: string;
  version: string;
  started_at: number;
  disk_full: boolean;
  admin: boolean;
  job: string | null;
}

export interface Job {
  id: string;
  world_size: number;
  alive: number;
  world_epoch: number;
  ready: boolean;
  min_workers: number;
  timeout_ms: number;
  heartbeat_interval_ms: number;
  keys: number;
}

export interface Barrier {
  id: string;
  name: string;
  job: string;
  kind: string;
  generation: number;
  arrived: number;
  total: number;
  created_at: number;
  missing: string[];
}

export interface Dataset {
  id: string;
  name: string;
  job: string;
  path: string;
  format: string;
  total_samples: number;
  shard_size: number;
  shard_count: number;
  shuffle: boolean;
  seed: number;
  registered_at: number;
  table_version: number; // 0: nobody has asked for shards yet
  min_shards: number;
  max_shards: number;
  moved_shards: number | null;
  last_moved: number; // by the last deal, and the fewest that could
  last_minimum: number;
  balance: string; // "count", "weight", ...
  min_bytes?: number; // of a worker; these four where bytes are balanced
  max_bytes?: number;
  last_moved_bytes?: number;
  last_minimum_bytes?: number;
  at_home_shards?: number; // where shards have homes
  epoch: number | null;
  consumed_samples: number | null;
}

// A step of training that was saved, by some or all workers.
export interface Step {
  job: string;
  step: number;
  epoch: number;
  parts: number;
  expected: number;
  complete: boolean;
  size: number;
  saved_at: number | null;
  error: string | null; // why its save failed
}

export interface Line {
  id: string;
  timestamp: number;
  level: "error" | "warn" | "info" | "debug";
  message: string;
  source: string;
  task_id: string | null;
}

// Of one second; null where nothing of the kind happened in it.
export type Row = (number | null)[];

export interface StateEvent {
  now: number;
  coordinator?: Server;
  jobs?: Job[];
  barriers?: Barrier[];
  datasets?: Dataset[];
  steps?: Step[];
  columns?: string[];
  history?: Row[];
  logs: Line[];
}

export interface Name {
  id: string;
  job: string;
}

export interface WorkersEvent {
  workers: (Name & Partial<Worker>)[];
  gone: Name[];
}
