// An adapter in front of a scripted server, for tests of the special parts of its wire format.
import { afterEach, beforeEach } from "@jest/globals";
import { runJob, type Succeeded } from "../generation/run-job.ts";
import { createArtifactReader } from "../providers/artifact.ts";
import { createOutbound, type Outbound } from "../providers/outbound.ts";
import { type MediaJob, type MediaProvider, submitJob } from "../providers/provider.ts";
import { ProviderError } from "../providers/provider-error.ts";
import { collect } from "../storage/collect.ts";
import type { ProviderUnderTest } from "./conformance.ts";
import { immediate } from "./poll-timers.ts";
import {
  type ReceivedRequest,
  type ScriptEntry,
  type ScriptedServer,
  startScriptedServer,
} from "./scripted-server.ts";

/** Largest size of an output, in bytes. */
const MOST_BYTES = 1024 * 1024;
export const ADAPTER_SECRET = "sk-secret";
const REQUEST_ID = "0b1f5f2e-7f0f-4a51-9d5c-3f1f5f0f4a51";

/** A job for one output of a model "m"; the test sets all fields that matter. */
export function jobOf<Job extends MediaJob>(kind: Job["kind"], job: Partial<Job> = {}): Job {
  const plain = {
    kind,
    requestId: REQUEST_ID,
    part: 1,
    model: "m",
    prompt: "a fox",
    count: 1,
    fields: {},
    inputs: [],
  };
  return { ...plain, ...job } as unknown as Job;
}

export interface AdapterBench {
  readonly server: ScriptedServer;
  /** Another host, without the restrictions of the public internet. */
  readonly elsewhere: ScriptedServer;
  readonly provider: MediaProvider;
  /** Runs a job while the server plays this script. */
  run(job: MediaJob, ...script: ScriptEntry[]): Promise<Succeeded>;
  /** Returns the error of a job while the server plays this script. */
  failure(job: MediaJob, ...script: ScriptEntry[]): Promise<ProviderError>;
  /** Fetches the output of a job. */
  readAll(result: Succeeded): Promise<Buffer[]>;
  /** Returns a received request, with its body as parsed JSON. */
  asked(index?: number): { path: string; headers: ReceivedRequest["headers"]; json: unknown };
}

/** Creates a new bench for each test of the file. */
export function useAdapter(create: ProviderUnderTest["create"]): AdapterBench {
  let server: ScriptedServer;
  let elsewhere: ScriptedServer;
  let outbound: Outbound;
  let provider: MediaProvider;
  beforeEach(async () => {
    server = await startScriptedServer();
    elsewhere = await startScriptedServer();
    outbound = createOutbound({ trustedOrigins: new Set([elsewhere.url]) });
    provider = create({ baseUrl: server.url, secret: ADAPTER_SECRET, outbound });
  });
  afterEach(async () => {
    await outbound.close();
    await server.close();
    await elsewhere.close();
  });

  const run = (job: MediaJob, ...script: ScriptEntry[]) => {
    server.play(...script);
    const { signal } = new AbortController();
    const run = { provider, clock: immediate, signal, saveOperation: async () => true };
    return runJob(run, () => submitJob(provider, job, signal));
  };
  return {
    get server() {
      return server;
    },
    get elsewhere() {
      return elsewhere;
    },
    get provider() {
      return provider;
    },
    run,
    failure: async (job, ...script) => {
      const error = await run(job, ...script).then(
        () => new Error("it did not fail"),
        (thrown: unknown) => thrown,
      );
      if (error instanceof ProviderError) return error;
      throw error;
    },
    readAll: async ({ artifacts }) => {
      const read = createArtifactReader(outbound, immediate);
      const result: Buffer[] = [];
      for (const artifact of artifacts)
        result.push(await read(artifact, MOST_BYTES, new AbortController().signal, collect));
      return result;
    },
    asked: (index = 0) => {
      const { path = "", headers = {}, body = "" } = server.requests[index] ?? {};
      return { path, headers, json: body === "" ? undefined : JSON.parse(body) };
    },
  };
}
