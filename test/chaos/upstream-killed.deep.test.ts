// One of two text upstreams is killed under load and restarted. A self-hosted server's death has no effect on clients.
// An upstream that bills loses only its running requests: none that it may have billed is sent to the other one. The
// breaker opens and closes, and the books equal the bills of both upstreams, to the last unit.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { HoldState } from "@gr/proto/billing";
import { freePort, until, warmStart } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Agent } from "undici";
import { simulatorBill } from "../e2e/http.ts";
import { billingOf } from "../e2e/operator.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { expectExactBooks, expectHonestAnswers, holdsOf, noOpenHolds } from "./books.ts";
import { startLoad, tally } from "./load.ts";
import { type Order, type Sent, send } from "./send-order.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const SIMULATOR = fileURLToPath(new URL("../../apps/simulator/src/main.ts", import.meta.url));
const PATIENCE = { timeoutMs: 180_000 };
const TEST_MS = 600_000;
const MODEL = "own/chat";
/** One account shows at most 1,000 holds. */
const LOAD = { perSecond: 30, most: 600, together: 24 };
/** Requests at the upstream when it dies. */
const DYING = 10;
const ROUTER_ENV = {
  TEXT_BREAKER_FAILURES: "3",
  TEXT_BREAKER_PAUSE_MS: "1000",
  RESOLVE_INTERVAL_MS: "500",
  HOLD_LEASE_MS: "6000",
  HOLD_GRACE_MS: "2000",
  LOG_LEVEL: "info",
  RATE_LIMIT_TEXT_PER_SECOND: "1000",
};

/** A simulator in a process of its own, which may be killed; its bill is on the disk. */
class MortalUpstream {
  readonly url: string;
  readonly #port: number;
  readonly #dataDir: string;
  #child: ChildProcess | undefined;

  private constructor(port: number, dataDir: string) {
    this.#port = port;
    this.#dataDir = dataDir;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(): Promise<MortalUpstream> {
    const upstream = new MortalUpstream(await freePort(), await mkdtemp(join(tmpdir(), "mortal-upstream-")));
    await upstream.restart();
    return upstream;
  }

  async restart(): Promise<void> {
    const env = {
      SIMULATOR_PORT: String(this.#port),
      DATA_DIR: this.#dataDir,
      SIMULATOR_TOKEN_DELAY_MS: "0",
    };
    this.#child = spawn(process.execPath, [SIMULATOR], {
      env: { PATH: process.env["PATH"] ?? "", ...warmStart(), ...env },
      // The channel ends it with this process, in every case.
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    await until(async () => (await fetch(`${this.url}/livez`)).ok, PATIENCE);
  }

  /** Accepts requests, and does not answer. */
  freeze(): void {
    this.#child?.kill("SIGSTOP");
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  bill(): ReturnType<Upstream["bill"]> {
    return simulatorBill({ simulatorUrl: this.url });
  }

  async dispose(): Promise<void> {
    await this.kill();
    await rm(this.#dataDir, { recursive: true, force: true });
  }
}

let mortal: MortalUpstream;
let other: Upstream;
let folder: string;
let router: Router | undefined;

beforeEach(async () => {
  mortal = await MortalUpstream.start();
  other = await startUpstream();
  folder = await mkdtemp(join(tmpdir(), "own-catalogue-"));
}, TEST_MS);
afterEach(async () => {
  await router?.dispose();
  await mortal?.dispose();
  await other?.close();
  await rm(folder, { recursive: true, force: true });
}, TEST_MS);

/** @param first the upstream that will die, as a row of the list */
async function start(first: object): Promise<Router> {
  const row = {
    id: MODEL,
    type: "text",
    name: "Own Chat",
    owned_by: "own",
    capabilities: ["chat"],
    context_tokens: 1_048_576,
    max_output_tokens: 16_000,
    usd_per_million: { input: "0.5", output: "1.5" },
    routes: ["mortal", "other"].map((upstream) => ({ upstream, upstream_model: "sandbox/chat" })),
    source: "ours",
    as_of: "2026-11-22",
  };
  await writeFile(join(folder, "mine.json"), JSON.stringify({ models: [row] }));
  const upstreams = [
    { name: "mortal", ...first },
    { name: "other", kind: "openrouter", base_url: other.env["TEXT_UPSTREAM_BASE_URL"], prices: "catalogue" },
  ];
  const env = {
    ...ROUTER_ENV,
    CATALOG_DIR: folder,
    TEXT_UPSTREAMS: JSON.stringify(upstreams),
    TEXT_UPSTREAM_KEYS: '{"mortal":"sandbox","other":"sandbox"}',
  };
  return startRouter("all-in-one", { sharedPostgres: true, env });
}

function orderOf(on: Router, index: number): Order {
  const messages = [{ role: "user", content: `request ${index} #tokens=30` }];
  return {
    baseUrl: on.baseUrl.replace(/\/$/, ""),
    secret: on.apiKey,
    path: "/v1/compat/chat/completions",
    body: { model: MODEL, max_tokens: 30, messages },
  };
}

const idsOf = async (upstream: Pick<Upstream, "bill">) =>
  new Set((await upstream.bill()).items.map(({ requestId }) => requestId));

/** Kills it while it has requests, and lets the other one serve. Restarts it, and lets it serve again. */
async function killAndRevive(on: Router): Promise<readonly Sent[]> {
  const running = startLoad((index) => orderOf(on, index), LOAD);
  const answered = (more: number) => {
    const enough = running.sent.length + more;
    return until(() => running.sent.length >= enough, PATIENCE);
  };
  await answered(50);
  mortal.freeze();
  await until(() => running.started() - running.sent.length >= DYING, PATIENCE);
  await mortal.kill();
  await until(() => on.output().includes("the upstream fails; other routes"), PATIENCE);
  await answered(100);
  const underLoad = await running.end();
  expect((await idsOf(other)).size).toBeGreaterThan(50);

  await mortal.restart();
  const before = (await idsOf(mortal)).size;
  const agent = new Agent();
  const after: Sent[] = [];
  const oneMore = async () => void after.push(await send(orderOf(on, after.length), agent));
  const isBack = async () => {
    await oneMore();
    await new Promise((resolve) => setTimeout(resolve, 300));
    return on.output().includes("the upstream answers again");
  };
  await until(isBack, PATIENCE);
  for (let index = 0; index < 20; index += 1) await oneMore();
  await agent.close();
  expect((await idsOf(mortal)).size).toBeGreaterThanOrEqual(before + 20);
  return [...underLoad, ...after];
}

async function settled(on: Router) {
  await noOpenHolds(on.dataDir, PATIENCE.timeoutMs);
  const billing = await billingOf(on.dataDir);
  const verdict = await billing.verifyLedger({});
  expect(verdict.differences).toEqual([]);
  return verdict;
}

test(
  "a server of one's own dies: no client notices, and who was served by whom is charged once",
  async () => {
    const address = `${mortal.url}/openai/v1`;
    router = await start({ kind: "openai-compatible", base_url: address, billed: false });
    const sent = await killAndRevive(router);
    expect(tally(sent)).toEqual({ 200: sent.length });
    const { chargedCostPicoUsd, lostCostPicoUsd } = await settled(router);
    expect(await expectHonestAnswers(router.dataDir, router.accountId, sent)).toBe(sent.length);
    expect(BigInt(lostCostPicoUsd)).toBe(0n);
    const { total, items } = await other.bill();
    const elsewhere = new Set(items.map(({ requestId }) => requestId));
    expect(elsewhere.size).toBe(items.length);
    const own = (await mortal.bill()).items.filter(({ requestId }) => !elsewhere.has(requestId));
    expect(own.length + elsewhere.size).toBe(sent.length);
    const served = own.reduce((sum, { picoUsd }) => sum + picoUsd, total);
    expect(BigInt(chargedCostPicoUsd)).toBe(served);
    process.stdout.write(
      `${JSON.stringify({ answers: tally(sent), own: own.length, elsewhere: elsewhere.size })}\n`,
    );
  },
  TEST_MS,
);

test(
  "an upstream that bills dies: the requests that it had are lost and free, all others are served, nothing is billed twice",
  async () => {
    const address = `${mortal.url}/openrouter/api/v1`;
    router = await start({ kind: "openrouter", base_url: address, prices: "catalogue" });
    const sent = await killAndRevive(router);
    await settled(router);
    const lost = sent.filter(({ status }) => status !== 200);
    expect(new Set(lost.map(({ status }) => status))).toEqual(new Set([502]));
    await expectHonestAnswers(router.dataDir, router.accountId, sent);
    const holds = await holdsOf(router.dataDir, router.accountId);
    const elsewhere = await idsOf(other);
    for (const { requestId } of lost) {
      expect(holds.get(requestId)?.state).toBe(HoldState.RELEASED);
      expect(elsewhere.has(requestId)).toBe(false);
    }
    const both = { bill: async () => billOf(await mortal.bill(), await other.bill()) };
    await expectExactBooks(router.dataDir, both, [router.accountId]);
    process.stdout.write(`${JSON.stringify({ answers: tally(sent), elsewhere: elsewhere.size })}\n`);
  },
  TEST_MS,
);

type Bill = Awaited<ReturnType<Upstream["bill"]>>;

function billOf(one: Bill, two: Bill): Bill {
  return { total: one.total + two.total, items: [...one.items, ...two.items] };
}
