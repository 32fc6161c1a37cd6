// `npm run bench:logs` measures pages of a log of a million requests, half of them images and videos, half of them
// text: each half alone, and both in one list. Pages are the first, a middle and the last one, with filters that match many rows and almost none. One key is
// read over HTTP, the whole account over the RPCs of the console.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "@gr/embedded";
import { GenerationKind, GenerationStatus, MediaGenerationService } from "@gr/proto/media";
import { call } from "../e2e/http.ts";
import { serviceOf } from "../e2e/operator.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { quantile } from "./load.ts";
import { entryAt, fillLogs, type LogOwner, RARE_MODEL } from "./log-store.ts";
import { type Row, table } from "./table.ts";

const EACH = Number(process.env["BENCH_LOG_LINES"] ?? 500_000);
const ROUNDS = 7;
const PAGE = 100;
const YEAR_MS = 365 * 24 * 3_600_000;
const HOMES = ["media", "text"] as const;
type Home = (typeof HOMES)[number];
/** all: both homes in one list. */
const LOGS = [...HOMES, "all"] as const;
type Log = (typeof LOGS)[number];

interface Filter {
  readonly name: string;
  readonly model?: string;
  readonly provider?: string;
  readonly status?: "failed" | "running";
  readonly createdBefore?: number;
}

const FILTERS: readonly Filter[] = [
  { name: "all" },
  { name: "of a model", model: "vendor/model-3" },
  { name: "of a rare model", model: RARE_MODEL },
  { name: "of a model that nobody asked for", model: "vendor/none" },
  { name: "of a provider", provider: "p" },
  { name: "of a provider that nobody asked", provider: "nowhere" },
  { name: "failed ones", status: "failed" },
  { name: "failed ones of a rare model", status: "failed", model: RARE_MODEL },
  { name: "running ones", status: "running" },
  { name: "before a day of last year", createdBefore: Date.now() - YEAR_MS / 2 },
];

type Ask = (log: Log, filter: Filter, after: string) => Promise<number>;

function overHttp(router: Router): Ask {
  return async (log, { model, provider, status: wanted, createdBefore }, after) => {
    const query = new URLSearchParams({
      limit: String(PAGE),
      ...(log === "all" ? {} : { kind: log }),
      ...(model === undefined ? {} : { model }),
      ...(provider === undefined ? {} : { provider }),
      ...(wanted === undefined ? {} : { status: wanted }),
      ...(createdBefore === undefined ? {} : { created_before: new Date(createdBefore).toISOString() }),
      ...(after === "" ? {} : { after }),
    });
    const { status, body } = await call(router, "GET", `/v1/generations?${query}`);
    if (status !== 200) throw new Error(`the log was answered with ${status}: ${JSON.stringify(body)}`);
    return body.data.length;
  };
}

async function overRpc({ dataDir }: Router, { accountId }: LogOwner): Promise<Ask> {
  const media = await serviceOf(dataDir, "media-generation", MediaGenerationService);
  return async (log, { model = "", provider = "", status: wanted, createdBefore }, after) => {
    const { FAILED, RUNNING, UNSPECIFIED } = GenerationStatus;
    const { generations } = await media.listGenerations({
      ...{ accountId, model, provider, after, limit: PAGE, texts: log === "all" },
      ...(log === "text" ? { kind: GenerationKind.TEXT } : {}),
      status: wanted === undefined ? UNSPECIFIED : { failed: FAILED, running: RUNNING }[wanted],
      ...(createdBefore === undefined ? {} : { createdBefore: BigInt(createdBefore) }),
    });
    return generations.length;
  };
}

/** Sums of all entries of a log, in bars of a week, as the console reads them. */
async function totals({ dataDir }: Router, { accountId }: LogOwner): Promise<string> {
  const media = await serviceOf(dataDir, "media-generation", MediaGenerationService);
  const rows: Row[] = [];
  for (const log of LOGS) {
    for (const { name, model = "", provider = "" } of FILTERS.filter(
      ({ status: wanted }) => wanted === undefined,
    )) {
      const kind = log === "text" ? { kind: GenerationKind.TEXT } : {};
      const filter = { accountId, model, provider, texts: log === "all", ...kind };
      const bars = { barsFrom: BigInt(Date.now() - YEAR_MS), barMs: BigInt(YEAR_MS / 48) };
      rows.push({
        name: `${log}, ${name}`,
        values: await timesOf(async () => {
          const { sums } = await media.sumGenerations({ filter, ...bars });
          return sums.reduce((sum, { requests }) => sum + Number(requests), 0);
        }),
      });
    }
  }
  return table("The account, totals over RPC, ms", ["middle", "slowest"], rows);
}

/** Returns milliseconds: the middle and the slowest of some calls, after one that fills the caches. */
async function timesOf(ask: () => Promise<number>): Promise<[middle: number, slowest: number]> {
  await ask();
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const from = performance.now();
    await ask();
    times.push(performance.now() - from);
  }
  return [quantile(times, 0.5), Math.max(...times)];
}

async function compare(title: string, ask: Ask, places: Record<Log, readonly string[]>): Promise<string> {
  let text = "";
  for (const log of LOGS) {
    const rows: Row[] = [];
    for (const filter of FILTERS) {
      const values: number[] = [];
      for (const after of places[log]) values.push(...(await timesOf(() => ask(log, filter, after))));
      rows.push({ name: filter.name, values });
    }
    const columns = ["first", "slowest", "middle", "slowest", "last", "slowest"];
    text += table(`${title}, ${log}: pages of ${PAGE}, ms`, columns, rows);
  }
  return text;
}

const folder = await mkdtemp(join(tmpdir(), "log-bench-"));
const postgres = await startPostgres({ dataDir: folder, durable: true, temporary: false });
try {
  const env = { DATABASE_URL: postgres.url, RATE_LIMIT_OTHER_PER_SECOND: "10000" };
  const router = await startRouter("all-in-one", { env });
  try {
    const { body } = await call(router, "POST", "/v1/auth/test");
    const owner = { accountId: router.accountId, keyId: body.api_key.id };
    await fillLogs(postgres.url, owner, EACH);
    const lines = Math.floor(EACH * (4 / 5) * (2 / 3));
    const places = async (log: Home) => [
      "",
      await entryAt(postgres.url, log, owner, Math.floor(lines / 2)),
      await entryAt(postgres.url, log, owner, lines - 2 * PAGE),
    ];
    const media = await places("media");
    const all = { media, text: await places("text"), all: media };
    process.stdout.write(await compare("One key, GET /v1/generations", overHttp(router), all));
    process.stdout.write(await totals(router, owner));
    process.stdout.write(await compare("The account, over RPC", await overRpc(router, owner), all));
  } finally {
    await router.dispose();
  }
} finally {
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}
