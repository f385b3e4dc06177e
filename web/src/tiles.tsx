// The five figures that one looks at first.

import { count, duration, plural } from "./format";
import type { Store } from "./store";
import { hasReported, ofJob, type View } from "./view";

function Tile(props: { name: string; value: string; note: string; tone?: string | undefined }) {
  return (
    <div class={`tile ${props.tone ?? ""}`}>
      <span class="tile-name">{props.name}</span>
      <span class="tile-value">{props.value}</span>
      <span class="tile-note">{props.note}</span>
    </div>
  );
}

function workersNote(view: View): string {
  const { dead, suspect, draining } = view.counts;
  const parts = [
    dead && `${count(dead)} dead`,
    suspect && `${count(suspect)} suspect`,
    draining && `${count(draining)} draining`,
  ].filter(Boolean);
  return parts.length ? parts.join(", ") : view.workers.length ? "all alive" : "none yet";
}

export function Tiles(props: { store: Store; view: View }) {
  const { store, view } = props;
  const barriers = ofJob(store.barriers, view.job);
  const longest = Math.max(0, ...barriers.map((b) => store.now() - b.created_at));
  const steps = ofJob(store.steps, view.job);
  const saved = steps.find((s) => s.complete);
  const newest = steps[0];
  const front = Math.max(0, ...view.front.values());
  const jobs = view.job === null ? store.jobs : store.jobs.filter((j) => j.id === view.job);
  const waiting = jobs.filter((j) => !j.ready).length;
  return (
    <section class="tiles" aria-label="Summary">
      <Tile
        name="Workers alive"
        value={`${count(view.counts.alive + view.counts.draining)} / ${count(view.workers.length)}`}
        note={workersNote(view)}
        tone={view.counts.dead ? "bad" : view.counts.suspect ? "warn" : undefined}
      />
      <Tile
        name="Jobs"
        value={count(jobs.length)}
        note={
          waiting
            ? `${plural(waiting, "job")} waiting for workers`
            : jobs.length
              ? "all have enough workers"
              : "none yet"
        }
        tone={waiting ? "warn" : undefined}
      />
      <Tile
        name="Furthest step"
        value={view.workers.some(hasReported) ? count(front) : "–"}
        note={
          view.workers.some(hasReported)
            ? view.worst
              ? `the slowest is ${plural(view.worst, "step")} behind`
              : "all workers are there"
            : "not reported yet"
        }
      />
      <Tile
        name="Barriers waiting"
        value={count(barriers.length)}
        note={barriers.length ? `the longest for ${duration(longest)}` : "nobody waits"}
      />
      <Tile
        name="Last checkpoint"
        value={saved ? count(saved.step) : "–"}
        note={
          newest && newest !== saved && !newest.complete
            ? newest.error
              ? `step ${count(newest.step)} failed`
              : `step ${count(newest.step)}: ${count(newest.parts)} of ${count(newest.expected)} parts`
            : saved
              ? "complete"
              : "none is complete"
        }
      />
    </section>
  );
}
