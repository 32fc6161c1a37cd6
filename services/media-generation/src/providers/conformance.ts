// What every provider adapter must keep, checked against a scripted server: each adapter's test runs this suite with
// its own wire format. An adapter that passes can be trusted with money: it never mistakes an unknown outcome for a
// failure, never follows an answer elsewhere, never shows its secret.
import { inspect } from "node:util";
import { systemClock } from "@gr/runtime";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { runJob, type Succeeded } from "../generation/run-job.ts";
import { drawPicture } from "../test/pictures.ts";
import { type ScriptEntry, type ScriptedServer, startScriptedServer } from "../test/scripted-server.ts";
import { createOutbound, type Outbound } from "./outbound.ts";
import type { MediaJob, MediaProvider } from "./provider.ts";
import { ProviderError, type ProviderFailure } from "./provider-error.ts";

export interface ProviderUnderTest {
  readonly name: string;
  create(options: { baseUrl: string; secret: string; outbound: Outbound }): MediaProvider;
  readonly job: MediaJob;
  /** The whole exchange of a job that ends with these pictures. */
  success(pictures: readonly Buffer[]): ScriptEntry[];
  /** The answer that ends a job which moderation refuses. */
  readonly blocked: ScriptEntry;
  /** The answer to a request that is invalid, quoting this text to its sender. */
  invalid(quoting: string): ScriptEntry;
}

const SECRET = "sk-conformance-0123456789abcdef";
const MAX_ANSWER_BYTES = 256 * 1024;
const SOON_MS = 1_000;

interface Bench {
  readonly server: ScriptedServer;
  readonly outbound: Outbound;
  readonly provider: MediaProvider;
  run(job: MediaJob, signal?: AbortSignal): Promise<Succeeded>;
  failure(...script: ScriptEntry[]): Promise<ProviderError>;
}

export function describeConformance(subject: ProviderUnderTest): void {
  describe(`${subject.name} conforms`, () => {
    const bench = openBench(subject);
    describeSuccess(subject, bench);
    describeRefusals(subject, bench);
    describeNonsense(subject, bench);
    describeLostAnswers(subject, bench);
  });
}

function openBench(subject: ProviderUnderTest): () => Bench {
  let bench: Bench | undefined;
  beforeEach(async () => {
    const server = await startScriptedServer();
    const outbound = createOutbound({ maxAnswerBytes: MAX_ANSWER_BYTES, connectTimeoutMs: 1_000 });
    const provider = subject.create({ baseUrl: server.url, secret: SECRET, outbound });
    const run = (job: MediaJob, signal = AbortSignal.timeout(60_000)) =>
      runJob({ provider, clock: systemClock, signal, saveOperation: async () => true }, () =>
        provider.submit(job, signal),
      );
    const failure = async (...script: ScriptEntry[]) => {
      server.play(...script);
      return failureOf(run(subject.job));
    };
    bench = { server, outbound, provider, run, failure };
  });
  afterEach(async () => {
    await bench?.outbound.close();
    await bench?.server.close();
  });
  return () => {
    if (bench === undefined) throw new Error("the bench opens before each test");
    return bench;
  };
}

/** The error of a run, after making sure that nothing about it tells the secret. */
async function failureOf(run: Promise<unknown>): Promise<ProviderError> {
  const error = await run.then(
    () => new Error("the job succeeded"),
    (failure: unknown) => failure,
  );
  if (!(error instanceof ProviderError)) throw error;
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(SECRET);
  return error;
}

function describeSuccess(subject: ProviderUnderTest, bench: () => Bench): void {
  test("brings as many pictures as asked for, byte for byte", async () => {
    const pictures = await Promise.all([drawPicture("png"), drawPicture("png", { red: 7 })]);
    bench().server.play(...subject.success(pictures));
    const { outputs } = await bench().run({ ...subject.job, count: 2 });
    expect(outputs.map(({ bytes }) => bytes)).toEqual(pictures);
  });

  test("sends its secret in one header only, and our request id along", async () => {
    bench().server.play(...subject.success([await drawPicture()]));
    await bench().run(subject.job);
    for (const { path, headers, body } of bench().server.requests) {
      expect(path + body).not.toContain(SECRET);
      expect(Object.values(headers).filter((value) => String(value).includes(SECRET))).toHaveLength(1);
      expect(headers["accept-encoding"]).toBe("identity");
    }
    const [submission] = bench().server.requests;
    expect(JSON.stringify([submission?.headers, submission?.body])).toContain(subject.job.requestId);
  });

  test("is refused fewer pictures than asked for", async () => {
    bench().server.play(...subject.success([await drawPicture()]));
    const error = await failureOf(bench().run({ ...subject.job, count: 2 }));
    expect(error).toMatchObject({ kind: "failed", accepted: true });
  });
}

function describeRefusals(subject: ProviderUnderTest, bench: () => Bench): void {
  const statuses: [number, ProviderFailure, boolean][] = [
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
  test.each(statuses)("%i is %s, accepted: %s", async (status, kind, accepted) => {
    const error = await bench().failure({ status, body: { error: { message: `your key ${SECRET}` } } });
    expect(error).toMatchObject({ kind, accepted });
  });

  test("429 is rate_limited and keeps the wait that was asked for", async () => {
    const error = await bench().failure({ status: 429, headers: { "retry-after": "7" }, body: "slow down" });
    expect(error).toMatchObject({ kind: "rate_limited", accepted: false, retryAfterMs: 7_000 });
  });

  test("moderation is blocked, not failed", async () => {
    expect(await bench().failure(subject.blocked)).toMatchObject({ kind: "blocked" });
  });

  test("an invalid request is rejected in the provider's words, without a secret that it quotes", async () => {
    const error = await bench().failure(subject.invalid(`size is wrong\r\n${SECRET}`));
    expect(error).toMatchObject({ kind: "rejected", accepted: false });
    expect(error.message).toContain("size is wrong [redacted]");
  });

  test("a redirect to a loopback address is not followed", async () => {
    const elsewhere = await startScriptedServer();
    elsewhere.play(...subject.success([await drawPicture()]));
    for (const status of [301, 302, 307, 308]) {
      const error = await bench().failure({ status, headers: { location: elsewhere.url } });
      expect(error).toMatchObject({ kind: "misconfigured", accepted: false });
    }
    expect(elsewhere.requests).toEqual([]);
    await elsewhere.close();
  });
}

function describeNonsense(subject: ProviderUnderTest, bench: () => Bench): void {
  const nonsense: [string, ScriptEntry][] = [
    ["malformed", { status: 200, body: '{"data":[{"b64_' }],
    ["empty", { status: 200, body: "" }],
    ["HTML", { status: 200, headers: { "content-type": "text/html" }, body: "<html>oops</html>" }],
    ["of another shape", { status: 200, body: { data: "soon", images: null } }],
    ["an array", { status: 200, body: [] }],
    ["compressed", { status: 200, headers: { "content-encoding": "gzip" }, body: "x" }],
    ["oversize", { status: 200, body: Buffer.alloc(MAX_ANSWER_BYTES + 1, "x") }],
  ];
  test.each(nonsense)("an answer that is %s is failed, and may have been billed", async (_, entry) => {
    expect(await bench().failure(entry)).toMatchObject({ kind: "failed", accepted: true });
  });

  test("an endless answer is cut off", async () => {
    let hungUp: () => void = () => undefined;
    const closed = new Promise<void>((resolve) => {
      hungUp = resolve;
    });
    const error = await bench().failure((response) => {
      response.writeHead(200);
      const more = setInterval(() => response.write(Buffer.alloc(64 * 1024, "x")), 1);
      response.on("close", () => {
        clearInterval(more);
        hungUp();
      });
    });
    expect(error).toMatchObject({ kind: "failed", accepted: true });
    await closed;
  });

  test("an oversize picture in a small job never arrives whole", async () => {
    const huge = Buffer.alloc(MAX_ANSWER_BYTES);
    const error = await bench().failure(...subject.success([huge]));
    expect(error).toMatchObject({ kind: "failed", accepted: true });
  });
}

function describeLostAnswers(subject: ProviderUnderTest, bench: () => Bench): void {
  test("an aborted job has an unknown outcome", async () => {
    const giveUp = new AbortController();
    bench().server.play(() => giveUp.abort());
    expect(await failureOf(bench().run(subject.job, giveUp.signal))).toMatchObject({
      kind: "unknown_outcome",
      accepted: true,
    });
  });

  test("no answer in time is a timeout", async () => {
    bench().server.play(() => undefined);
    expect(await failureOf(bench().run(subject.job, AbortSignal.timeout(SOON_MS)))).toMatchObject({
      kind: "timeout",
      accepted: true,
    });
  });

  test("half an answer in time is a timeout", async () => {
    bench().server.play((response) => {
      response.writeHead(200, { "content-length": "1000" }).write("{");
    });
    expect(await failureOf(bench().run(subject.job, AbortSignal.timeout(SOON_MS)))).toMatchObject({
      kind: "timeout",
      accepted: true,
    });
  });

  test("a connection that breaks before or within the answer has an unknown outcome", async () => {
    const before = await bench().failure((response) => {
      response.destroy();
    });
    expect(before).toMatchObject({ kind: "unknown_outcome", accepted: true });
    const within = await bench().failure((response) => {
      response.writeHead(200, { "content-length": "1000" }).write("{", () => response.destroy());
    });
    expect(within).toMatchObject({ kind: "unknown_outcome", accepted: true });
  });

  test("a server that is not there was never asked", async () => {
    await bench().server.close();
    expect(await failureOf(bench().run(subject.job))).toMatchObject({ kind: "unavailable", accepted: false });
  });
}
