// `npm run bench`: what a request costs us with everything switched on, beside two proxies that do nothing but
// proxy, in one run on one machine. Figures are medians of interleaved rounds; compare within a run only.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sandboxEnvironment } from "@gr/all-in-one";
import { startPostgres } from "@gr/embedded";
import { BillingService } from "@gr/proto/billing";
import { createRemoteTransport, createServiceClient, systemClock } from "@gr/runtime";
import { startSimulator } from "@gr/simulator";
import { freePort } from "@gr/testing";
import { closedLoop, firstBytes, openLoop, quantile, type Target } from "./load.ts";
import { canPin, cpuMicros, LOAD_CORE, onCore, pin, ROUTER_CORE, residentMegabytes } from "./processes.ts";

const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);
const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 3);
const CONNECTIONS = [1, 10, 64];
const OPEN_RATE = 500;

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const chatBody = JSON.stringify({
  model: "sandbox/chat",
  max_tokens: 64,
  messages: [{ role: "user", content: "Tell me about lighthouses. #tokens=32" }],
});

interface Contestant {
  readonly name: string;
  readonly pid: number;
  readonly target: Target;
}

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

    const upstream = { simulatorUrl: simulator.url, databaseUrl: postgres.url };
    const router = await startRouterPinned("generation router, everything on", { ...upstream, dataDir });
    closers.push(() => endChild(router.child));
    const idle = residentMegabytes(router.contestant.pid);
    const receiver = await startReceiver();
    closers.push(() => receiver.close());
    const traced = await startRouterPinned(
      "the same, traces at 1 %",
      { ...upstream, dataDir: join(dataDir, "traced") },
      { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, TRACE_SAMPLE_RATIO: "0.01" },
    );
    closers.push(() => endChild(traced.child));
    const undici = await startYardstick("undici", simulator.url);
    closers.push(() => endChild(undici.child));
    const fastifyProxy = await startYardstick("fastify", simulator.url);
    closers.push(() => endChild(fastifyProxy.child));
    const contestants = [router.contestant, traced.contestant, undici.contestant, fastifyProxy.contestant];

    process.stdout.write(
      `Node ${process.version}, ${ROUNDS} rounds of ${SECONDS} s, ` +
        `${canPin() ? "router on core 0, upstream and load on core 1" : "processes not pinned (no taskset)"}\n\n`,
    );
    for (const contestant of contestants) await closedLoop(contestant.target, 32, 2);
    for (const connections of CONNECTIONS) {
      process.stdout.write(await compareClosed(contestants, connections));
    }
    process.stdout.write(
      await compareOpen(contestants, { ...undici.contestant.target, origin: simulator.url }),
    );
    process.stdout.write(await compareStreams(router.contestant, simulator.url));
    process.stdout.write(await listModels(router.contestant));
    process.stdout.write(`idle memory of the router: ${idle.toFixed(0)} MB\n`);
  } finally {
    for (const close of closers.toReversed()) await close();
  }
}

/** Takes spans and does nothing with them. */
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

interface Upstreams {
  readonly dataDir: string;
  readonly simulatorUrl: string;
  readonly databaseUrl: string;
}

async function startRouterPinned(
  name: string,
  { dataDir, simulatorUrl, databaseUrl }: Upstreams,
  env: Readonly<Record<string, string>> = {},
) {
  const port = await freePort();
  const [command, args] = onCore(ROUTER_CORE, process.execPath, [source("../../all-in-one/src/main.ts")]);
  const child = spawn(command, args, {
    env: {
      PATH: process.env["PATH"],
      DATA_DIR: dataDir,
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      LOG_LEVEL: "error",
      // On, and beyond reach.
      RATE_LIMIT_TEXT_PER_SECOND: "100000",
      RATE_LIMIT_OTHER_PER_SECOND: "100000",
      RATE_LIMIT_ANONYMOUS_PER_SECOND: "100000",
      ...sandboxEnvironment(simulatorUrl),
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the router ended with exit code ${code}`)));
    child.stdout.on("data", (chunk) => {
      if (String(chunk).includes("Ctrl-C stops everything")) resolve();
    });
  });
  const credentials = JSON.parse(await readFile(join(dataDir, "credentials.json"), "utf8"));
  await fillAccount(dataDir, credentials.account_id);
  const headers = { authorization: `Bearer ${credentials.api_key}`, "content-type": "application/json" };
  const target = {
    origin: credentials.base_url,
    path: "/v1/compat/chat/completions",
    headers,
    body: chatBody,
  };
  return { child, contestant: { name, pid: child.pid ?? 0, target } };
}

/** The demo account's 10 USD would not outlast the run. */
async function fillAccount(dataDir: string, accountId: string): Promise<void> {
  const runtime = JSON.parse(await readFile(join(dataDir, "runtime.json"), "utf8"));
  const transport = createRemoteTransport(
    runtime.rpc_urls.billing,
    runtime.internal_auth_secret,
    systemClock,
  );
  const billing = createServiceClient(BillingService, "billing", transport);
  await billing.putDeposit({
    depositId: crypto.randomUUID(),
    accountId,
    credits: 10_000_000_000n,
    status: 2,
    source: "bench",
  });
}

async function startYardstick(kind: "undici" | "fastify", upstream: string) {
  const port = await freePort();
  const [command, args] = onCore(ROUTER_CORE, process.execPath, [
    source("./yardstick.ts"),
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

function endChild(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) resolve();
    child.once("exit", () => resolve());
    child.kill("SIGTERM");
  });
}

/** Rounds are interleaved, so that a noisy minute hits every contestant alike. */
async function compareClosed(contestants: readonly Contestant[], connections: number): Promise<string> {
  const rounds = new Map(contestants.map(({ name }) => [name, [] as Row["values"][]]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { name, pid, target } of contestants) {
      const before = cpuMicros(pid);
      const result = await closedLoop(target, connections, SECONDS);
      const micros = (cpuMicros(pid) - before) / result.requests;
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

async function compareStreams(router: Contestant, simulatorUrl: string): Promise<string> {
  const streamed = JSON.stringify({ ...JSON.parse(chatBody), stream: true });
  const direct: Target = {
    origin: simulatorUrl,
    path: "/openrouter/api/v1/chat/completions",
    headers: { authorization: "Bearer sandbox", "content-type": "application/json" },
    body: streamed,
  };
  const rows: Row[] = [
    { name: "upstream itself", values: [await firstBytes(direct, 200)] },
    { name: router.name, values: [await firstBytes({ ...router.target, body: streamed }, 200)] },
  ];
  return table("time to the first byte of a stream, one at a time", ["p50 ms"], rows);
}

async function listModels(router: Contestant): Promise<string> {
  const { origin } = router.target;
  const target = { origin, path: "/v1/models?type=image&sort=price", headers: {} };
  const before = cpuMicros(router.pid);
  const result = await closedLoop(target, 32, SECONDS);
  const micros = (cpuMicros(router.pid) - before) / result.requests;
  return table(
    "GET /v1/models",
    ["CPU µs/req", "req/s"],
    [{ name: router.name, values: [micros, result.perSecond] }],
  );
}

function medians(rounds: readonly (readonly number[])[]): number[] {
  const width = rounds[0]?.length ?? 0;
  return Array.from({ length: width }, (_, column) =>
    quantile(
      rounds.map((round) => round[column] ?? 0),
      0.5,
    ),
  );
}

/** The ledger alone: place+capture pairs a second, for many accounts and for one hot one. */
async function ledger(): Promise<void> {
  process.stdout.write("\nmoney alone: pairs of place and capture, both cores\n");
  const script = source("../../services/billing/bench/post.ts");
  const both = `${ROUTER_CORE},${LOAD_CORE}`;
  const [command, args] = onCore(both, process.execPath, [script, String(SECONDS)]);
  const child = spawn(command, args, { stdio: "inherit" });
  const code = await new Promise((resolve) => child.once("exit", resolve));
  if (code !== 0) throw new Error(`the ledger's bench ended with exit code ${code}`);
}

interface Row {
  readonly name: string;
  readonly values: readonly number[];
}

function table(title: string, columns: readonly string[], rows: readonly Row[]): string {
  const head = `${"".padEnd(36)}${columns.map((column) => column.padStart(12)).join("")}`;
  const lines = rows.map(
    ({ name, values }) => `${name.padEnd(36)}${values.map((value) => format(value).padStart(12)).join("")}`,
  );
  return `${title}\n${[head, ...lines].join("\n")}\n\n`;
}

function format(value: number): string {
  if (!Number.isFinite(value)) return "–";
  return value >= 100 || Number.isInteger(value) ? Math.round(value).toString() : value.toPrecision(3);
}

await main();
await ledger();
