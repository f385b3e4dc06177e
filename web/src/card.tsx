// Parts that all sections are made of.

import type { ComponentChildren } from "preact";

import { STATES, type Shown } from "./view";

export function Card(props: {
  title: string;
  id: string;
  note?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}) {
  return (
    <section
      class={`card ${props.class ?? ""}`}
      aria-labelledby={`${props.id}-title`}
      id={props.id}
    >
      <header class="card-head">
        <h2 id={`${props.id}-title`}>{props.title}</h2>
        {props.note !== undefined && <div class="card-note">{props.note}</div>}
      </header>
      {props.children}
    </section>
  );
}

export function Empty(props: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{props.title}</p>
      {props.children !== undefined && <p>{props.children}</p>}
    </div>
  );
}

export function Bar(props: { value: number; max: number; label: string; tone?: string }) {
  const part = props.max > 0 ? Math.min(1, props.value / props.max) : 0;
  return (
    <div
      class={`bar ${props.tone ?? ""}`}
      role="progressbar"
      aria-label={props.label}
      aria-valuemin={0}
      aria-valuemax={props.max}
      aria-valuenow={props.value}
    >
      <div class="bar-fill" style={{ width: `${part * 100}%` }} />
    </div>
  );
}

// The sign tells the state also to who does not see the colour.
export function StateBadge(props: { state: Shown; title?: string }) {
  const look = STATES.find((s) => s.state === props.state);
  return (
    <span class={`state ${props.state}`} title={props.title || look?.means}>
      <span aria-hidden="true">{look?.sign}</span> {look?.word}
    </span>
  );
}
