// What happened, the newest first.

import { useState } from "preact/hooks";

import { Card, Empty } from "./card";
import { clock } from "./format";
import type { Store } from "./store";
import type { Line } from "./types";

const SIGNS = { error: "✕", warn: "▲", info: "·", debug: "·" };
const MAX_SHOWN = 200;

function isUrgent(line: Line): boolean {
  return line.level === "error" || line.level === "warn";
}

function whole(line: Line): string {
  return new Date(line.timestamp).toISOString();
}

export function Events(props: { store: Store; job: string | null }) {
  const [urgent, setUrgent] = useState(false);
  const lines = props.store.lines
    .filter(
      (line) => (props.job === null || line.task_id === props.job) && (!urgent || isUrgent(line)),
    )
    .slice(-MAX_SHOWN)
    .reverse();
  return (
    <Card
      id="events"
      title="Events"
      class="events"
      note={
        <label class="check">
          <input
            type="checkbox"
            checked={urgent}
            onChange={(e) => setUrgent(e.currentTarget.checked)}
          />{" "}
          warnings only
        </label>
      }
    >
      {lines.length === 0 && <Empty title={urgent ? "No warnings" : "No events yet"} />}
      <ol class="log" tabIndex={0} aria-label="Events, the newest first">
        {lines.map((line) => (
          <li key={line.id} class={line.level}>
            <time dateTime={whole(line)} title={whole(line)}>
              {clock(line.timestamp)}
            </time>
            <span class="sign" title={line.level}>
              <span aria-hidden="true">{SIGNS[line.level]}</span>
              <span class="unseen">{line.level}</span>
            </span>
            <span class="what">{line.message}</span>
            {line.task_id && <span class="tag">{line.task_id}</span>}
          </li>
        ))}
      </ol>
    </Card>
  );
}
