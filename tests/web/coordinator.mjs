// coordinator.mjs - starts the program under test, and workers for it by the fast path
// (docs/coordinator-protocol.md), which takes no library.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const METHODS = {
  register: 1,
  heartbeat: 2,
  deregister: 3,
  dataset: 4,
  shard: 5,
  checkpoint: 6,
  barrier: 8,
  configure: 12,
  consumed: 31,
  commit: 36,
};
const LAST = 1; // flag: the last frame of the call

// ---- messages: [number of the field, value], ... ----

function varint(n) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(n));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

export function message(fields) {
  const parts = [];
  for (const [number, value] of fields) {
    if (typeof value === "string" || Buffer.isBuffer(value)) {
      const data = Buffer.from(value);
      parts.push(varint((number << 3) | 2), varint(data.length), data);
    } else if (value) {
      parts.push(varint(number << 3), varint(value));
    }
  }
  return Buffer.concat(parts);
}

// ---- a connection ----

export class Client {
  constructor(port, token = "", job = "") {
    this.waiting = new Map();
    this.last = 0;
    this.rest = Buffer.alloc(0);
    this.socket = connect(port, "127.0.0.1");
    this.socket.on("data", (data) => this.take(data));
    this.socket.on("error", () => {});
    this.socket.write("ROARFR1\n");
    if (token) this.send(0xff00, 0, Buffer.from(`${token}\0${job}`));
  }

  send(method, call, data) {
    const head = Buffer.alloc(16);
    head.writeUInt32LE(data.length, 0);
    head.writeUInt16LE(method, 4);
    head.writeUInt32LE(call, 8);
    this.socket.write(Buffer.concat([head, data]));
  }

  take(data) {
    this.rest = Buffer.concat([this.rest, data]);
    while (this.rest.length >= 16 && this.rest.length >= 16 + this.rest.readUInt32LE(0)) {
      const end = 16 + this.rest.readUInt32LE(0);
      if (this.rest.readUInt16LE(6) & LAST) this.answer(this.rest.subarray(0, end));
      this.rest = this.rest.subarray(end);
    }
  }

  answer(frame) {
    const wait = this.waiting.get(frame.readUInt32LE(8));
    const status = frame.readUInt32LE(12);
    this.waiting.delete(frame.readUInt32LE(8));
    if (status) wait?.reject(new Error(`status ${status}: ${frame.subarray(16)}`));
    else wait?.resolve();
  }

  call(name, fields) {
    return new Promise((resolve, reject) => {
      this.waiting.set(++this.last, { resolve, reject });
      this.send(METHODS[name], this.last, message(fields));
    });
  }

  register(id, { job = "default", host = "node", gpus = 0 } = {}) {
    return this.call("register", [
      [1, id],
      [2, host],
      [4, gpus],
      [100, job],
    ]);
  }

  heartbeat(id, { job = "default", step = 0, task = "", memory = 0 } = {}) {
    const training = [1, 4];
    const status = message([training, [2, step], [4, task]]);
    const resources = message([[2, memory]]);
    const said = memory ? [[4, resources]] : [];
    return this.call("heartbeat", [[1, id], [3, status], ...said, [100, job]]);
  }

  // Ends when all have come.
  arrive(id, barrier, { job = "default", generation = 1 } = {}) {
    return this.call("barrier", [
      [1, id],
      [2, barrier],
      [100, job],
      [101, generation],
    ]);
  }

  dataset(id, { job = "default", path = "", format = "raw", samples, shard }) {
    return this.call("dataset", [
      [1, id],
      [2, path],
      [3, format],
      [4, samples],
      [5, shard],
      [6, 1],
      [100, job],
    ]);
  }

  shard(dataset, worker, { job = "default" } = {}) {
    return this.call("shard", [
      [1, worker],
      [2, dataset],
      [100, job],
    ]);
  }

  consumed(dataset, worker, first, end, { job = "default" } = {}) {
    const range = message([
      [1, first],
      [2, end],
    ]);
    return this.call("consumed", [
      [1, job],
      [2, worker],
      [4, dataset],
      [6, range],
    ]);
  }

  checkpoint(id, worker, { job = "default", step, size }) {
    return this.call("checkpoint", [
      [1, worker],
      [2, id],
      [3, step],
      [5, `/ckpt/${id}`],
      [6, size],
      [7, Date.now()],
      [100, job],
    ]);
  }

  // The worker cannot save its part of this step.
  failed(id, worker, { job = "default", step, why }) {
    const info = message([
      [1, worker],
      [2, id],
      [3, step],
      [100, job],
    ]);
    return this.call("commit", [
      [1, info],
      [7, why],
    ]);
  }

  configure({ job = "default", interval, timeout, min = 0 }) {
    return this.call("configure", [
      [1, job],
      [2, min],
      [4, interval],
      [5, timeout],
    ]);
  }

  close() {
    this.socket.destroy();
  }
}

// ---- the program ----

// However a test ends, also by the clock of who runs it, nothing is left behind.
const running = new Set();
process.on("SIGTERM", () => process.exit(1));
process.on("exit", () => {
  for (const server of running) server.leave();
});

export class Coordinator {
  static async start(options = {}) {
    const server = new Coordinator();
    running.add(server);
    server.folder = mkdtempSync(join(tmpdir(), "roar-web-"));
    server.options = ["--data-dir", join(server.folder, "data")];
    if (options.tokens) {
      const path = join(server.folder, "tokens");
      writeFileSync(path, options.tokens, { mode: 0o600 });
      server.options.push("--tokens", path);
    }
    await server.begin("127.0.0.1:0", "127.0.0.1:0");
    return server;
  }

  async begin(listen, http) {
    this.process = spawn(
      process.env.COORDINATOR_PROGRAM,
      [...this.options, "--listen", listen, "--http", http],
      { stdio: ["ignore", "pipe", "ignore"] },
    );
    this.ended = new Promise((resolve) => {
      this.process.once("exit", resolve);
    });
    const lines = createInterface(this.process.stdout);
    const line = await Promise.race([
      new Promise((resolve) => {
        lines.once("line", resolve);
      }),
      this.ended.then((status) => {
        throw new Error(`the coordinator ended with ${status}`);
      }),
    ]);
    const words = line.split(" ");
    this.port = Number(words[1].split(":")[1]);
    this.http = words[2];
    this.clients = [];
    this.workers = [];
  }

  client(token, job) {
    const client = new Client(this.port, token, job);
    this.clients.push(client);
    return client;
  }

  // A process that is a worker and sends heartbeats.
  worker(id) {
    const script = fileURLToPath(new URL("worker.mjs", import.meta.url));
    const worker = spawn(process.execPath, [script, String(this.port), id], { stdio: "ignore" });
    this.workers.push(worker);
    return worker;
  }

  kill() {
    this.process.kill("SIGKILL");
    return this.ended;
  }

  // After kill(), where it was.
  restart() {
    return this.begin(`127.0.0.1:${this.port}`, this.http.replace("http://", ""));
  }

  leave() {
    for (const worker of this.workers ?? []) worker.kill("SIGKILL");
    this.process?.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }

  async close() {
    for (const client of this.clients) client.close();
    for (const worker of this.workers) worker.kill("SIGKILL");
    this.process.kill("SIGTERM");
    await this.ended;
    rmSync(this.folder, { recursive: true, force: true });
    running.delete(this);
  }
}
