// Workers: the map, what is looked for, the table, and one of them in full.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { Card, Empty, StateBadge } from "./card";
import { Fleet } from "./fleet";
import { bytes, clock, count, duration, plural } from "./format";
import type { Store } from "./store";
import type { Worker } from "./types";
import { behind, hasReported, heartbeatAge, shown, STATES, type Shown, type View } from "./view";
import { sorted, WorkerTable, type Sort } from "./worker_table";

function Filters(props: {
  view: View;
  text: string;
  setText: (text: string) => void;
  only: Shown | null;
  setOnly: (only: Shown | null) => void;
}) {
  return (
    <div class="filters">
      <input
        type="search"
        placeholder="Find by name, host or task"
        aria-label="Find workers"
        value={props.text}
        onInput={(e) => props.setText(e.currentTarget.value)}
      />
      <div class="chips" role="group" aria-label="Show only">
        {STATES.filter((s) => props.view.counts[s.state] > 0 || props.only === s.state).map((s) => (
          <button
            key={s.state}
            type="button"
            class={`chip ${s.state}`}
            aria-pressed={props.only === s.state}
            onClick={() => props.setOnly(props.only === s.state ? null : s.state)}
          >
            <span aria-hidden="true">{s.sign}</span> {count(props.view.counts[s.state])} {s.word}
          </button>
        ))}
      </div>
    </div>
  );
}

function Fact(props: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

function percent(value: number | null): string {
  return value === null ? "not told" : `${Math.round(value)} %`;
}

function used(part: number | null, whole: number | null): string {
  if (part === null) return whole ? bytes(whole) : "not told";
  return whole ? `${bytes(part)} of ${bytes(whole)}` : bytes(part);
}

function gpus(worker: Worker): string {
  const n = count(worker.gpu_count);
  return worker.gpu_percent === null ? n : `${n}, ${percent(worker.gpu_percent)} busy`;
}

function Details(props: { store: Store; view: View; worker: Worker; close: () => void }) {
  const { worker } = props;
  const steps = behind(props.view, worker);
  const panel = useRef<HTMLElement>(null);
  // It opens under the table, which may end below the window.
  useEffect(() => panel.current?.scrollIntoView({ block: "nearest" }), [worker.job, worker.id]);
  return (
    <aside
      ref={panel}
      class="details"
      aria-label={`Worker ${worker.id}`}
      onKeyDown={(e) => e.key === "Escape" && props.close()}
    >
      <header>
        <h3>{worker.id}</h3>
        <StateBadge state={shown(worker.state)} />
        <button type="button" class="plain" onClick={props.close} aria-label="Close">
          ✕
        </button>
      </header>
      {worker.reason && <p class="reason">{worker.reason}</p>}
      <dl>
        <Fact name="Job">{worker.job}</Fact>
        <Fact name="Rank">{worker.rank}</Fact>
        <Fact name="Address">
          {worker.ip}
          {worker.port > 0 && `:${worker.port}`}
        </Fact>
        <Fact name="Incarnation">{worker.incarnation}</Fact>
        <Fact name="GPUs">{gpus(worker)}</Fact>
        <Fact name="GPU memory">
          {used(worker.gpu_memory_used_bytes, worker.gpu_memory_total_bytes)}
        </Fact>
        <Fact name="CPU">{percent(worker.cpu_percent)}</Fact>
        <Fact name="Memory">{used(worker.memory_used_bytes, worker.memory_bytes)}</Fact>
        <Fact name="Doing">{worker.current_task || worker.activity || "not told"}</Fact>
        <Fact name="Epoch">{count(worker.current_epoch)}</Fact>
        <Fact name="Step">{hasReported(worker) ? count(worker.current_step) : "not told"}</Fact>
        <Fact name="Behind">{steps === null ? "not told" : plural(steps, "step")}</Fact>
        <Fact name="Heartbeat">{duration(heartbeatAge(props.store, worker))} ago</Fact>
        <Fact name="Registered">{clock(worker.registered_at)}</Fact>
        <Fact name="Shards">
          {worker.assigned_shards === null ? "not counted" : count(worker.assigned_shards)}
        </Fact>
      </dl>
    </aside>
  );
}

function isFound(worker: Worker, text: string, only: Shown | null): boolean {
  if (only && shown(worker.state) !== only) return false;
  return (
    !text ||
    [worker.id, worker.ip, worker.current_task, worker.activity, String(worker.rank)].some(
      (field) => field.toLowerCase().includes(text),
    )
  );
}

export function Workers(props: {
  store: Store;
  view: View;
  selected: { job: string; id: string } | null;
  select: (worker: { job: string; id: string } | null) => void;
}) {
  const { store, view } = props;
  const [text, setText] = useState("");
  const [only, setOnly] = useState<Shown | null>(null);
  const [sort, setSort] = useState<Sort>({ key: "rank", down: false });
  const found = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    return sorted(
      store,
      view,
      view.workers.filter((w) => isFound(w, wanted, only)),
      sort,
    );
  }, [view, text, only, sort]);
  const selected = props.selected ? store.find(props.selected.job, props.selected.id) : undefined;
  const note =
    found.length === view.workers.length
      ? plural(found.length, "worker")
      : `${count(found.length)} of ${plural(view.workers.length, "worker")}`;

  return (
    <Card id="workers" title="Workers" note={view.workers.length > 0 && note}>
      {view.workers.length === 0 ? (
        <Empty
          title={store.hasWorkers ? "No worker has registered" : "Waiting for the list of workers"}
        >
          {store.hasWorkers && (
            <>
              Start one with <code>roar.TrainingOrchestrator("HOST:PORT")</code>; it shows up here
              at once.
            </>
          )}
        </Empty>
      ) : (
        <>
          <Fleet view={view} select={props.select} />
          <Filters view={view} text={text} setText={setText} only={only} setOnly={setOnly} />
          {found.length === 0 ? (
            <Empty title="No worker is like that">
              Look for something else, or show all states.
            </Empty>
          ) : (
            <WorkerTable
              store={store}
              view={view}
              workers={found}
              sort={sort}
              setSort={setSort}
              selected={selected}
              select={props.select}
            />
          )}
          {selected && (
            <Details store={store} view={view} worker={selected} close={() => props.select(null)} />
          )}
        </>
      )}
    </Card>
  );
}
