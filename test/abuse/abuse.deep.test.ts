// A customer beside each flood, at a router with default settings: every request is answered, no unread answer is kept for ever,
// and the memory of the process stays bounded. Times are printed beside those of a quiet run and never asserted.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@gr/testing";
import { afterEach, expect, test } from "@jest/globals";
import { quantile } from "../bench/load.ts";
import { call } from "../e2e/http.ts";
import type { Topology } from "../e2e/topology.ts";
import { DEAR_ANSWER, FLOODS, type Flood, type Victim } from "./floods.ts";
import { type LoopReport, probeEnvironment, readLoopReport } from "./loop-reports.ts";
import { unreadConnections } from "./process-cost.ts";
import { AbuseRing, namesAt } from "./ring.ts";
import { startDearUpstream, startPictureHost } from "./scripted-hosts.ts";

/** A run for figures has enough requests for a p99, and waits before it reads the memory. */
const FOR_FIGURES = process.env["ABUSE_FIGURES"] === "1";
const REQUESTS: Readonly<Record<Victim, number>> = FOR_FIGURES
  ? { chat: 400, picture: 150, "picture by URL": 150 }
  : { chat: 25, picture: 10, "picture by URL": 10 };
const AFTERWARDS_MS = FOR_FIGURES ? 10_000 : 0;
const PAUSE_MS = 50;
const MEGABYTE = 1e6;
const GIBIBYTE = 1024 ** 3;
const PATIENCE = { timeoutMs: 180_000 };

const VICTIMS: Readonly<Record<Victim, readonly [path: string, body: object]>> = {
  chat: [
    "/v1/compat/chat/completions",
    { model: "sandbox/chat", max_tokens: 5, messages: [{ role: "user", content: "a" }] },
  ],
  picture: ["/v1/compat/images/generations", { model: "sandbox/image", prompt: "a" }],
  "picture by URL": [
    "/v1/compat/images/edits",
    { model: "sandbox/image-edit", prompt: "a", image: "http://victim.abuse.example/a.png" },
  ],
};

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Experience {
  readonly statuses: readonly number[];
  readonly p50: number;
  readonly p99: number;
  readonly loop: LoopReport;
}

/** @returns the ring, and the folder of its reports */
async function startRing(topology: Topology, { ownUpstream }: Pick<Flood, "ownUpstream"> = {}) {
  const host = await startPictureHost();
  closing.push(() => host.close());
  const upstream =
    ownUpstream === true ? await startDearUpstream((body) => body.includes(DEAR_ANSWER)) : undefined;
  if (upstream !== undefined) closing.push(() => upstream.close());
  const folder = await mkdtemp(join(tmpdir(), "loop-reports-"));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  const [names, probe] = [namesAt(host.port), probeEnvironment(folder)];
  const NODE_OPTIONS = `${names.NODE_OPTIONS} ${probe.NODE_OPTIONS}`;
  const env = { ...upstream?.env, ...names, ...probe, NODE_OPTIONS };
  const ring = await AbuseRing.start({ env, sharedPostgres: true }, topology);
  closing.push(() => ring.stop());
  return { ring, folder };
}

/** A customer's requests, one after another, and how the loops of the router ran while they were answered. */
async function serveCustomer(ring: AbuseRing, victim: Victim, folder: string): Promise<Experience> {
  const [path, body] = VICTIMS[victim];
  const statuses: number[] = [];
  const times: number[] = [];
  const began = Date.now();
  for (let count = 0; count < REQUESTS[victim]; count += 1) {
    const from = performance.now();
    statuses.push((await call(ring.router, "POST", path, { key: ring.victim, body })).status);
    times.push(performance.now() - from);
    await pause(PAUSE_MS);
  }
  const loop = await readLoopReport(folder, began, Date.now());
  return { statuses, p50: quantile(times, 0.5), p99: quantile(times, 0.99), loop };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const cases = Object.entries(FLOODS).flatMap(([name, flood]) => {
  const topologies: readonly Topology[] = flood.alsoSplit === true ? ["all-in-one", "split"] : ["all-in-one"];
  return topologies.map((topology) => ({ name, topology, flood }));
});

test.each(cases)(
  "a customer gets every answer beside $name, $topology",
  async ({ name, topology, flood }) => {
    const { ring, folder } = await startRing(topology, flood);
    const { victim } = flood;
    await serveCustomer(ring, victim, folder);
    const quiet = await serveCustomer(ring, victim, folder);
    const end = await flood.start(ring);
    const began = performance.now();
    const newcomers: number[] = [];
    for (let count = 0; count < (flood.newcomers ?? 0); count += 1)
      newcomers.push(await ring.serveNewcomer());
    const attacked = await serveCustomer(ring, victim, folder);
    const answers = await end();
    const seconds = (performance.now() - began) / 1_000;
    const ended = Date.now();
    await pause(AFTERWARDS_MS);
    const after = await readLoopReport(folder, ended, Date.now());
    process.stdout.write(
      `${name}, ${topology}: ${JSON.stringify({ ...factsOf(victim, quiet, attacked, after), answers })}\n`,
    );
    expect(newcomers).toEqual(Array<number>(flood.newcomers ?? 0).fill(200));
    if (flood.mostAdmitted !== undefined) {
      const { 429: refused = 0, ...admitted } = answers;
      const sum = Object.values(admitted).reduce((all, one) => all + one, 0);
      expect(refused + sum).toBeGreaterThan(0);
      expect(sum).toBeLessThanOrEqual(flood.mostAdmitted(seconds + 1));
    }
    expect(attacked.statuses).toEqual(Array<number>(REQUESTS[victim]).fill(200));
    expect(attacked.loop.mostBytes).toBeLessThan(quiet.loop.mostBytes + GIBIBYTE);
  },
);

/** Pairs are the quiet and the attacked run. */
function factsOf(victim: Victim, quiet: Experience, attacked: Experience, after: LoopReport): object {
  const both = (of: (one: Experience) => number) =>
    [quiet, attacked].map((one) => Math.round(of(one) * 10) / 10);
  const ratio = (of: "p50" | "p99") => Math.round((attacked[of] / quiet[of]) * 10) / 10;
  const megabytes = (bytes: number) => Math.round(bytes / MEGABYTE);
  return {
    victim,
    "p50 ms": [...both(({ p50 }) => p50), ratio("p50")],
    "p99 ms": [...both(({ p99 }) => p99), ratio("p99")],
    "longest delay ms": both(({ loop }) => loop.delayMs),
    "longest turn ms": both(({ loop }) => loop.turnMs),
    "MB before, peak, after": [quiet.loop.lastBytes, attacked.loop.mostBytes, after.lastBytes].map(megabytes),
  };
}

test("the router closes the connections of readers who stop reading", async () => {
  const { ring, folder } = await startRing("all-in-one");
  // The first request of an unknown key counts for its address, whose share the readers use up.
  await serveCustomer(ring, "chat", folder);
  await FLOODS["120 unread readers of /docs/scalar.js"]?.start(ring);
  const served = await serveCustomer(ring, "chat", folder);
  expect(served.statuses).toEqual(Array<number>(REQUESTS.chat).fill(200));
  const port = Number(new URL(ring.router.baseUrl).port);
  await until(async () => (await unreadConnections(port)) === 0, PATIENCE);
});
