// What is above all else: which coordinator this is, how it is, and whether we hear of it.

import { useState } from "preact/hooks";

import { clock, count, duration } from "./format";
import type { Store } from "./store";
import { nextTheme, setTheme, theme, type Theme } from "./theme";

function ThemeSwitch() {
  const [chosen, setChosen] = useState<Theme>(theme());
  const signs = { system: "◑", light: "☀", dark: "☾" };
  const next = nextTheme(chosen);
  return (
    <button
      type="button"
      class="plain"
      title={`Colours: ${chosen}`}
      aria-label={`Colours: ${chosen}. Change to ${next}`}
      onClick={() => {
        setTheme(next);
        setChosen(next);
      }}
    >
      <span aria-hidden="true">{signs[chosen]}</span> {chosen}
    </button>
  );
}

export function Header(props: {
  store: Store;
  job: string | null;
  setJob: (job: string | null) => void;
}) {
  const { store } = props;
  const server = store.server;
  const good = store.link.kind === "open" && server?.status === "running" && !server.disk_full;
  const word =
    store.link.kind !== "open"
      ? "not connected"
      : server?.disk_full
        ? "disk full"
        : (server?.status ?? "connecting");
  return (
    <header class="top">
      <div class="brand">
        <Mark />
        <span>
          roar <span class="quiet">coordinator</span>
        </span>
      </div>
      <span class={`health ${good ? "good" : "bad"}`}>
        <span aria-hidden="true">●</span> {word}
      </span>
      {server && (
        <span class="quiet wide">
          {server.version} · up {duration(store.now() - server.started_at)}
        </span>
      )}
      <div class="stretch" />
      {(store.jobs.length > 1 || props.job !== null) && (
        <label class="pick">
          Job{" "}
          <select
            value={props.job ?? ""}
            onChange={(e) => props.setJob(e.currentTarget.value || null)}
          >
            <option value="">all {count(store.jobs.length)}</option>
            {store.jobs.map((job) => (
              <option key={job.id} value={job.id}>
                {job.id}
              </option>
            ))}
          </select>
        </label>
      )}
      {store.jobs.length === 1 && props.job === null && (
        <span class="pick quiet">
          Job <b>{store.jobs[0]?.id}</b>
        </span>
      )}
      {store.hasToken() && (
        <button type="button" class="plain" onClick={() => store.setToken(null)}>
          Forget token
        </button>
      )}
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

export function LostBanner(props: { store: Store }) {
  const { link } = props.store;
  if (link.kind !== "lost") return null;
  const wait = Math.max(0, Math.ceil((link.retryAt - Date.now()) / 1000));
  return (
    <div class="lost" role="alert">
      <b>Connection lost.</b>{" "}
      <span>
        {link.why[0]?.toUpperCase()}
        {link.why.slice(1)}.{" "}
      </span>
      <span>
        The data shown is from {clock(link.since)};{" "}
        {wait > 0 ? `retrying in ${wait} s` : "retrying"}.
      </span>
      <button type="button" onClick={() => props.store.retry()}>
        Try now
      </button>
    </div>
  );
}
