// Guarantees of every provider adapter, checked against scripted servers: each adapter's test runs these checks with
// its own wire format. An adapter that passes is safe for money: it never mistakes an unknown outcome for a failure,
// never submits twice, never follows an answer to another host, never reveals its secret.
import { inspect } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { runJob } from "../generation/run-job.ts";
import { createArtifactReader } from "../providers/artifact.ts";
import { createOutbound, type Outbound } from "../providers/outbound.ts";
import { type MediaJob, type MediaProvider, type Operation, submitJob } from "../providers/provider.ts";
import { ProviderError, type ProviderFailure } from "../providers/provider-error.ts";
import { collect } from "../storage/collect.ts";
import { drawPicture } from "./pictures.ts";
import { immediate, limitedTimer } from "./poll-timers.ts";
import { type ScriptEntry, type ScriptedServer, startScriptedServer } from "./scripted-server.ts";

export interface ProviderUnderTest {
  readonly name: string;
  create(options: { baseUrl: string; secret: string; outbound: Outbound }): MediaProvider;
  readonly job: MediaJob;
  /**
   * The answer to a submission: with the output, or with a queue's acceptance.
   * @param links addresses of the pictures, on another host
   */
  submitted(pictures: readonly Buffer[], links: readonly string[]): ScriptEntry;
  /** The answer for a submission that moderation refuses; absent if only polls report it. */
  readonly blocked?: ScriptEntry;
  /** The answer to a request that is invalid, quoting this text to its sender. */
  invalid(quoting: string): ScriptEntry;
  /** For a provider with polled jobs. */
  readonly queue?: QueueUnderTest;
  /** For a provider with a query of its bills. */
  readonly look?: {
    readonly found: ScriptEntry;
    readonly cost: bigint;
    readonly unknown: ScriptEntry;
  };
}

export interface QueueUnderTest {
  /** Answers about a job that has not ended. */
  readonly pending: readonly ScriptEntry[];
  /** @param links where the pictures can be fetched, on another host */
  done(pictures: readonly Buffer[], links: readonly string[]): ScriptEntry;
  /** Answers about a job that has ended without a result, and their meanings. */
  readonly ended: readonly (readonly [ScriptEntry, ProviderFailure])[];
  /** Accepts a job and names its polling address; absent if answers have no addresses. */
  polledAt?(url: string): ScriptEntry;
  /** True if the provider has no cancellation. */
  readonly neverCancels?: true;
}

const SECRET = "sk-conformance-0123456789abcdef";
const MAX_ANSWER_BYTES = 256 * 1024;
/** Largest size of an output, in bytes. */
const MOST_BYTES = 1024 * 1024;
const SOON_MS = 200;
const LONG_MS = 20_000;
/** A poll that fails so is repeated. */
const AGAIN: readonly ProviderFailure[] = ["rate_limited", "unavailable", "timeout", "unknown_outcome"];

class Bench {
  readonly subject: ProviderUnderTest;
  readonly server: ScriptedServer;
  /** Another host, which must never see the secret. */
  readonly elsewhere: ScriptedServer;
  readonly outbound: Outbound;
  readonly provider: MediaProvider;

  private constructor(subject: ProviderUnderTest, server: ScriptedServer, elsewhere: ScriptedServer) {
    this.subject = subject;
    this.server = server;
    this.elsewhere = elsewhere;
    this.outbound = createOutbound({
      maxAnswerBytes: MAX_ANSWER_BYTES,
      connectTimeoutMs: 20_000,
      trustedOrigins: new Set([elsewhere.url]),
    });
    this.provider = this.another();
  }

  static async open(subject: ProviderUnderTest): Promise<Bench> {
    return new Bench(subject, await startScriptedServer(), await startScriptedServer());
  }

  /** Creates the provider as another process would. */
  another(): MediaProvider {
    return this.subject.create({ baseUrl: this.server.url, secret: SECRET, outbound: this.outbound });
  }

  async close(): Promise<void> {
    await this.outbound.close();
    await this.server.close();
    await this.elsewhere.close();
  }

  get job(): MediaJob {
    return this.subject.job;
  }

  /** Two, or fewer if the provider generates fewer at once. */
  get count(): number {
    return Math.min(2, this.provider.kinds[this.job.kind]?.mostAtOnce ?? 1);
  }

  /** Scripts the whole exchange of a job with these outputs. */
  play(pictures: readonly Buffer[], before: readonly ScriptEntry[] = []): void {
    const { submitted, queue } = this.subject;
    this.elsewhere.play(...pictures.map((body) => ({ status: 200, body })));
    const links = pictures.map((_, index) => `${this.elsewhere.url}/${index}.png`);
    const polls = queue === undefined ? [] : [...before, queue.done(pictures, links)];
    this.server.play(submitted(pictures, links), ...polls);
  }

  async run(job: MediaJob = this.job, signal = AbortSignal.timeout(LONG_MS)): Promise<Buffer[]> {
    const { provider } = this;
    const run = { provider, clock: limitedTimer(), signal, saveOperation: async () => true };
    const { artifacts } = await runJob(run, () => submitJob(provider, job, signal));
    const read = createArtifactReader(this.outbound, immediate);
    const pictures: Buffer[] = [];
    for (const artifact of artifacts) pictures.push(await read(artifact, MOST_BYTES, signal, collect));
    return pictures;
  }

  submit(signal = AbortSignal.timeout(LONG_MS)) {
    return submitJob(this.provider, this.job, signal);
  }

  /** The failure of a submission that is answered so. */
  async refused(...script: ScriptEntry[]): Promise<ProviderError> {
    this.server.play(...script);
    return failureOf(this.submit());
  }

  /** Submits a job that is accepted. */
  async operation(): Promise<Operation> {
    this.server.play(this.subject.submitted([], []));
    const progress = await this.submit();
    if (progress.state !== "pending") throw new Error("the job is not pending");
    return progress.operation;
  }

  /** The failure of a poll that is answered so. */
  async lost(entry: ScriptEntry, signal = AbortSignal.timeout(LONG_MS)): Promise<ProviderError> {
    const operation = await this.operation();
    this.server.play(entry);
    return failureOf(this.provider.poll(operation, signal));
  }
}

/** Returns the error of a call, after a check that the secret is nowhere in it. */
async function failureOf(call: Promise<unknown>): Promise<ProviderError> {
  const error = await call.then(
    () => new Error("it did not fail"),
    (failure: unknown) => failure,
  );
  if (!(error instanceof ProviderError)) throw error;
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(SECRET);
  return error;
}

type Check = readonly [name: string, run: (bench: Bench) => Promise<void>];

const STATUSES: readonly [number, ProviderFailure, boolean][] = [
  [401, "misconfigured", false],
  [402, "misconfigured", false],
  [403, "misconfigured", false],
  [404, "misconfigured", false],
  [500, "failed", false],
  [503, "unavailable", false],
  [502, "unknown_outcome", true],
  [504, "unknown_outcome", true],
  [524, "unknown_outcome", true],
];

const NONSENSE: readonly [string, ScriptEntry][] = [
  ["malformed", { status: 200, body: '{"data":[{"b64_' }],
  ["empty", { status: 200, body: "" }],
  ["HTML", { status: 200, headers: { "content-type": "text/html" }, body: "<html>oops</html>" }],
  ["of another shape", { status: 200, body: { data: "soon", images: null, urls: 7 } }],
  ["an array", { status: 200, body: [] }],
  ["compressed", { status: 200, headers: { "content-encoding": "gzip" }, body: "x" }],
  ["oversize", { status: 200, body: Buffer.alloc(MAX_ANSWER_BYTES + 1, "x") }],
];

const half: ScriptEntry = (response) => {
  response.writeHead(200, { "content-length": "1000" }).write("{");
};
const broken: ScriptEntry = (response) => {
  response.writeHead(200, { "content-length": "1000" }).write("{", () => response.destroy());
};

const submissions: readonly Check[] = [
  [
    "gives what was made, byte for byte, also when it is fewer than asked for",
    async (bench) => {
      const pictures = [await drawPicture("png"), await drawPicture("png", { red: 7 })].slice(0, bench.count);
      for (const some of [pictures, pictures.slice(0, 1)]) {
        bench.play(some);
        expect(await bench.run({ ...bench.job, count: bench.count })).toEqual(some);
      }
    },
  ],
  [
    "sends its secret in one header, to its own host only, and our request id and the catalogue's fields along",
    async (bench) => {
      bench.play([await drawPicture()]);
      await bench.run();
      for (const { path, headers, body } of bench.server.requests) {
        expect(path + body).not.toContain(SECRET);
        expect(Object.values(headers).filter((value) => String(value).includes(SECRET))).toHaveLength(1);
        expect(headers["accept-encoding"]).toBe("identity");
      }
      expect(JSON.stringify(bench.elsewhere.requests)).not.toContain(SECRET);
      const [submission] = bench.server.requests;
      const sent = JSON.stringify([submission?.headers, submission?.path, submission?.body]);
      expect(sent).toContain(bench.job.requestId);
      for (const value of Object.values(bench.job.fields)) expect(sent).toContain(String(value));
    },
  ],
  [
    "has failed when nothing was made",
    async (bench) => {
      bench.play([]);
      const error = await failureOf(bench.run({ ...bench.job, count: bench.count }));
      expect(error).toMatchObject({ kind: "failed", accepted: true });
    },
  ],
  ...STATUSES.map(
    ([status, kind, accepted]): Check => [
      `${status} to a submission is ${kind}, accepted: ${accepted}`,
      async (bench) => {
        const error = await bench.refused({ status, body: { error: { message: `your key ${SECRET}` } } });
        expect(error).toMatchObject({ kind, accepted });
      },
    ],
  ),
  [
    "429 is rate_limited and keeps the wait that was asked for",
    async (bench) => {
      const error = await bench.refused({ status: 429, headers: { "retry-after": "7" }, body: "slow" });
      expect(error).toMatchObject({ kind: "rate_limited", accepted: false, retryAfterMs: 7_000 });
    },
  ],
  [
    "moderation is blocked, not failed",
    async (bench) => {
      const { blocked } = bench.subject;
      if (blocked !== undefined) expect(await bench.refused(blocked)).toMatchObject({ kind: "blocked" });
    },
  ],
  [
    "an invalid request is rejected in the provider's words, without a secret that they quote",
    async (bench) => {
      const error = await bench.refused(bench.subject.invalid(`size is wrong\r\n${SECRET}`));
      expect(error).toMatchObject({ kind: "rejected", accepted: false });
      expect(error.message).toContain("size is wrong [redacted]");
    },
  ],
  [
    "a redirect of a submission is not followed",
    async (bench) => {
      for (const status of [301, 302, 307, 308]) {
        const error = await bench.refused({ status, headers: { location: bench.elsewhere.url } });
        expect(error).toMatchObject({ kind: "misconfigured", accepted: false });
      }
      expect(bench.elsewhere.requests).toEqual([]);
    },
  ],
  ...NONSENSE.map(
    ([what, entry]): Check => [
      `an answer that is ${what} is failed, and may have been billed`,
      async (bench) => {
        expect(await bench.refused(entry)).toMatchObject({ kind: "failed", accepted: true });
      },
    ],
  ),
  [
    "an endless answer is cut off",
    async (bench) => {
      const closed = Promise.withResolvers<void>();
      const error = await bench.refused((response) => {
        response.writeHead(200);
        const more = setInterval(() => response.write(Buffer.alloc(64 * 1024, "x")), 1);
        response.on("close", () => {
          clearInterval(more);
          closed.resolve();
        });
      });
      expect(error).toMatchObject({ kind: "failed", accepted: true });
      await closed.promise;
    },
  ],
  [
    "a submission that is given up has an unknown outcome",
    async (bench) => {
      const leaving = new AbortController();
      bench.server.play(() => leaving.abort());
      const error = await failureOf(bench.submit(leaving.signal));
      expect(error).toMatchObject({ kind: "unknown_outcome", accepted: true });
    },
  ],
  [
    "no answer in time, or half of one, is a timeout",
    async (bench) => {
      for (const entry of [() => undefined, half]) {
        bench.server.play(entry);
        const error = await failureOf(bench.submit(AbortSignal.timeout(SOON_MS)));
        expect(error).toMatchObject({ kind: "timeout", accepted: true });
      }
    },
  ],
  [
    "a connection that breaks before or within the answer has an unknown outcome, and is not tried again",
    async (bench) => {
      const before = await bench.refused((response) => {
        response.destroy();
      });
      expect(before).toMatchObject({ kind: "unknown_outcome", accepted: true });
      expect(await bench.refused(broken)).toMatchObject({ kind: "unknown_outcome", accepted: true });
      expect(bench.server.requests).toHaveLength(2);
    },
  ],
  [
    "a server that is not there was never asked",
    async (bench) => {
      await bench.server.close();
      expect(await failureOf(bench.submit())).toMatchObject({ kind: "unavailable", accepted: false });
    },
  ],
];

const polls: readonly Check[] = [
  [
    "polls on through every answer about a job that has not ended",
    async (bench) => {
      const pictures = [await drawPicture()];
      bench.play(pictures, bench.subject.queue?.pending);
      expect(await bench.run({ ...bench.job, count: 1 })).toEqual(pictures);
    },
  ],
  [
    "a job that ended without a result was accepted, and ended as its provider says",
    async (bench) => {
      for (const [entry, kind] of bench.subject.queue?.ended ?? []) {
        expect(await bench.lost(entry)).toMatchObject({ kind, accepted: true });
      }
    },
  ],
  ...[400, 401, 403, 404, 410].map(
    (status): Check => [
      `${status} to a poll: the job was accepted all the same`,
      async (bench) => {
        const error = await bench.lost({ status, body: { error: { message: `your key ${SECRET}` } } });
        expect(error.accepted).toBe(true);
      },
    ],
  ),
  ...[408, 429, 500, 502, 503, 504].map(
    (status): Check => [
      `${status} to a poll says nothing about the job, which is polled again`,
      async (bench) => {
        const error = await bench.lost({ status });
        expect(error.accepted).toBe(true);
        expect(AGAIN).toContain(error.kind);
      },
    ],
  ),
  ...NONSENSE.filter(([what]) => what !== "oversize").map(
    ([what, entry]): Check => [
      `a poll's answer that is ${what}: the job was accepted`,
      async (bench) => {
        expect((await bench.lost(entry)).accepted).toBe(true);
      },
    ],
  ),
  [
    "a poll that is given up, or gets no answer in time, or breaks: the job was accepted, and is polled again",
    async (bench) => {
      const leaving = new AbortController();
      const errors = [
        await bench.lost(() => leaving.abort(), leaving.signal),
        await bench.lost(() => undefined, AbortSignal.timeout(SOON_MS)),
        await bench.lost(broken),
      ];
      for (const { kind, accepted } of errors) {
        expect(accepted).toBe(true);
        expect(AGAIN).toContain(kind);
      }
    },
  ],
  [
    "a redirect of a poll is not followed",
    async (bench) => {
      await bench.lost({ status: 302, headers: { location: bench.elsewhere.url } });
      expect(bench.elsewhere.requests).toEqual([]);
    },
  ],
  [
    "a poll at an address of another host does not bring our secret there",
    async (bench) => {
      const accepted = bench.subject.queue?.polledAt?.(`${bench.elsewhere.url}/poll`);
      if (accepted === undefined) return;
      bench.server.play(accepted, bench.subject.queue?.ended[0]?.[0] ?? { status: 404 });
      bench.elsewhere.play({ status: 404 });
      await failureOf(bench.run());
      expect(JSON.stringify(bench.elsewhere.requests)).not.toContain(SECRET);
    },
  ],
  [
    "an operation holds no secret, and another process can go on with it",
    async (bench) => {
      const kept = JSON.stringify(await bench.operation());
      expect(kept).not.toContain(SECRET);
      const pictures = [await drawPicture()];
      bench.play(pictures);
      bench.server.play(
        bench.subject.queue?.done(pictures, [`${bench.elsewhere.url}/0.png`]) ?? { status: 599 },
      );
      const progress = await bench.another().poll(JSON.parse(kept), AbortSignal.timeout(LONG_MS));
      expect(progress.state).toBe("succeeded");
    },
  ],
  [
    "asks for a job to be given up, and does not mind what is answered",
    async (bench) => {
      const operation = await bench.operation();
      const asked = bench.server.requests.length;
      const answers = [200, 202, 400, 404, 409, 500];
      for (const status of answers) {
        bench.server.play({ status });
        await bench.provider.cancel(operation, AbortSignal.timeout(LONG_MS));
      }
      const cancels = bench.server.requests.slice(asked);
      expect(cancels).toHaveLength(bench.subject.queue?.neverCancels ? 0 : answers.length);
      expect(new Set(cancels.map(({ method }) => method))).not.toContain("GET");
    },
  ],
];

const lookUps: readonly Check[] = [
  [
    "a look-up tells a bill from none, and from no word about it",
    async (bench) => {
      const { look } = bench.subject;
      const lookUp = bench.provider.lookUp;
      if (look === undefined || lookUp === undefined) throw new Error("it cannot be asked");
      const ask = (entry: ScriptEntry) => {
        bench.server.play(entry);
        return lookUp(bench.job.requestId, AbortSignal.timeout(LONG_MS));
      };
      expect(await ask(look.found)).toBe(look.cost);
      expect(await ask(look.unknown)).toBeUndefined();
      for (const status of [401, 429, 500, 503]) await failureOf(ask({ status }));
      await failureOf(ask({ status: 200, body: "<html>" }));
      await failureOf(ask(broken));
    },
  ],
];

function checksOf(subject: ProviderUnderTest): readonly Check[] {
  return [
    ...submissions,
    ...(subject.queue === undefined ? [] : polls),
    ...(subject.look === undefined ? [] : lookUps),
  ];
}

async function carryOut(subject: ProviderUnderTest, [, run]: Check): Promise<void> {
  const bench = await Bench.open(subject);
  try {
    await run(bench);
  } finally {
    await bench.close();
  }
}

export function describeConformance(subject: ProviderUnderTest): void {
  describe(`${subject.name} conforms`, () => {
    test.each(checksOf(subject))("%s", (name, run) => carryOut(subject, [name, run]));
  });
}

/** The first check that a wrong adapter does not pass; undefined when it passes all. */
export async function firstBreach(subject: ProviderUnderTest): Promise<string | undefined> {
  for (const check of checksOf(subject)) {
    const passed = await carryOut(subject, check).then(
      () => true,
      () => false,
    );
    if (!passed) return check[0];
  }
  return undefined;
}
