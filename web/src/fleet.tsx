// All workers at one glance: a square each, by rank, coloured by state.  The table below it
// says the same in words.

import { useEffect, useRef, useState } from "preact/hooks";

import { plural } from "./format";
import type { Worker } from "./types";
import { STATES, shown, type Shown, type View } from "./view";

const MAX_HEIGHT = 132;
const GAP = 2;
const SIZES = [18, 15, 12, 10, 8, 6, 5, 4, 3];

interface Grid {
  size: number;
  columns: number;
  height: number;
}

// The largest squares that fit.
function gridOf(n: number, width: number): Grid {
  let grid: Grid = { size: 3, columns: 1, height: 0 };
  for (const size of SIZES) {
    const gap = size > 4 ? GAP : 1;
    const columns = Math.max(1, Math.floor((width + gap) / (size + gap)));
    grid = { size, columns, height: Math.ceil(n / columns) * (size + gap) };
    if (grid.height <= MAX_HEIGHT) break;
  }
  return grid;
}

function pitch(grid: Grid): number {
  return grid.size + (grid.size > 4 ? GAP : 1);
}

// Colours are those of the legend, as the theme has them now.
function coloursOf(legend: HTMLElement): Record<Shown, string> {
  const colours = {} as Record<Shown, string>;
  for (const item of legend.querySelectorAll<HTMLElement>("[data-state]"))
    colours[item.dataset["state"] as Shown] = getComputedStyle(item).color;
  return colours;
}

function paint(
  canvas: HTMLCanvasElement,
  grid: Grid,
  workers: Worker[],
  colours: Record<Shown, string>,
): void {
  const scale = window.devicePixelRatio || 1;
  const context = canvas.getContext("2d");
  canvas.width = Math.round(canvas.clientWidth * scale);
  canvas.height = Math.round(grid.height * scale);
  if (!context) return;
  context.scale(scale, scale);
  workers.forEach((worker, i) => {
    const left = (i % grid.columns) * pitch(grid);
    const top = Math.floor(i / grid.columns) * pitch(grid);
    context.fillStyle = colours[shown(worker.state)];
    context.beginPath();
    context.roundRect(left, top, grid.size, grid.size, Math.min(3, grid.size / 4));
    context.fill();
  });
}

export function Fleet(props: { view: View; select: (worker: Worker) => void }) {
  const { workers, counts } = props.view;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const legend = useRef<HTMLUListElement>(null);
  const [width, setWidth] = useState(0);
  const [under, setUnder] = useState<{ worker: Worker; x: number; y: number } | null>(null);
  const grid = gridOf(workers.length, width);

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) =>
      setWidth(Math.floor(entry?.contentRect.width ?? 0)),
    );
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current && legend.current && width > 0)
      paint(canvas.current, grid, workers, coloursOf(legend.current));
  });

  const at = (e: PointerEvent | MouseEvent): Worker | undefined => {
    const edge = canvas.current?.getBoundingClientRect();
    if (!edge) return undefined;
    const column = Math.floor((e.clientX - edge.left) / pitch(grid));
    const row = Math.floor((e.clientY - edge.top) / pitch(grid));
    return column < grid.columns ? workers[row * grid.columns + column] : undefined;
  };
  const move = (e: PointerEvent): void => {
    const worker = at(e);
    const edge = box.current?.getBoundingClientRect();
    setUnder(worker && edge ? { worker, x: e.clientX - edge.left, y: e.clientY - edge.top } : null);
  };
  const summary = STATES.filter((s) => counts[s.state] > 0)
    .map((s) => `${counts[s.state]} ${s.word}`)
    .join(", ");

  return (
    <div class="fleet" ref={box}>
      <ul class="legend" ref={legend} aria-hidden="true">
        {STATES.map((s) => (
          <li key={s.state} data-state={s.state} class={s.state}>
            {s.word}
          </li>
        ))}
      </ul>
      <canvas
        ref={canvas}
        style={{ height: `${grid.height}px` }}
        role="img"
        aria-label={`${plural(workers.length, "worker")}: ${summary}`}
        onPointerMove={move}
        onPointerLeave={() => setUnder(null)}
        onClick={(e) => {
          const worker = at(e);
          if (worker) props.select(worker);
        }}
      />
      {under && (
        <div
          class={`tip ${under.x > width * 0.7 ? "left" : ""}`}
          style={{ left: `${under.x}px`, top: `${under.y}px` }}
        >
          <b>{under.worker.id}</b> · rank {under.worker.rank} · {shown(under.worker.state)} · step{" "}
          {under.worker.current_step}
        </div>
      )}
    </div>
  );
}
