// What is derived from the store for one drawing: the workers that are looked at, how many
// there are of each state, and how far the first of each job is.

import type { Store } from "./store";
import type { Worker, WorkerState } from "./types";

export type Shown = "alive" | "suspect" | "dead" | "draining";

export const STATES: { state: Shown; word: string; sign: string; means: string }[] = [
  { state: "alive", word: "alive", sign: "●", means: "heard of in time" },
  { state: "suspect", word: "suspect", sign: "▲", means: "its connection ended, or it is silent" },
  { state: "dead", word: "dead", sign: "✕", means: "its place is held for a successor" },
  { state: "draining", word: "draining", sign: "◐", means: "was asked to leave" },
];

export function shown(state: WorkerState): Shown {
  return state === "alive" || state === "dead" || state === "draining" ? state : "suspect";
}

export interface View {
  job: string | null; // the one that is looked at; null: all
  workers: Worker[]; // by job and rank
  counts: Record<Shown, number>;
  front: Map<string, number>; // job -> the step of the first
  worst: number; // steps that the last of those who live is behind the first of its job
  severalJobs: boolean;
}

function byRank(a: Worker, b: Worker): number {
  return a.job === b.job ? a.rank - b.rank : a.job < b.job ? -1 : 1;
}

export function look(store: Store, job: string | null): View {
  const counts = { alive: 0, suspect: 0, dead: 0, draining: 0 };
  const front = new Map<string, number>();
  const workers: Worker[] = [];
  for (const worker of store.workers.values()) {
    if (job !== null && worker.job !== job) continue;
    workers.push(worker);
    counts[shown(worker.state)]++;
    front.set(worker.job, Math.max(front.get(worker.job) ?? 0, worker.current_step));
  }
  workers.sort(byRank);
  const view = {
    job,
    workers,
    counts,
    front,
    worst: 0,
    severalJobs: job === null && store.jobs.length > 1,
  };
  for (const worker of workers)
    if (shown(worker.state) !== "dead")
      view.worst = Math.max(view.worst, behind(view, worker) ?? 0);
  return view;
}

// Its heartbeats say what it does; one that said nothing is at no step.
export function hasReported(worker: Worker): boolean {
  return worker.activity !== "" || worker.current_step > 0;
}

// Steps; null where nobody can know.
export function behind(view: View, worker: Worker): number | null {
  return hasReported(worker) ? (view.front.get(worker.job) ?? 0) - worker.current_step : null;
}

export function heartbeatAge(store: Store, worker: Worker): number {
  return Math.max(0, store.now() - worker.last_heartbeat);
}

export function ofJob<T extends { job: string }>(items: T[], job: string | null): T[] {
  return job === null ? items : items.filter((item) => item.job === job);
}
