// A run of the fuzzer on a router of its own: requests, drawn from a seed in batches, each judged. After every
// stretch the books are compared with the upstream's bill. The router's memory is always watched.
import fc from "fast-check";
import { Agent } from "undici";
import { residentMegabytes } from "../bench/processes.ts";
import { compareBooks } from "../chaos/compare-books.ts";
import { startUpstream, type Upstream } from "../chaos/upstream.ts";
import { call } from "../e2e/http.ts";
import { type Router, startRouter, type Topology } from "../e2e/topology.ts";
import { type FuzzCase, fuzzCases, hangingCases } from "./fuzz-case.ts";
import { judge } from "./judge-outcome.ts";
import { RECEIVER } from "./known-values.ts";
import { type Description, readDescription } from "./operations.ts";
import { type Outcome, sendCase } from "./send-case.ts";
import { World } from "./world.ts";

const BATCH = 250;
const AT_ONCE = 24;
/** Cases between two looks at the books. */
const STRETCH = 20_000;
/** Problems after which a run ends. */
const MOST_PROBLEMS = 20;
const RESOLVED_MS = 180_000;

const ENV = {
  WEBHOOK_PRIVATE_ORIGINS: RECEIVER,
  RATE_LIMIT_TEXT_PER_SECOND: "0",
  // Faults are requested at random: five in a row would close the model for requests without a fault.
  TEXT_BREAKER_FAILURES: "1000000",
  RATE_LIMIT_MEDIA_PER_SECOND: "0",
  RATE_LIMIT_OTHER_PER_SECOND: "0",
  RATE_LIMIT_ANONYMOUS_PER_SECOND: "0",
  RATE_LIMIT_DOWNLOADS_PER_SECOND: "0",
  // Hanging requests end within a run; the limit is far above that of working requests on a slow machine.
  TEXT_HEADERS_TIMEOUT_MS: "30000",
  MEDIA_TIMEOUT_MS: "60000",
  VIDEO_TIMEOUT_MS: "60000",
  HOLD_LEASE_MS: "10000",
  HOLD_GRACE_MS: "5000",
  RESOLVE_INTERVAL_MS: "500",
};

export interface FuzzOptions {
  readonly cases: number;
  readonly seed: number;
  /** Number of the first case; a multiple of a batch. */
  readonly begin: number;
  readonly topology: Topology;
  readonly say: (line: string) => void;
}

export interface FuzzReport {
  readonly cases: number;
  /** Problems, with seed and request. */
  readonly problems: readonly string[];
  /** Number of answers by operation and status: `post /v1/api-keys 201`. */
  readonly tally: ReadonlyMap<string, number>;
  readonly operations: readonly string[];
  /** Resident memory of the router after each stretch, in MB. */
  readonly memory: readonly number[];
  readonly books: string;
}

export async function fuzz({ cases, seed, begin, topology, say }: FuzzOptions): Promise<FuzzReport> {
  const upstream = await startUpstream();
  const router = await startRouter(topology, { env: { ...upstream.env, ...ENV } }).catch(
    async (error: unknown) => {
      await upstream.close();
      throw error;
    },
  );
  try {
    const run = new FuzzRun(
      router,
      upstream,
      await World.open(router),
      await readDescription(router.baseUrl),
    );
    for (let done = 0; done < cases && !run.isHopeless; done += STRETCH) {
      const count = Math.min(STRETCH, cases - done);
      await run.stretch(seed, begin + done, begin + done + count);
      say(await run.settle(done + count));
    }
    return await run.report();
  } finally {
    await router.dispose();
    await upstream.close();
  }
}

class FuzzRun {
  readonly #agent = new Agent({ pipelining: 1, connections: AT_ONCE * 2 });
  readonly #problems: string[] = [];
  readonly #tally = new Map<string, number>();
  readonly #memory: number[] = [];
  readonly #refusedIds = new Set<string>();
  readonly #router: Router;
  readonly #upstream: Upstream;
  readonly #world: World;
  readonly #description: Description;
  readonly #startedAt = performance.now();
  #cases = 0;
  #books = "";

  constructor(router: Router, upstream: Upstream, world: World, description: Description) {
    this.#router = router;
    this.#upstream = upstream;
    this.#world = world;
    this.#description = description;
  }

  get isHopeless(): boolean {
    return this.#problems.length >= MOST_PROBLEMS;
  }

  /** Cases from number `begin` up to `end`. The same numbers of a seed are the same requests. */
  async stretch(seed: number, begin: number, end: number): Promise<void> {
    const drawn = casesOf(this.#description, seed, begin, end);
    const work = async () => {
      for (let next = drawn.next(); next.done !== true && !this.isHopeless; next = drawn.next()) {
        const { value } = next;
        const outcome = await sendCase(value.fuzzCase, this.#world, this.#router.baseUrl, this.#agent);
        this.#note(value.fuzzCase, outcome, value.origin);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  #note(fuzzCase: FuzzCase, outcome: Outcome, origin: string): void {
    this.#cases += 1;
    const { sent, answers } = outcome;
    const name = fuzzCase.operation?.name ?? "none";
    const problem = complaintOf(fuzzCase, outcome, this.#world);
    if (problem !== undefined)
      this.#problems.push(`${problem}\n  ${origin}\n  ${described(fuzzCase, outcome)}`);
    for (const { status, headers, text } of answers) {
      const what = `${name} ${status}`;
      this.#tally.set(what, (this.#tally.get(what) ?? 0) + 1);
      const requestId = String(headers["x-request-id"]);
      if (status >= 400 && status < 500) this.#refusedIds.add(requestId);
      if (fuzzCase.conduct !== "leaves") this.#world.learn(name, sent, { status, text, requestId });
    }
  }

  /** Checks the books, the memory and the process once no request runs. */
  async settle(done: number): Promise<string> {
    const books = await compareBooks(this.#router.dataDir, this.#upstream, this.#refusedIds, RESOLVED_MS);
    this.#books = books.summary;
    this.#problems.push(...books.problems);
    this.#refusedIds.clear();
    await this.#lookAtProcess();
    // Only Linux reports it.
    const megabytes = process.platform === "linux" ? residentMegabytes(this.#router.pid) : 0;
    this.#memory.push(megabytes);
    const perSecond = (this.#cases / (performance.now() - this.#startedAt)) * 1_000;
    const pace = `${perSecond.toFixed(0)}/s, ${megabytes.toFixed(0)} MB, ${this.#problems.length} problems`;
    return `${done} cases, ${pace}, ${this.#books}`;
  }

  async #lookAtProcess(): Promise<void> {
    const { status } = await call(this.#router, "POST", "/v1/auth/test");
    if (status !== 200) this.#problems.push(`afterwards a good request is answered ${status}`);
    const failures = this.#router
      .output()
      .split("\n")
      .filter((line) => /request failed|unhandled|uncaught|FATAL/i.test(line));
    for (const line of failures.slice(0, 3)) this.#problems.push(`in the log: ${line.slice(0, 1_500)}`);
  }

  async report(): Promise<FuzzReport> {
    await this.#agent.close();
    return {
      cases: this.#cases,
      problems: this.#problems,
      tally: this.#tally,
      operations: this.#description.operations.map(({ name }) => name),
      memory: this.#memory,
      books: this.#books,
    };
  }
}

interface DrawnCase {
  readonly fuzzCase: FuzzCase;
  /** Arguments that draw it again. */
  readonly origin: string;
}

function* casesOf(description: Description, seed: number, begin: number, end: number): Generator<DrawnCase> {
  const arbitrary = fuzzCases(description);
  for (const fuzzCase of hangingCases(description))
    yield { fuzzCase, origin: "hangingCases in fuzz-case.ts" };
  for (let at = begin; at < end; at += BATCH) {
    const batch = fc.sample(arbitrary, { seed: seed + at / BATCH, numRuns: BATCH });
    const origin = `npm run fuzz -- --seed ${seed} --begin ${at} --cases ${BATCH}`;
    for (const fuzzCase of batch.slice(0, end - at)) yield { fuzzCase, origin };
  }
}

function complaintOf(fuzzCase: FuzzCase, outcome: Outcome, world: World): string | undefined {
  try {
    return judge(fuzzCase, outcome, world);
  } catch (error) {
    return `not to be understood: ${error}`;
  }
}

function described({ conduct, caller, body }: FuzzCase, { sent, answers }: Outcome): string {
  const request = {
    ...{
      method: sent.method,
      path: sent.path,
      caller,
      conduct,
      headers: { ...sent.headers, authorization: "…" },
    },
    body: body?.subarray(0, 1_000).toString("latin1"),
  };
  const heard = answers.map(
    ({ status, headers, text }) => `${status} ${headers["x-request-id"]} ${text.slice(0, 600)}`,
  );
  return `${JSON.stringify(request)}\n  ${heard.join("\n  ")}`;
}
