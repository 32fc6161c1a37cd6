// `npm run bench` measures the cost of a request with all functions on, in one process and in one for each service.
// Beside it run two bare proxies and a foreign gateway, and images, in one run on one machine. Figures are medians of
// rounds; compare within a run only. `npm run bench -- text`, `-- images` and `-- money` are its parts. `-- router`
// and `-- profile` run only if they are named: the router alone, and the sources of a request's processor time.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startPostgres } from "@gr/embedded";
import { startSimulator } from "@gr/simulator";
import { freePort } from "@gr/testing";
import { compareImages, startPictureProvider } from "./images.ts";
import { closedLoop, firstBytes, openLoop, type Target } from "./load.ts";
import {
  canPin,
  cpuMicrosUnder,
  LOAD_CORE,
  onCore,
  pin,
  ROUTER_CORE,
  residentMegabytes,
} from "./processes.ts";
import { profileRequests } from "./profile.ts";
import { medians, type Row, table } from "./table.ts";
import { PORTKEY_NAME, portkeyHeaders, startPortkey } from "./targets/portkey.ts";
import { type Contestant, chatBody, endChild, startRouterPinned, type Upstreams } from "./targets/router.ts";

const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);
const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 3);
const CONNECTIONS = [1, 10, 64];
const OPEN_RATE = 500;
/** All parts, unless one is named. */
const PARTS = process.argv.length > 2 ? process.argv.slice(2) : ["text", "images", "money"];

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));
async function main(): Promise<void> {
  const closers: (() => Promise<unknown>)[] = [];
  try {
    pin(process.pid, LOAD_CORE);
    const simulator = await startSimulator({ host: "127.0.0.1", port: 0, tokenDelayMs: 0 });
    closers.push(() => simulator.close());
    const dataDir = await mkdtemp(join(tmpdir(), "generation-router-bench-"));
    closers.push(() => rm(dataDir, { recursive: true, force: true }));
    const postgres = await startPostgres({ dataDir: join(dataDir, "postgres"), durable: true });
    closers.push(() => postgres.stop());
    pin(postgres.pid, `${ROUTER_CORE},${LOAD_CORE}`);

    process.stdout.write(
      `Node ${process.version}, ${ROUNDS} rounds of ${SECONDS} s, ` +
        `${canPin() ? "router on core 0, upstream and load on core 1" : "processes not pinned (no taskset)"}\n\n`,
    );
    const upstream = { simulatorUrl: simulator.url, databaseUrl: postgres.url, dataDir };
    if (PARTS.includes("router")) await measureRouter(upstream);
    if (PARTS.includes("text")) await compareText(upstream);
    if (PARTS.includes("images")) await measureImages(upstream);
    if (PARTS.includes("profile")) await profileText(upstream);
  } finally {
    for (const close of closers.toReversed()) await close();
  }
}

async function compareText(upstream: Upstreams): Promise<void> {
  const { dataDir, simulatorUrl } = upstream;
  const closers: (() => Promise<unknown>)[] = [];
  try {
    const router = await startRouterPinned("generation router, everything on", upstream);
    closers.push(() => endChild(router.child));
    const idle = residentMegabytes(router.contestant.pid);
    const split = await startRouterPinned("the same, a process a service", {
      ...upstream,
      dataDir: join(dataDir, "split"),
      launcher: "split.ts",
    });
    closers.push(() => endChild(split.child));
    const receiver = await startReceiver();
    closers.push(() => receiver.close());
    const traced = await startRouterPinned(
      "the same, traces at 1 %",
      { ...upstream, dataDir: join(dataDir, "traced") },
      { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, TRACE_SAMPLE_RATIO: "0.01" },
    );
    closers.push(() => endChild(traced.child));
    const undici = await startYardstick("undici", simulatorUrl);
    closers.push(() => endChild(undici.child));
    const fastifyProxy = await startYardstick("fastify", simulatorUrl);
    closers.push(() => endChild(fastifyProxy.child));
    const portkey = await startPortkey(ROUTER_CORE);
    closers.push(() => endChild(portkey.child));
    const { target } = undici.contestant;
    const contestants: readonly Contestant[] = [
      router.contestant,
      split.contestant,
      traced.contestant,
      undici.contestant,
      fastifyProxy.contestant,
      {
        name: PORTKEY_NAME,
        pid: portkey.child.pid ?? 0,
        target: {
          ...target,
          origin: portkey.origin,
          path: "/v1/chat/completions",
          headers: { ...target.headers, ...portkeyHeaders(`${simulatorUrl}/openrouter/api/v1`) },
        },
      },
    ];

    for (const contestant of contestants) await closedLoop(contestant.target, 32, 2);
    for (const connections of CONNECTIONS) {
      process.stdout.write(await compareClosed(contestants, connections));
    }
    const direct = { ...target, origin: simulatorUrl };
    process.stdout.write(await compareOpen(contestants, direct));
    process.stdout.write(await compareStreams(contestants, direct));
    process.stdout.write(await listModels(router.contestant));
    process.stdout.write(`idle memory of the router: ${idle.toFixed(0)} MB\n\n`);
  } finally {
    for (const close of closers.toReversed()) await close();
  }
}

/** The router alone: nothing must be installed. */
async function measureRouter(upstream: Upstreams): Promise<void> {
  const { child, contestant } = await startRouterPinned("generation router, everything on", upstream);
  try {
    await closedLoop(contestant.target, 32, 2);
    for (const connections of CONNECTIONS)
      process.stdout.write(await compareClosed([contestant], connections));
  } finally {
    await endChild(child);
  }
}

async function measureImages(upstream: Upstreams): Promise<void> {
  const provider = await startPictureProvider();
  try {
    const { child, contestant } = await startRouterPinned(
      "images",
      { ...upstream, dataDir: join(upstream.dataDir, "images") },
      { OPENAI_BASE_URL: provider.url },
    );
    try {
      const { pid, target } = contestant;
      process.stdout.write(
        await compareImages({ pid, target, provider, rounds: ROUNDS, seconds: 2 * SECONDS }),
      );
    } finally {
      await endChild(child);
    }
  } finally {
    await provider.close();
  }
}

async function profileText(upstream: Upstreams): Promise<void> {
  const router = await startRouterPinned("profiled", { ...upstream, nodeOptions: ["--inspect=127.0.0.1:0"] });
  try {
    const { pid, target } = router.contestant;
    await closedLoop(target, 32, 4);
    for (const connections of CONNECTIONS) {
      const profiled = { pid, target, inspector: router.inspector };
      process.stdout.write(await profileRequests(profiled, connections, 2 * SECONDS));
    }
  } finally {
    await endChild(router.child);
  }
}

/** Accepts spans and drops them. */
async function startReceiver() {
  const server = createServer((request, response) => {
    request.resume().once("end", () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, close };
}

async function startYardstick(kind: "undici" | "fastify", upstream: string) {
  const port = await freePort();
  const [command, args] = onCore(ROUTER_CORE, process.execPath, [
    source("./targets/yardstick.ts"),
    kind,
    upstream,
    String(port),
  ]);
  const child = spawn(command, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  await new Promise((resolve) => child.once("message", resolve));
  const target = {
    origin: `http://127.0.0.1:${port}`,
    path: "/openrouter/api/v1/chat/completions",
    headers: { authorization: "Bearer sandbox", "content-type": "application/json" },
    body: chatBody,
  };
  const name = kind === "undici" ? "bare undici proxy" : "@fastify/http-proxy";
  return { child, contestant: { name, pid: child.pid ?? 0, target } };
}

/** Interleaves rounds, so that a noisy minute hits every contestant alike. */
async function compareClosed(contestants: readonly Contestant[], connections: number): Promise<string> {
  const rounds = new Map(contestants.map(({ name }) => [name, [] as Row["values"][]]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { name, pid, target } of contestants) {
      const before = cpuMicrosUnder(pid);
      const result = await closedLoop(target, connections, SECONDS);
      const micros = (cpuMicrosUnder(pid) - before) / result.requests;
      rounds.get(name)?.push([micros, result.perSecond, result.p50, result.p99, result.failures]);
    }
  }
  const rows = contestants.map(({ name }) => ({ name, values: medians(rounds.get(name) ?? []) }));
  const columns = ["CPU µs/req", "req/s", "p50 ms", "p99 ms", "failed"];
  return table(`chat, not streamed, closed loop, ${connections} connections`, columns, rows);
}

async function compareOpen(contestants: readonly Contestant[], direct: Target): Promise<string> {
  const targets = [{ name: "upstream itself", target: direct }, ...contestants];
  const rows: Row[] = [];
  for (const { name, target } of targets) {
    const result = await openLoop(target, OPEN_RATE, SECONDS);
    rows.push({ name, values: [result.p50, result.p99, result.failures] });
  }
  return table(`chat, not streamed, open loop at ${OPEN_RATE} req/s`, ["p50 ms", "p99 ms", "failed"], rows);
}

async function compareStreams(contestants: readonly Contestant[], direct: Target): Promise<string> {
  const body = JSON.stringify({ ...JSON.parse(chatBody), stream: true });
  const rows: Row[] = [];
  for (const { name, target } of [{ name: "upstream itself", target: direct }, ...contestants]) {
    rows.push({ name, values: [await firstBytes({ ...target, body }, 200)] });
  }
  return table("time to the first byte of a stream, one at a time", ["p50 ms"], rows);
}

async function listModels(router: Contestant): Promise<string> {
  const { origin } = router.target;
  const target = { origin, path: "/v1/models?type=image&sort=price", headers: {} };
  const before = cpuMicrosUnder(router.pid);
  const result = await closedLoop(target, 32, SECONDS);
  const micros = (cpuMicrosUnder(router.pid) - before) / result.requests;
  return table(
    "GET /v1/models",
    ["CPU µs/req", "req/s"],
    [{ name: router.name, values: [micros, result.perSecond] }],
  );
}

/** Measures the ledger alone: place+capture pairs a second, for many accounts and for one hot one. */
async function ledger(): Promise<void> {
  process.stdout.write("\nmoney alone: pairs of place and capture, both cores\n");
  const script = source("../../services/billing/bench/post.ts");
  const both = `${ROUTER_CORE},${LOAD_CORE}`;
  const [command, args] = onCore(both, process.execPath, [script, String(SECONDS)]);
  const child = spawn(command, args, { stdio: "inherit" });
  const code = await new Promise((resolve) => child.once("exit", resolve));
  if (code !== 0) throw new Error(`the ledger's bench ended with exit code ${code}`);
}

if (PARTS.some((part) => part !== "money")) await main();
if (PARTS.includes("money")) await ledger();
