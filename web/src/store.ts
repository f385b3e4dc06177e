// What the page knows: the last state that was told, kept up by events.  Who shows it
// subscribes; changes that come together are shown together.

import { Stream, type Link } from "./stream";
import type {
  Barrier,
  Dataset,
  Job,
  Line,
  Row,
  Server,
  StateEvent,
  Step,
  Worker,
  WorkersEvent,
} from "./types";
import { visible } from "./visible";

const MAX_LINES = 500;
const MAX_ROWS = 300;
const DRAW_MS = 100; // between two drawings, at least
const TOKEN_KEY = "roar-token";

export interface History {
  columns: string[];
  rows: Row[];
}

function keyOf(name: { job: string; id: string }): string {
  return `${name.job}\n${name.id}`;
}

export class Store {
  link: Link = { kind: "connecting" };
  server: Server | undefined;
  jobs: Job[] = [];
  barriers: Barrier[] = [];
  datasets: Dataset[] = [];
  steps: Step[] = [];
  lines: Line[] = [];
  history: History = { columns: [], rows: [] };
  workers = new Map<string, Worker>();
  hasWorkers = false; // they were told: no worker means that there is none
  version = 0; // grows with every change

  private clockAhead = 0; // of the server, to this machine's
  private readonly stream: Stream;
  private readonly listeners = new Set<() => void>();
  private drawn = 0;
  private due: number | undefined;

  constructor() {
    this.stream = new Stream(this, sessionStorage.getItem(TOKEN_KEY));
  }

  start(): void {
    this.stream.start();
  }

  // By the server's clock, which stands still while nobody hears from it.
  now(): number {
    return (this.link.kind === "lost" ? this.link.since : Date.now()) + this.clockAhead;
  }

  find(job: string, id: string): Worker | undefined {
    return this.workers.get(keyOf({ job, id }));
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  retry(): void {
    this.stream.retry();
  }

  hasToken(): boolean {
    return sessionStorage.getItem(TOKEN_KEY) !== null;
  }

  // Another token may see other things: nothing of the old ones stays.
  setToken(token: string | null): void {
    if (token === null) sessionStorage.removeItem(TOKEN_KEY);
    else sessionStorage.setItem(TOKEN_KEY, token);
    this.forget();
    this.link = { kind: "connecting" };
    this.changed();
    this.stream.setToken(token);
  }

  // ---- from the stream ----

  setLink(link: Link): void {
    this.link = link;
    this.changed();
  }

  event(name: string, data: string): void {
    if (name === "snapshot") {
      this.forget();
      this.takeState(JSON.parse(visible(data)) as StateEvent);
      // Workers follow at once, or there are none.
      this.hasWorkers = !this.jobs.some((job) => job.world_size > 0);
    } else if (name === "delta") {
      this.takeState(JSON.parse(visible(data)) as StateEvent);
    } else if (name === "workers") {
      this.takeWorkers(JSON.parse(visible(data)) as WorkersEvent);
    }
    this.changed();
  }

  private forget(): void {
    this.workers.clear();
    this.hasWorkers = false;
    this.server = undefined;
    this.jobs = [];
    this.barriers = [];
    this.datasets = [];
    this.steps = [];
    this.lines = [];
    this.history = { columns: [], rows: [] };
  }

  private takeState(event: StateEvent): void {
    this.clockAhead = event.now - Date.now();
    this.server = event.coordinator ?? this.server;
    this.jobs = event.jobs ?? this.jobs;
    this.barriers = event.barriers ?? this.barriers;
    this.datasets = event.datasets ?? this.datasets;
    this.steps = event.steps ?? this.steps;
    if (event.logs.length) this.lines = [...this.lines, ...event.logs].slice(-MAX_LINES);
    if (event.columns) this.history.columns = event.columns;
    if (event.history?.length) {
      this.history = {
        columns: this.history.columns,
        rows: [...this.history.rows, ...event.history].slice(-MAX_ROWS),
      };
    }
  }

  private takeWorkers(event: WorkersEvent): void {
    this.hasWorkers = true;
    for (const name of event.gone) this.workers.delete(keyOf(name));
    for (const news of event.workers) {
      const key = keyOf(news);
      const known = this.workers.get(key);
      // Who was not known comes with all that there is to know.
      this.workers.set(key, known ? { ...known, ...news } : (news as Worker));
    }
  }

  // ---- to those who show it ----

  private changed(): void {
    this.version++;
    if (this.due !== undefined) return;
    const wait = Math.max(0, this.drawn + DRAW_MS - performance.now());
    this.due = window.setTimeout(() => {
      this.due = undefined;
      this.drawn = performance.now();
      for (const listener of this.listeners) listener();
    }, wait);
  }
}
