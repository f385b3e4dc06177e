// Barriers that somebody waits in, and who has not come.

import { useState } from "preact/hooks";

import { Bar, Card, Empty } from "./card";
import { count, duration } from "./format";
import type { Store } from "./store";
import type { Barrier } from "./types";
import { ofJob, shown, STATES } from "./view";

const FEW = 8;

function Missing(props: {
  store: Store;
  barrier: Barrier;
  select: (name: { job: string; id: string }) => void;
}) {
  const { barrier, store } = props;
  const [all, setAll] = useState(false);
  const named = all ? barrier.missing : barrier.missing.slice(0, FEW);
  const unnamed = barrier.total - barrier.arrived - named.length;
  return (
    <ul class="missing" aria-label="Not here yet">
      {named.map((id) => {
        const worker = store.find(barrier.job, id);
        const state = worker ? shown(worker.state) : "suspect";
        return (
          <li key={id}>
            <button
              type="button"
              class={`chip small ${state}`}
              onClick={() => props.select({ job: barrier.job, id })}
              title={`${id} is ${state}${worker?.reason ? `: ${worker.reason}` : ""}`}
            >
              <span aria-hidden="true">{STATES.find((s) => s.state === state)?.sign}</span> {id}
            </button>
          </li>
        );
      })}
      {unnamed > 0 && (
        <li>
          {barrier.missing.length > named.length ? (
            <button type="button" class="chip small" onClick={() => setAll(true)}>
              {count(unnamed)} more
            </button>
          ) : (
            <span class="quiet">and {count(unnamed)} more</span>
          )}
        </li>
      )}
    </ul>
  );
}

export function Barriers(props: {
  store: Store;
  job: string | null;
  select: (name: { job: string; id: string }) => void;
}) {
  const { store } = props;
  const barriers = ofJob(store.barriers, props.job);
  return (
    <Card
      id="barriers"
      title="Barriers"
      note={barriers.length > 0 && `${count(barriers.length)} waiting`}
    >
      {barriers.length === 0 && (
        <Empty title="No worker is waiting">
          Barriers, gathers and votes show up while somebody waits in them.
        </Empty>
      )}
      <ul class="items">
        {barriers.map((b) => (
          <li key={`${b.job}\n${b.id}`} class="item">
            <div class="item-head">
              <b class="name" title={b.name}>
                {b.name}
              </b>
              <span class="quiet">
                {b.kind !== "barrier" && `${b.kind} · `}
                {props.job === null && store.jobs.length > 1 && `${b.job} · `}use{" "}
                {count(b.generation)}
              </span>
              <span class="num">
                {count(b.arrived)} of {count(b.total)}
              </span>
            </div>
            <Bar
              value={b.arrived}
              max={b.total}
              label={`${b.name}: ${b.arrived} of ${b.total} have arrived`}
              tone="waiting"
            />
            <div class="item-note">
              <span>waits for {duration(store.now() - b.created_at)}</span>
            </div>
            {b.missing.length > 0 && <Missing store={store} barrier={b} select={props.select} />}
          </li>
        ))}
      </ul>
    </Card>
  );
}
