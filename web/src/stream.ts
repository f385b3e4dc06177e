// The stream of events, read by fetch(): the browser's own EventSource cannot send a token.
// A stream that ends is opened again, after a pause that grows up to MAX_PAUSE_MS; one that
// says nothing for SILENCE_MS is taken for lost, since the server speaks every second.

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;
const SILENCE_MS = 8_000;

export type Link =
  | { kind: "connecting" }
  | { kind: "open" }
  | { kind: "lost"; since: number; retryAt: number; why: string }
  | { kind: "refused"; status: number; why: string };

export interface Listener {
  event(name: string, data: string): void;
  setLink(link: Link): void;
}

// Cuts a stream of bytes into events: lines up to an empty one.
export class EventReader {
  private rest = "";
  private readonly decoder = new TextDecoder();

  constructor(private readonly take: (name: string, data: string) => void) {}

  add(bytes: Uint8Array): void {
    this.rest += this.decoder.decode(bytes, { stream: true });
    for (let end = this.rest.indexOf("\n\n"); end >= 0; end = this.rest.indexOf("\n\n")) {
      this.event(this.rest.slice(0, end));
      this.rest = this.rest.slice(end + 2);
    }
  }

  private event(text: string): void {
    let name = "message";
    const data: string[] = [];
    for (const line of text.split("\n")) {
      if (line.startsWith("event: ")) name = line.slice(7);
      else if (line.startsWith("data: ")) data.push(line.slice(6));
    }
    if (data.length) this.take(name, data.join("\n"));
  }
}

class Refused extends Error {
  constructor(
    readonly status: number,
    why: string,
  ) {
    super(why);
  }
}

async function sentenceOf(reply: Response): Promise<string> {
  try {
    return String(((await reply.json()) as { error?: unknown }).error ?? reply.statusText);
  } catch {
    return reply.statusText;
  }
}

export class Stream {
  private pause = FIRST_PAUSE_MS;
  private lostSince = 0;
  private timer: number | undefined;
  private watchdog: number | undefined;
  private abort: AbortController | undefined;

  constructor(
    private readonly listener: Listener,
    private token: string | null,
  ) {}

  start(): void {
    void this.run();
  }

  setToken(token: string | null): void {
    this.token = token;
    this.retry();
  }

  // At once, whatever was going on.
  retry(): void {
    window.clearTimeout(this.timer);
    this.abort?.abort();
    this.pause = FIRST_PAUSE_MS;
    void this.run();
  }

  private async run(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    try {
      await this.read(abort);
      this.lose(abort, "the coordinator ended the stream");
    } catch (error) {
      if (error instanceof Refused && error.status < 500) {
        this.listener.setLink({ kind: "refused", status: error.status, why: error.message });
      } else {
        this.lose(
          abort,
          error instanceof Refused ? error.message : "the coordinator cannot be reached",
        );
      }
    }
  }

  private async read(abort: AbortController): Promise<void> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.token) headers["Authorization"] = `Bearer ${this.token}`;
    this.watch(abort);
    const reply = await fetch("api/events", { headers, signal: abort.signal, cache: "no-store" });
    if (!reply.ok || !reply.body) throw new Refused(reply.status, await sentenceOf(reply));
    const reader = reply.body.getReader();
    const events = new EventReader((name, data) => this.listener.event(name, data));
    this.pause = FIRST_PAUSE_MS;
    this.lostSince = 0;
    this.listener.setLink({ kind: "open" });
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      this.watch(abort);
      events.add(value);
    }
  }

  private watch(abort: AbortController): void {
    window.clearTimeout(this.watchdog);
    this.watchdog = window.setTimeout(() => abort.abort(), SILENCE_MS);
  }

  private lose(abort: AbortController, why: string): void {
    if (this.abort !== abort) return; // another one was begun meanwhile
    window.clearTimeout(this.watchdog);
    this.lostSince ||= Date.now();
    // Not all pages at the same moment.
    const pause = this.pause * (0.75 + Math.random() / 2);
    this.pause = Math.min(this.pause * 2, MAX_PAUSE_MS);
    this.listener.setLink({
      kind: "lost",
      since: this.lostSince,
      retryAt: Date.now() + pause,
      why,
    });
    this.timer = window.setTimeout(() => void this.run(), pause);
  }
}
