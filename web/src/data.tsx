// Datasets with their shards, and checkpoints.

import { Bar, Card, Empty } from "./card";
import { bytes, count, duration, plural } from "./format";
import type { Store } from "./store";
import type { Dataset, Step } from "./types";
import { ofJob } from "./view";

const FEW_STEPS = 8;

function range(least: string, most: string): string {
  return least === most ? `${most} per worker` : `${least} to ${most} per worker`;
}

// They are dealt when a worker first asks.
function balance(d: Dataset): string {
  const by = d.balance === "count" ? "" : `by ${d.balance}: `;
  if (d.table_version === 0) return `${by}not assigned yet`;
  if (d.max_bytes !== undefined) return by + range(bytes(d.min_bytes ?? 0), bytes(d.max_bytes));
  return by + range(count(d.min_shards), count(d.max_shards));
}

function home(d: Dataset): string {
  return `${count(d.at_home_shards ?? 0)} of ${plural(d.shard_count, "shard")}`;
}

// By all deals of the dataset.
function moves(d: Dataset): string {
  if (d.moved_shards === null) return "not counted";
  return d.moved_shards ? plural(d.moved_shards, "shard") : "none";
}

// What it moved, beside what no deal could have avoided.
function lastDeal(d: Dataset): string {
  if (d.last_moved === 0) return "moved none";
  if (d.last_moved_bytes !== undefined)
    return `moved ${bytes(d.last_moved_bytes)}, the minimum was ${bytes(d.last_minimum_bytes ?? 0)}`;
  return d.last_moved === d.last_minimum
    ? `moved ${count(d.last_moved)}, the minimum`
    : `moved ${count(d.last_moved)}, the minimum was ${count(d.last_minimum)}`;
}

function Progress(props: { dataset: Dataset }) {
  const d = props.dataset;
  if (!d.consumed_samples) return <p class="quiet">No worker has reported what it read.</p>;
  return (
    <>
      <Bar value={d.consumed_samples} max={d.total_samples} label={`${d.name}: samples read`} />
      <div class="item-note">
        <span>epoch {count(d.epoch ?? 0)}</span>
        <span class="num">
          {count(d.consumed_samples)} of {count(d.total_samples)}
        </span>
      </div>
    </>
  );
}

export function Datasets(props: { store: Store; job: string | null }) {
  const datasets = ofJob(props.store.datasets, props.job);
  return (
    <Card id="datasets" title="Datasets" note={datasets.length > 0 && count(datasets.length)}>
      {datasets.length === 0 && (
        <Empty title="No dataset is registered">
          Workers register them with <code>register_dataset()</code>.
        </Empty>
      )}
      <ul class="items">
        {datasets.map((d) => (
          <li key={`${d.job}\n${d.id}`} class="item">
            <div class="item-head">
              <b class="name" title={d.path}>
                {d.name}
              </b>
              <span class="quiet">
                {d.format}
                {d.shuffle && " · shuffled"}
              </span>
              <span class="num">{plural(d.total_samples, "sample")}</span>
            </div>
            <Progress dataset={d} />
            <dl class="pairs">
              <dt>Shards</dt>
              <dd>
                {count(d.shard_count)}, each {plural(d.shard_size, "sample")}
              </dd>
              <dt>Balance</dt>
              <dd>{balance(d)}</dd>
              {d.at_home_shards !== undefined && <dt>At home</dt>}
              {d.at_home_shards !== undefined && <dd>{home(d)}</dd>}
              <dt>Moved</dt>
              <dd>{moves(d)}</dd>
              {d.table_version > 1 && <dt>Last deal</dt>}
              {d.table_version > 1 && <dd>{lastDeal(d)}</dd>}
            </dl>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function StepItem(props: { store: Store; step: Step; withJob: boolean }) {
  const s = props.step;
  return (
    <li class="item">
      <div class="item-head">
        <b class="name">step {count(s.step)}</b>
        <span class="quiet">
          {props.withJob && `${s.job} · `}epoch {count(s.epoch)}
        </span>
        <span class={s.complete ? "tag good" : s.error ? "tag bad" : "tag"}>
          {s.complete
            ? "✓ complete"
            : s.error
              ? "✗ failed"
              : `${count(s.parts)} of ${count(s.expected)}`}
        </span>
      </div>
      {s.error && <p class="quiet">{s.error}</p>}
      {!s.complete && !s.error && (
        <Bar value={s.parts} max={s.expected} label={`step ${s.step}: parts saved`} />
      )}
      <div class="item-note">
        <span>
          {s.size > 0 ? bytes(s.size) : "size unknown"}
          {s.complete && s.expected > 1 && ` in ${count(s.parts)} parts`}
        </span>
        <span>{s.saved_at && `${duration(props.store.now() - s.saved_at)} ago`}</span>
      </div>
    </li>
  );
}

export function Checkpoints(props: { store: Store; job: string | null }) {
  const { store } = props;
  const steps = ofJob(store.steps, props.job);
  return (
    <Card
      id="checkpoints"
      title="Checkpoints"
      note={steps.length > 0 && plural(steps.length, "step")}
    >
      {steps.length === 0 && (
        <Empty title="No checkpoint yet">
          A step is complete when every worker has saved its part.
        </Empty>
      )}
      <ul class="items">
        {steps.slice(0, FEW_STEPS).map((s) => (
          <StepItem
            key={`${s.job}\n${s.step}`}
            store={store}
            step={s}
            withJob={props.job === null && store.jobs.length > 1}
          />
        ))}
      </ul>
      {steps.length > FEW_STEPS && (
        <p class="quiet more">and {plural(steps.length - FEW_STEPS, "older step")}</p>
      )}
    </Card>
  );
}
