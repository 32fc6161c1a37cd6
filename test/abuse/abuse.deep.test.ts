// A customer beside each attacker, at a router with default settings, gets every answer. Unread answers are dropped in
// time, and the memory of the process stays bounded. Times are printed beside those of a quiet run and never asserted.
import { readFile } from "node:fs/promises";
import { freePort, until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { quantile } from "../bench/load.ts";
import { call } from "../e2e/http.ts";
import * as attacks from "./attacks.ts";
import { residentBytes, unreadConnections } from "./process-cost.ts";
import { AbuseRing } from "./ring.ts";

const CHATS = 100;
const PAUSE_MS = 50;
const PICTURES = 16;
const READERS = 120;
const LARGE_CHATS = 24;
const MOST_IDLE = 20_000;
const DESCRIPTORS_LEFT = 2_000;
const GIBIBYTE = 1024 ** 3;
const PATIENCE = { timeoutMs: 180_000 };

let ring: AbuseRing;
let internalPort: number;
beforeEach(async () => {
  internalPort = await freePort();
  ring = await AbuseRing.start({ env: { SERVICE_HTTP_PORT: String(internalPort) } });
});
afterEach(() => ring?.stop());

interface Experience {
  readonly statuses: readonly number[];
  readonly p99: number;
  readonly longestDelay: number;
  readonly resident: number;
}

/** Sends a customer's chats one after another. Returns the event loop's longest delay meanwhile. */
async function serveCustomer(): Promise<Experience> {
  const statuses: number[] = [];
  const times: number[] = [];
  await longestDelay();
  for (let count = 0; count < CHATS; count += 1) {
    const from = performance.now();
    const body = { model: "sandbox/chat", max_tokens: 5, messages: [{ role: "user", content: "a" }] };
    const { status } = await call(ring.router, "POST", "/v1/compat/chat/completions", {
      key: ring.victim,
      body,
    });
    statuses.push(status);
    times.push(performance.now() - from);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  const [delay, resident] = [await longestDelay(), await residentBytes(ring.router.pid)];
  return { statuses, p99: quantile(times, 0.99), longestDelay: delay, resident };
}

/** Milliseconds since the last call. */
async function longestDelay(): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${internalPort}/metrics`)).text();
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(metrics)?.[1]) * 1000;
}

/** Repeats the attack until the returned function is called. */
function keepUp(attack: () => Promise<unknown>, perSecond: number): () => Promise<void> {
  const running = new Set<Promise<unknown>>();
  const timer = setInterval(() => {
    if (running.size >= perSecond * 2) return;
    const one = attack().finally(() => running.delete(one));
    running.add(one);
  }, 1000 / perSecond);
  return async () => {
    clearInterval(timer);
    await Promise.all(running);
  };
}

const idle = async () => {
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const descriptors = Number(/Max open files\s+(\d+)/.exec(limits)?.[1] ?? DESCRIPTORS_LEFT * 2);
  await ring.idle(Math.min(MOST_IDLE, Math.max(0, descriptors - DESCRIPTORS_LEFT)));
};

const floods: Readonly<Record<string, () => Promise<() => Promise<void>>>> = {
  "quotes with padding of base64": async () => {
    const target = ring.find("post /v1/quote/images/generations");
    const image = attacks.TEXTS["padding of base64"];
    const body = JSON.stringify({ ...target.body, image });
    return keepUp(() => ring.attack("hopeless", target, { body }), 2);
  },
  "quotes with many pixels": async () => {
    const target = ring.find("post /v1/quote/images/generations");
    const image = Array<string>(PICTURES).fill(await attacks.manyPixels());
    const body = JSON.stringify({ ...target.body, image });
    return keepUp(() => ring.attack("hopeless", target, { body }), 10);
  },
  "spaces in If-None-Match": async () => {
    const target = ring.find("get /media/{name}");
    const headers = { "if-none-match": attacks.HEADER_VALUES["spaces within"] ?? "" };
    return keepUp(() => ring.attack("nobody", target, { headers }), 40);
  },
  "24 chats of 19 MB": async () => {
    const target = ring.find("post /v1/compat/chat/completions");
    const messages = [{ role: "user", content: attacks.harmlessText(19_000_000) }];
    const body = JSON.stringify({ ...target.body, messages });
    const sent = Array.from({ length: LARGE_CHATS }, () => ring.attack("paying", target, { body }));
    return async () => void (await Promise.all(sent));
  },
  "idle connections": async () => {
    await idle();
    return async () => ring.leave();
  },
};

test.each(Object.entries(floods))("a customer gets every answer beside %s", async (name, start) => {
  const quiet = await serveCustomer();
  const end = await start();
  const attacked = await serveCustomer();
  await end();
  const ratio = (of: keyof Experience) => Number(attacked[of]) / Number(quiet[of]);
  const facts = {
    "p99 ms": [Math.round(quiet.p99), Math.round(attacked.p99), ratio("p99").toFixed(1)],
    "longest delay ms": [Math.round(quiet.longestDelay), Math.round(attacked.longestDelay)],
    "resident MB": [quiet.resident, attacked.resident].map((bytes) => Math.round(bytes / 1e6)),
  };
  process.stdout.write(`${name}: ${JSON.stringify(facts)}\n`);
  expect(attacked.statuses).toEqual(Array<number>(CHATS).fill(200));
  expect(attacked.resident).toBeLessThan(quiet.resident + GIBIBYTE);
});

test("the router closes the connections of readers who stop reading", async () => {
  const target = ring.find("get /docs/scalar.js");
  for (let count = 0; count < READERS; count += 1) {
    await ring.hold("nobody", target);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  const served = await serveCustomer();
  expect(served.statuses).toEqual(Array<number>(CHATS).fill(200));
  const port = Number(new URL(ring.router.baseUrl).port);
  await until(async () => (await unreadConnections(port)) === 0, PATIENCE);
});
