// worker.mjs PORT ID - a worker that does nothing but live.

import { Client } from "./coordinator.mjs";

const [port, id] = process.argv.slice(2);
const client = new Client(Number(port));

await client.register(id);
setInterval(() => client.heartbeat(id).catch(() => {}), 100);
