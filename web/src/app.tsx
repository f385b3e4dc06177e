// The whole page.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { Barriers } from "./barriers";
import { Checkpoints, Datasets } from "./data";
import { Events } from "./events";
import { plural } from "./format";
import { Header, LostBanner } from "./header";
import { Rates } from "./rates";
import type { Store } from "./store";
import { Tiles } from "./tiles";
import { TokenForm } from "./token";
import { look, type View } from "./view";
import { Workers } from "./workers";

const CLOCK_MS = 1000; // ages grow also while nothing is told

function useStore(store: Store): number {
  const [version, setVersion] = useState(store.version);
  useEffect(() => {
    const timer = window.setInterval(() => setVersion((v) => v + 1e-6), CLOCK_MS);
    const end = store.subscribe(() => setVersion(store.version));
    return () => {
      window.clearInterval(timer);
      end();
    };
  }, [store]);
  return version;
}

// In the name of the tab, for who looks elsewhere.
function useTitle(view: View): void {
  const { dead } = view.counts;
  useEffect(() => {
    document.title = dead
      ? `${plural(dead, "dead worker")} · roar coordinator`
      : "roar coordinator";
  }, [dead]);
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
  return (
    <div class="unseen" aria-live="polite">
      {said}
    </div>
  );
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
  useTitle(view);

  if (store.link.kind === "refused") {
    return (
      <TokenForm
        tried={store.hasToken()}
        status={store.link.status}
        why={store.link.why}
        send={(token) => store.setToken(token)}
      />
    );
  }
  return (
    <>
      <a class="skip" href="#workers">
        To the workers
      </a>
      <Header store={store} job={job} setJob={setJob} />
      <LostBanner store={store} />
      <main class={store.link.kind === "lost" ? "page stale" : "page"}>
        <h1 class="unseen">Coordinator</h1>
        {store.server ? (
          <Content store={store} view={view} />
        ) : (
          <p class="hint">Connecting to the coordinator…</p>
        )}
      </main>
      <Announcer view={view} />
    </>
  );
}
