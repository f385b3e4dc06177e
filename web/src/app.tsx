// The whole page.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { Barriers } from "./barriers";
import { Checkpoints, Datasets } from "./data";
import { Events } from "./events";
import { clock, count, duration, plural } from "./format";
import { Rates } from "./rates";
import type { Store } from "./store";
import { nextTheme, setTheme, theme, type Theme } from "./theme";
import { TokenForm } from "./token";
import { hasReported, look, ofJob, type View } from "./view";
import { Workers } from "./workers";

const CLOCK_MS = 1000; // ages grow also while nothing is told

function useStore(store: Store): number {
  const [version, setVersion] = useState(store.version);
  useEffect(() => {
    const timer = window.setInterval(() => setVersion((v) => v + 1e-6), CLOCK_MS);
    const end = store.subscribe(() => setVersion(store.version));
    return () => { window.clearInterval(timer); end(); };
  }, [store]);
  return version;
}

function ThemeSwitch() {
  const [chosen, setChosen] = useState<Theme>(theme());
  const signs = { system: "◑", light: "☀", dark: "☾" };
  const next = nextTheme(chosen);
  return (
    <button type="button" class="plain" title={`Colours: ${chosen}`} aria-label={`Colours: ${chosen}. Change to ${next}`}
      onClick={() => { setTheme(next); setChosen(next); }}>
      <span aria-hidden="true">{signs[chosen]}</span> {chosen}
    </button>
  );
}

function Header(props: { store: Store; job: string | null; setJob: (job: string | null) => void }) {
  const { store } = props;
  const server = store.server;
  const good = store.link.kind === "open" && server?.status === "running" && !server.disk_full;
  const word = store.link.kind !== "open" ? "not connected" : server?.disk_full ? "disk full" : server?.status ?? "connecting";
  return (
    <header class="top">
      <div class="brand"><Mark /><span>roar <span class="quiet">coordinator</span></span></div>
      <span class={`health ${good ? "good" : "bad"}`}><span aria-hidden="true">●</span> {word}</span>
      {server && <span class="quiet wide">{server.version} · up {duration(store.now() - Date.parse(server.started_at))}</span>}
      <div class="stretch" />
      {(store.jobs.length > 1 || props.job !== null) && (
        <label class="pick">Job{" "}
          <select value={props.job ?? ""} onChange={(e) => props.setJob(e.currentTarget.value || null)}>
            <option value="">all {count(store.jobs.length)}</option>
            {store.jobs.map((job) => <option key={job.id} value={job.id}>{job.id}</option>)}
          </select>
        </label>
      )}
      {store.jobs.length === 1 && props.job === null && <span class="pick quiet">Job <b>{store.jobs[0]?.id}</b></span>}
      {store.hasToken() && <button type="button" class="plain" onClick={() => store.setToken(null)}>Forget token</button>}
      <ThemeSwitch />
    </header>
  );
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M7 18v-4M12.5 22V10M18 25V7M23.5 20v-8" />
    </svg>
  );
}

function LostBanner(props: { store: Store }) {
  const { link } = props.store;
  if (link.kind !== "lost") return null;
  const wait = Math.max(0, Math.ceil((link.retryAt - Date.now()) / 1000));
  return (
    <div class="lost" role="alert">
      <b>Connection lost.</b> <span>{link.why[0]?.toUpperCase()}{link.why.slice(1)}. </span>
      <span>What you see is from {clock(link.since)}; {wait > 0 ? `trying again in ${wait} s` : "trying again"}.</span>
      <button type="button" onClick={() => props.store.retry()}>Try now</button>
    </div>
  );
}

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
    dead && `${count(dead)} dead`, suspect && `${count(suspect)} suspect`, draining && `${count(draining)} draining`,
  ].filter(Boolean);
  return parts.length ? parts.join(", ") : view.workers.length ? "all are alive" : "none yet";
}

function Tiles(props: { store: Store; view: View }) {
  const { store, view } = props;
  const barriers = ofJob(store.barriers, view.job);
  const longest = Math.max(0, ...barriers.map((b) => store.now() - Date.parse(b.created_at)));
  const steps = ofJob(store.steps, view.job);
  const saved = steps.find((s) => s.complete);
  const newest = steps[0];
  const front = Math.max(0, ...view.front.values());
  const jobs = view.job === null ? store.jobs : store.jobs.filter((j) => j.id === view.job);
  const waiting = jobs.filter((j) => !j.ready).length;
  return (
    <section class="tiles" aria-label="Summary">
      <Tile name="Workers alive" value={`${count(view.counts.alive + view.counts.draining)} / ${count(view.workers.length)}`}
        note={workersNote(view)} tone={view.counts.dead ? "bad" : view.counts.suspect ? "warn" : undefined} />
      <Tile name="Jobs" value={count(jobs.length)}
        note={waiting ? `${plural(waiting, "job")} below the workers it needs` : jobs.length ? "all have their workers" : "none yet"}
        tone={waiting ? "warn" : undefined} />
      <Tile name="Furthest step" value={view.workers.some(hasReported) ? count(front) : "–"}
        note={view.workers.some(hasReported) ? (view.worst ? `the last is ${plural(view.worst, "step")} behind` : "everybody is there") : "no worker has said"} />
      <Tile name="Barriers waiting" value={count(barriers.length)}
        note={barriers.length ? `the longest for ${duration(longest)}` : "nobody waits"} />
      <Tile name="Last checkpoint" value={saved ? count(saved.step) : "–"}
        note={newest && newest !== saved && !newest.complete ? `step ${count(newest.step)}: ${count(newest.parts)} of ${count(newest.expected)} parts`
          : saved ? "complete" : "none is complete"} />
    </section>
  );
}

// Said to who does not see the page, when it changes.
function Announcer(props: { view: View }) {
  const { dead } = props.view.counts;
  const before = useRef(dead);
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (dead > before.current) setSaid(`${plural(dead, "worker")} dead`);
    before.current = dead;
  }, [dead]);
  return <div class="unseen" aria-live="polite">{said}</div>;
}

function Content(props: { store: Store; view: View }) {
  const { store, view } = props;
  const [selected, setSelected] = useState<{ job: string; id: string } | null>(null);
  return (
    <>
      <Tiles store={store} view={view} />
      <Rates store={store} />
      <div class="columns">
        <div class="column wide-column">
          <Workers store={store} view={view} selected={selected} select={setSelected} />
          <Events store={store} job={view.job} />
        </div>
        <div class="column">
          <Barriers store={store} job={view.job} select={setSelected} />
          <Datasets store={store} job={view.job} />
          <Checkpoints store={store} job={view.job} />
        </div>
      </div>
    </>
  );
}

export function App(props: { store: Store }) {
  const { store } = props;
  const version = useStore(store);
  const [job, setJob] = useState<string | null>(null);
  const view = useMemo(() => look(store, job), [version, job]);

  if (store.link.kind === "refused") {
    return <TokenForm tried={store.hasToken()} status={store.link.status} why={store.link.why} send={(token) => store.setToken(token)} />;
  }
  return (
    <>
      <a class="skip" href="#workers">To the workers</a>
      <Header store={store} job={job} setJob={setJob} />
      <LostBanner store={store} />
      <main class={store.link.kind === "lost" ? "page stale" : "page"}>
        <h1 class="unseen">Coordinator</h1>
        {store.server ? <Content store={store} view={view} /> : <p class="hint">Connecting to the coordinator…</p>}
      </main>
      <Announcer view={view} />
    </>
  );
}
