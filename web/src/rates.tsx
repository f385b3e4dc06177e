// Rates and times of the whole server.

import { Chart } from "./chart";
import { bytes, milliseconds, short } from "./format";
import type { Store } from "./store";

const perSecond = (n: number): string => `${short(n)}/s`;

export function Rates(props: { store: Store }) {
  const { store } = props;
  if (!store.server?.admin) {
    return (
      <p class="hint">
        Rates and times cover the whole server and require the administrator's token.
      </p>
    );
  }
  const common = { history: store.history, now: store.now() };
  return (
    <section class="rates" aria-label="Rates and latencies">
      <Chart
        {...common}
        title="Requests"
        show={perSecond}
        nothing="no requests yet"
        series={[{ column: "requests", name: "all calls", class: "c1" }]}
      />
      <Chart
        {...common}
        title="Heartbeat latency"
        show={milliseconds}
        nothing="no heartbeats yet"
        series={[
          { column: "heartbeat_p99", name: "p99", class: "c1" },
          { column: "heartbeat_p50", name: "p50", class: "c2" },
        ]}
      />
      <Chart
        {...common}
        title="Barrier wait"
        show={milliseconds}
        nothing="no barrier has ended"
        series={[
          { column: "barrier_p99", name: "wait", class: "c1" },
          { column: "skew_p99", name: "skew", class: "c2" },
        ]}
      />
      <Chart
        {...common}
        title="Log commit"
        show={milliseconds}
        nothing="no commits yet"
        series={[
          { column: "sync_p99", name: "p99", class: "c1" },
          { column: "sync_p50", name: "p50", class: "c2" },
        ]}
      />
      <Chart
        {...common}
        title="Checkpoints"
        show={(n) => `${bytes(n)}/s`}
        nothing="no checkpoint yet"
        series={[{ column: "checkpoint_bytes", name: "saved", class: "c1" }]}
      />
    </section>
  );
}
