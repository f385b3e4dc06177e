// The table of workers.  Only the rows in sight are in the document, so ten thousand of them
// scroll like ten.  It is one stop of the Tab key; arrows move within it, Enter opens.

import { useEffect, useRef, useState } from "preact/hooks";

import { StateBadge } from "./card";
import { count, duration } from "./format";
import type { Store } from "./store";
import type { Worker } from "./types";
import { behind, hasReported, heartbeatAge, shown, type View } from "./view";

const ROW = 34; // px, as in the style sheet; also the head, which stays in sight
const AROUND = 8; // rows beyond what is seen
const PAGE = 10;

export type SortKey = "state" | "rank" | "id" | "step" | "behind" | "heartbeat" | "shards";

export interface Sort {
  key: SortKey;
  down: boolean;
}

const SEVERITY = { dead: 0, suspect: 1, draining: 2, alive: 3 };

function valueOf(store: Store, view: View, worker: Worker, key: SortKey): number | string {
  switch (key) {
    case "state":
      return SEVERITY[shown(worker.state)];
    case "rank":
      return worker.rank;
    case "id":
      return worker.id;
    case "step":
      return worker.current_step;
    case "behind":
      return behind(view, worker) ?? -1;
    case "heartbeat":
      return heartbeatAge(store, worker);
    case "shards":
      return worker.assigned_shards ?? -1;
  }
}

// The view is by job and rank already, and sorting keeps that order among equals.
export function sorted(store: Store, view: View, workers: Worker[], sort: Sort): Worker[] {
  if (sort.key === "rank" && !sort.down) return workers;
  const keyed = workers.map((worker) => ({
    worker,
    value: valueOf(store, view, worker, sort.key),
  }));
  keyed.sort((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : 0) * (sort.down ? -1 : 1));
  return keyed.map((item) => item.worker);
}

interface Column {
  name: string;
  key?: SortKey;
  class: string;
  cell: (store: Store, view: View, worker: Worker) => preact.ComponentChildren;
}

// The bar is as long as the one of who is furthest behind.
function Lag(props: { steps: number | null; worst: number }) {
  if (props.steps === null) return <span class="quiet">–</span>;
  if (props.steps <= 0) return <span class="quiet">0</span>;
  const part = Math.min(1, props.steps / Math.max(1, props.worst));
  return (
    <span class="lag">
      <i style={{ width: `${Math.max(2, part * 28)}px` }} aria-hidden="true" />
      {count(props.steps)}
    </span>
  );
}

const COLUMNS: Column[] = [
  {
    name: "State",
    key: "state",
    class: "w-state",
    cell: (_s, _v, w) => <StateBadge state={shown(w.state)} title={w.reason} />,
  },
  { name: "Rank", key: "rank", class: "w-rank num", cell: (_s, _v, w) => w.rank },
  {
    name: "Worker",
    key: "id",
    class: "w-id",
    cell: (_s, v, w) => (
      <>
        <span title={w.id}>{w.id}</span>
        {v.severalJobs && <small> {w.job}</small>}
      </>
    ),
  },
  { name: "Host", class: "w-host", cell: (_s, _v, w) => <span title={w.ip}>{w.ip}</span> },
  {
    name: "Doing",
    class: "w-task",
    cell: (_s, _v, w) => <span title={w.current_task}>{w.current_task || w.activity || "–"}</span>,
  },
  {
    name: "Step",
    key: "step",
    class: "w-step num",
    cell: (_s, _v, w) => (hasReported(w) ? count(w.current_step) : "–"),
  },
  {
    name: "Behind",
    key: "behind",
    class: "w-lag num",
    cell: (_s, v, w) => <Lag steps={behind(v, w)} worst={v.worst} />,
  },
  {
    name: "Heartbeat",
    key: "heartbeat",
    class: "w-beat num",
    cell: (s, _v, w) => `${duration(heartbeatAge(s, w))} ago`,
  },
  {
    name: "Shards",
    key: "shards",
    class: "w-shards num",
    cell: (_s, _v, w) => (w.assigned_shards === null ? "–" : count(w.assigned_shards)),
  },
];

function Head(props: { sort: Sort; setSort: (sort: Sort) => void }) {
  const { sort } = props;
  const choose = (key: SortKey): void =>
    props.setSort({ key, down: sort.key === key ? !sort.down : false });
  return (
    <div class="row head" role="row" aria-rowindex={1}>
      {COLUMNS.map((c) => (
        <div
          key={c.name}
          class={c.class}
          role="columnheader"
          aria-sort={c.key !== sort.key ? "none" : sort.down ? "descending" : "ascending"}
        >
          {c.key ? (
            <button type="button" onClick={() => choose(c.key as SortKey)}>
              {c.name}
              {c.key === sort.key && <span aria-hidden="true"> {sort.down ? "↓" : "↑"}</span>}
            </button>
          ) : (
            c.name
          )}
        </div>
      ))}
    </div>
  );
}

export function WorkerTable(props: {
  store: Store;
  view: View;
  workers: Worker[];
  sort: Sort;
  setSort: (sort: Sort) => void;
  selected: Worker | undefined;
  select: (worker: Worker) => void;
}) {
  const { store, view, workers } = props;
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const [height, setHeight] = useState(0);
  const [active, setActive] = useState(-1);
  const first = Math.max(0, Math.floor(scroll / ROW) - AROUND);
  const last = Math.min(workers.length, Math.ceil((scroll + height) / ROW) + AROUND);

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setHeight(entry?.contentRect.height ?? 0));
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  // Who is selected elsewhere comes into sight.
  useEffect(() => {
    const at = workers.findIndex((w) => w === props.selected);
    if (at >= 0) go(at);
  }, [props.selected?.id, props.selected?.job]);

  const go = (to: number): void => {
    const at = Math.max(0, Math.min(workers.length - 1, to));
    setActive(at);
    const view = box.current;
    if (!view) return;
    if (at * ROW < view.scrollTop) view.scrollTop = at * ROW;
    else if ((at + 2) * ROW > view.scrollTop + view.clientHeight)
      view.scrollTop = (at + 2) * ROW - view.clientHeight;
  };
  const key = (e: KeyboardEvent): void => {
    const moves: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + PAGE,
      PageUp: active - PAGE,
      Home: 0,
      End: workers.length - 1,
    };
    const to = moves[e.key];
    const worker = workers[active];
    if (to !== undefined) go(to);
    else if (e.key === "Enter" && worker) props.select(worker);
    else return;
    e.preventDefault();
  };

  return (
    <div
      class="table"
      role="grid"
      aria-label="Workers"
      aria-rowcount={workers.length + 1}
      tabIndex={0}
      aria-activedescendant={active >= first && active < last ? `worker-${active}` : undefined}
      onKeyDown={key}
    >
      <div
        class="rows"
        role="presentation"
        ref={box}
        onScroll={(e) => setScroll(e.currentTarget.scrollTop)}
      >
        <Head sort={props.sort} setSort={props.setSort} />
        <div class="spacer" role="rowgroup" style={{ height: `${workers.length * ROW}px` }}>
          {workers.slice(first, last).map((worker, i) => (
            <div
              key={`${worker.job}\n${worker.id}`}
              id={`worker-${first + i}`}
              role="row"
              aria-rowindex={first + i + 2}
              aria-selected={worker === props.selected}
              class={`row ${shown(worker.state)} ${first + i === active ? "active" : ""}`}
              style={{ top: `${(first + i) * ROW}px` }}
              onClick={() => {
                setActive(first + i);
                props.select(worker);
              }}
            >
              {COLUMNS.map((c) => (
                <div key={c.name} class={c.class} role="gridcell">
                  {c.cell(store, view, worker)}
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
