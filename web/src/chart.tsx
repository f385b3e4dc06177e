// A small chart of the last minutes, five at most.  A second in which nothing happened is a gap, not
// a zero: lines join only what is side by side.

import { useState } from "preact/hooks";

import { clock } from "./format";
import type { History } from "./store";

const SPANS_MS = [60_000, 120_000, 300_000]; // what is shown: as much as there is
const WIDTH = 300;
const HEIGHT = 84;
const NEAR_MS = 2_500; // further apart is a gap

export interface Series {
  column: string;
  name: string;
  class: string;
}

interface Point {
  time: number;
  value: number;
}

function pointsOf(history: History, column: string, from: number): Point[] {
  const time = history.columns.indexOf("time");
  const at = history.columns.indexOf(column);
  const points: Point[] = [];
  for (const row of history.rows) {
    const when = row[time];
    const value = row[at];
    if (typeof when === "number" && typeof value === "number" && when >= from)
      points.push({ time: when, value });
  }
  return points;
}

// The next of 1, 2, 5, 10, 20, ... that holds it.
function ceiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((s) => s * power >= value) ?? 10;
  return step * power;
}

function runs(points: Point[]): Point[][] {
  const all: Point[][] = [];
  for (const point of points) {
    const last = all[all.length - 1]?.at(-1);
    if (last && point.time - last.time <= NEAR_MS) all[all.length - 1]?.push(point);
    else all.push([point]);
  }
  return all;
}

interface Frame {
  from: number;
  span: number;
  top: number;
}

function spanOf(history: History, now: number): number {
  const first = history.rows[0]?.[history.columns.indexOf("time")] ?? now;
  return SPANS_MS.find((span) => now - first <= span) ?? (SPANS_MS.at(-1) as number);
}

function x(frame: Frame, time: number): number {
  return ((time - frame.from) / frame.span) * WIDTH;
}

function y(frame: Frame, value: number): number {
  return HEIGHT - (value / frame.top) * (HEIGHT - 6);
}

function line(frame: Frame, run: Point[]): string {
  return run
    .map((p, i) => `${i ? "L" : "M"}${x(frame, p.time).toFixed(1)} ${y(frame, p.value).toFixed(1)}`)
    .join("");
}

function Run(props: { frame: Frame; run: Point[]; class: string; filled: boolean }) {
  const { frame, run } = props;
  const first = run[0] as Point;
  const last = run[run.length - 1] as Point;
  const alone = run.length === 1; // a dot, which is a line without length
  const path = alone ? `${line(frame, run)}h0.01` : line(frame, run);
  return (
    <g class={props.class}>
      {props.filled && !alone && (
        <path
          class="area"
          d={`${path}L${x(frame, last.time).toFixed(1)} ${HEIGHT}L${x(frame, first.time).toFixed(1)} ${HEIGHT}Z`}
        />
      )}
      <path class={alone ? "line dot" : "line"} d={path} />
    </g>
  );
}

function nearest(points: Point[], time: number): Point | undefined {
  let best: Point | undefined;
  for (const point of points)
    if (!best || Math.abs(point.time - time) < Math.abs(best.time - time)) best = point;
  return best && Math.abs(best.time - time) < 5_000 ? best : undefined;
}

export function Chart(props: {
  title: string;
  history: History;
  now: number;
  series: Series[];
  show: (value: number) => string;
  nothing: string;
}) {
  const [hover, setHover] = useState<number | null>(null);
  const span = spanOf(props.history, props.now);
  const from = props.now - span;
  const lines = props.series.map((s) => ({
    ...s,
    points: pointsOf(props.history, s.column, from),
  }));
  const most = Math.max(0, ...lines.flatMap((l) => l.points.map((p) => p.value)));
  const frame: Frame = { from, span, top: ceiling(most) };
  const any = most > 0;
  const time = hover === null ? null : from + hover * span;
  const said = lines.map((l) => ({
    name: l.name,
    class: l.class,
    point: time === null ? l.points.at(-1) : nearest(l.points, time),
  }));
  const spoken = any
    ? `${props.title}, last ${span / 60_000} min: now ${said.map((s) => `${s.name} ${s.point ? props.show(s.point.value) : "nothing"}`).join(", ")}, at most ${props.show(most)}`
    : `${props.title}: ${props.nothing}`;

  return (
    <figure class="chart card">
      <figcaption>
        <h3>{props.title}</h3>
        <div class="chart-now">
          {said.map((s) => (
            <span key={s.name} class={s.class}>
              <i class="key" aria-hidden="true" />
              <span class="chart-name">{s.name}</span>{" "}
              <b>{s.point ? props.show(s.point.value) : "–"}</b>
            </span>
          ))}
        </div>
      </figcaption>
      <div
        class="plot"
        onPointerMove={(e) => {
          const box = e.currentTarget.getBoundingClientRect();
          setHover(Math.min(1, Math.max(0, (e.clientX - box.left) / box.width)));
        }}
        onPointerLeave={() => setHover(null)}
      >
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={spoken}
        >
          <path
            class="grid"
            d={`M0 ${y(frame, frame.top)}H${WIDTH}M0 ${y(frame, frame.top / 2)}H${WIDTH}`}
          />
          <path class="base" d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
          {any &&
            lines.map((l, i) =>
              runs(l.points).map((run) => (
                <Run
                  key={`${l.column}${run[0]?.time}`}
                  frame={frame}
                  run={run}
                  class={l.class}
                  filled={i === 0}
                />
              )),
            )}
          {hover !== null && <path class="cursor" d={`M${hover * WIDTH} 0V${HEIGHT}`} />}
        </svg>
        {any && (
          <span class="peak" aria-hidden="true">
            {props.show(frame.top)}
          </span>
        )}
        {!any && <span class="nothing">{props.nothing}</span>}
      </div>
      <div class="axis" aria-hidden="true">
        <span>{time === null ? `${span / 60_000} min ago` : ""}</span>
        <span>{time === null ? "now" : clock(time)}</span>
      </div>
    </figure>
  );
}
