// test_page.mjs - the dashboard in a real browser: Chromium without a window.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { Coordinator } from "./coordinator.mjs";

const PATIENCE_MS = 60_000; // until something is taken for broken
const HOSTILE = `<img src=x onerror="window.hacked=1">"'</script>`;

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

if (!process.env.CHROMIUM) skip("there is no chromium");
if (!existsSync(`${process.env.WEB_WORK}/node_modules/playwright-core`))
  skip("the page was not built: npm could not be reached");
const { chromium } = createRequire(`${process.env.WEB_WORK}/`)("playwright-core");

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    // A container has no namespaces of its own to give, and little shared memory.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
    timeout: PATIENCE_MS,
  });
});
after(() => browser?.close());

// A page of its own on a coordinator of its own.  Whatever the browser complains about
// fails the test: a broken policy shows only there.
async function withPage(options, body) {
  const server = await Coordinator.start(options);
  const context = await browser.newContext({
    viewport: { width: 1440, height: 1000 },
    ...options.context,
  });
  const page = await context.newPage();
  const complaints = [];
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (line) => {
    if (line.type() === "error" && !options.expected?.test(line.text()))
      complaints.push(line.text());
  });
  try {
    await page.goto(server.http);
    await body(page, server);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
    await server.close();
  }
}

const row = (page, id) => page.locator(".rows .row", { has: page.getByText(id, { exact: true }) });

// Heartbeats until the returned function is called.
function keepAlive(client, ids, options = {}) {
  const timer = setInterval(
    () => ids.forEach((id) => client.heartbeat(id, options).catch(() => {})),
    100,
  );
  return () => clearInterval(timer);
}

test("an empty coordinator says so", () =>
  withPage({}, async (page) => {
    await page.getByText("No worker has registered").waitFor();
    for (const text of ["No worker is waiting", "No dataset is registered", "No checkpoint yet"])
      assert.equal((await page.getByText(text, { exact: true }).count()) > 0, true, text);
  }));

test("what happens is on the page without a reload", () =>
  withPage({}, async (page, server) => {
    const client = server.client();
    await page.getByText("No worker has registered").waitFor();
    await client.register("w0", { host: "machine-a", gpus: 8 });
    await client.register("w1");
    await row(page, "w0").waitFor();
    await client.heartbeat("w0", { step: 1234, task: "warming up", memory: 12_000_000_000 });
    await row(page, "w0").getByText("1,234").waitFor();
    await row(page, "w0").getByText("warming up").waitFor();
    await row(page, "w0").click();
    await page.locator(".details").getByText("12.0 GB").waitFor();
    await page.getByRole("button", { name: "Close" }).press("Escape");
    await page.locator(".details").waitFor({ state: "detached" });
    assert.equal(await row(page, "w1").locator(".w-step").textContent(), "–"); // it has not said
    await client.heartbeat("w1", { step: 0 });
    await row(page, "w1").locator(".lag", { hasText: "1,234" }).waitFor();

    const waits = client.arrive("w0", "epoch-end");
    await page.locator("#barriers .item", { hasText: "epoch-end" }).getByText("1 of 2").waitFor();
    await page.locator("#barriers .missing", { hasText: "w1" }).waitFor();
    await client.arrive("w1", "epoch-end");
    await waits;
    await page.locator("#barriers").getByText("No worker is waiting").waitFor();

    await client.dataset("pile", { samples: 1000, shard: 100 });
    const pile = page.locator("#datasets .item", { hasText: "pile" });
    await pile.getByText("not assigned yet").waitFor();
    await client.shard("pile", "w0");
    await pile.getByText("5 per worker").waitFor();
    await pile.getByText("none", { exact: true }).waitFor();
    await pile.getByText("No worker has reported what it read.").waitFor();
    await client.consumed("pile", "w0", 100, 500);
    await pile.getByText("400 of 1,000").waitFor();
    await row(page, "w0").locator(".w-shards", { hasText: "5" }).waitFor();
    await client.checkpoint("c0", "w0", { step: 1200, size: 2_000_000 });
    await page
      .locator("#checkpoints .item", { hasText: "step 1,200" })
      .getByText("1 of 2")
      .waitFor();
    await client.checkpoint("c1", "w1", { step: 1200, size: 3_000_000 });
    await page.locator("#checkpoints .item").getByText("✓ complete").waitFor();
    await page.locator("#checkpoints .item").getByText("5.00 MB in 2 parts").waitFor();
    await client.failed("s2", "w0", { step: 1300, why: "the disk is full" });
    const lost = page.locator("#checkpoints .item", { hasText: "step 1,300" });
    await lost.getByText("✗ failed").waitFor();
    await lost.getByText("the disk is full").waitFor();
    await page.getByText("step 1,300 failed").waitFor();
    await page.locator("#events").getByText("worker 'w1' joined as rank 1").waitFor();

    await client.call("deregister", [
      [1, "w1"],
      [100, "default"],
    ]);
    await row(page, "w1").waitFor({ state: "detached" });
    await pile.getByText("moved 5, the minimum").waitFor();
    await page
      .locator(".chart", { hasText: "Requests" })
      .locator("path.line")
      .first()
      .waitFor({ state: "attached" });
  }));

// Silence alone would take longer than anybody waits here.
test("a worker whose connection ends turns red at once", () =>
  withPage({}, async (page, server) => {
    const client = server.client();
    await client.configure({ interval: 300, timeout: 10 * PATIENCE_MS });
    await client.register("stays");
    const stop = keepAlive(client, ["stays"]);
    const dying = server.client();
    await dying.register("dies");
    await row(page, "dies").locator(".state.alive").waitFor();
    dying.close();
    await row(page, "dies").locator(".state.dead").waitFor();
    assert.match(await row(page, "dies").getAttribute("class"), /\bdead\b/);
    await page.locator(".tile", { hasText: "Workers alive" }).getByText("1 dead").waitFor();
    await page.locator("#events .warn", { hasText: "dies" }).first().waitFor();
    await page.waitForFunction(() => document.title === "1 dead worker · roar coordinator");
    await row(page, "stays").locator(".state.alive").waitFor();
    stop();
  }));

// Stopped in the middle of everything: its connection is as it was, and nothing comes.
test("a worker that falls silent turns red within its timeout", () =>
  withPage({}, async (page, server) => {
    const client = server.client();
    await client.configure({ interval: 200, timeout: 2000 });
    await client.register("stays");
    const stop = keepAlive(client, ["stays"]);
    const silent = server.worker("silent");
    await row(page, "silent").locator(".state.alive").waitFor();
    silent.kill("SIGSTOP");
    await row(page, "silent").locator(".state.suspect").waitFor();
    await row(page, "silent").locator(".state.dead").waitFor();
    await row(page, "stays").locator(".state.alive").waitFor();
    await page.locator("#events .warn", { hasText: "is dead: it is silent" }).first().waitFor();
    stop();
  }));

test("a thousand workers stay usable", () =>
  withPage({}, async (page, server) => {
    const client = server.client();
    const ids = Array.from({ length: 1000 }, (_, i) => `node-${String(i).padStart(4, "0")}`);
    await Promise.all(ids.map((id) => client.register(id, { host: `rack-${id.slice(5, 7)}` })));
    await Promise.all(ids.map((id, i) => client.heartbeat(id, { step: 500 + (i % 7) })));
    const grid = page.getByRole("grid", { name: "Workers" });
    await page.locator('[role="grid"][aria-rowcount="1001"]').waitFor();
    assert.ok(
      (await page.locator(".rows .row").count()) < 60,
      "only rows in sight are in the document",
    );

    // By keys alone, to the last of them.
    await grid.focus();
    await page.keyboard.press("End");
    await row(page, "node-0999").waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".details", { hasText: "node-0999" }).waitFor();

    await page.getByRole("columnheader", { name: "Behind" }).getByRole("button").click();
    await page.getByRole("columnheader", { name: "Behind" }).getByRole("button").click();
    await grid.focus();
    await page.keyboard.press("Home");
    await page.locator(".rows .row .lag").first().waitFor();

    await page.getByLabel("Find workers").fill("rack-07");
    await page.getByText("100 of 1,000 workers").waitFor();

    // A thousand lines of the log are no longer page, and a telephone shows all figures.
    const height = () => document.documentElement.scrollHeight - document.body.offsetHeight;
    assert.ok((await page.evaluate(height)) <= 1, "the page ends with what is on it");
    await page.setViewportSize({ width: 400, height: 800 });
    assert.deepEqual(
      await page
        .locator(".tile-value")
        .evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth).length),
      0,
    );
  }));

test("hostile names are only names", () =>
  withPage({}, async (page, server) => {
    const client = server.client();
    await client.register("w0", { host: HOSTILE });
    await client.register("w1");
    await client.heartbeat("w0", { task: HOSTILE });
    await client.dataset("d", { path: HOSTILE, format: "<b>bold</b>", samples: 10, shard: 1 });
    await client.checkpoint(HOSTILE, "w0", { step: 1, size: 1 });
    client.arrive("w0", "long/".repeat(20)).catch(() => {}); // ends with the connection
    await page.locator("#barriers .item", { hasText: "long/long" }).waitFor();
    await row(page, "w0").locator(".w-task", { hasText: HOSTILE }).waitFor();
    await page.locator("#datasets", { hasText: "<b>bold</b>" }).waitFor();
    await row(page, "w0").click();
    await page.locator(".details", { hasText: HOSTILE }).waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
      "nothing is wider than the window",
    );
    assert.equal(await page.locator("img").count(), 0);
  }));

test("characters that turn text around are shown as what they are", () =>
  withPage({}, async (page, server) => {
    const client = server.client();
    await client.register("w0", { host: "a\u202eb" });
    await client.heartbeat("w0", { task: "safe\u202egnp.exe\u2066" });
    await row(page, "w0")
      .locator(".w-task", { hasText: "safe\\u202egnp.exe\\u2066" })
      .waitFor();
    assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(await page.locator("body").innerText()));
  }));

test("a worker that is opened is in sight", () =>
  withPage({ context: { viewport: { width: 1280, height: 620 } } }, async (page, server) => {
    const client = server.client();
    const ids = Array.from({ length: 40 }, (_, i) => `node-${i}`);
    await Promise.all(ids.map((id) => client.register(id)));
    await page.locator('[role="grid"][aria-rowcount="41"]').waitFor();
    await page.locator(".rows .row").nth(2).click();
    await page.locator(".details").waitFor();
    const inSight = () => {
      const box = document.querySelector(".details").getBoundingClientRect();
      return box.top >= 0 && box.top + Math.min(box.height, 200) <= window.innerHeight;
    };
    await page.waitForFunction(inSight, null, { timeout: 5000 });
  }));

const ground = (page) =>
  page.evaluate(() => {
    const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
    return r + g + b > 380 ? "light" : "dark";
  });

test("dark and light follow the system, or the switch", () =>
  withPage({}, async (page) => {
    const button = page.getByRole("button", { name: /^Colours/ });
    await button.waitFor();
    await page.emulateMedia({ colorScheme: "dark" });
    assert.equal(await ground(page), "dark");
    await page.emulateMedia({ colorScheme: "light" });
    assert.equal(await ground(page), "light");
    await button.click();
    await button.click();
    assert.equal(await ground(page), "dark");
    await page.reload();
    await button.waitFor();
    assert.equal(await ground(page), "dark");
  }));

// The browser says itself that the server is gone.
test("a lost connection is said, and comes back by itself", () =>
  withPage({ expected: /ERR_/ }, async (page, server) => {
    await server.client().register("w0");
    await row(page, "w0").waitFor();
    await server.kill();
    await page.getByRole("alert").getByText("Connection lost.").waitFor();
    await row(page, "w0").waitFor(); // what was known stays in sight
    await server.restart();
    await page.getByRole("alert").waitFor({ state: "detached" });
    await row(page, "w0").waitFor();
  }));

test("a token is asked for, and shows its job alone", () =>
  withPage(
    { tokens: "a secret-of-a\nb secret-of-b\n* administrator\n", expected: /401/ },
    async (page, server) => {
      await server.client("secret-of-a", "a").register("one", { job: "a" });
      await server.client("secret-of-b", "b").register("two", { job: "b" });
      await page.getByLabel("Token").fill("nonsense");
      await page.getByRole("button", { name: "Show the coordinator" }).click();
      await page.getByRole("alert").waitFor();
      await page.getByLabel("Token").fill("secret-of-a");
      await page.keyboard.press("Enter");
      await row(page, "one").waitFor();
      assert.equal(await row(page, "two").count(), 0);
      await page.getByText("require the administrator's token").waitFor();
      // For this tab: another load knows it, the address does not have it.
      await page.reload();
      await row(page, "one").waitFor();
      assert.ok(!page.url().includes("secret"));
      await page.getByRole("button", { name: "Forget token" }).click();
      await page.getByLabel("Token").fill("administrator");
      await page.keyboard.press("Enter");
      await row(page, "two").waitFor();
      await row(page, "one").waitFor();
    },
  ));
