// Cancellations against the simulator: after the request of an adapter, its next poll reports the end of the job, and
// the simulator bills nothing. Without a cancellation, the job is delivered.
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { mediaProviders } from "./media-providers.ts";
import { createOutbound, type Outbound } from "./outbound.ts";
import { type JobKind, type MediaProvider, type Operation, submitJob } from "./provider.ts";

/** A model of each provider with a cancellation. */
const CANCELLING: Readonly<Record<string, readonly [kind: JobKind, model: string]>> = {
  fal: ["video", "sandbox/video"],
  replicate: ["image", "black-forest-labs/flux-schnell"],
  gemini: ["video", "gemini-omni-1.1-flash"],
  byteplus: ["video", "dreamina-seedance-2-0-260128"],
};
const LONG_MS = 60_000;

let simulator: RunningSimulator;
let outbound: Outbound;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  outbound = createOutbound();
});
afterAll(async () => {
  await outbound?.close();
  await simulator?.close();
});

function createProvider(wanted: string): MediaProvider {
  const definition = mediaProviders.find(({ name }) => name === wanted);
  if (definition === undefined) throw new Error(`there is no provider ${wanted}`);
  const settings = Object.fromEntries(
    Object.entries(definition.baseUrls).map(([name, at]) => [name, simulator.url + (at?.simulatedAt ?? "")]),
  );
  return definition.create({ secret: "sandbox", settings, outbound });
}

async function begin(provider: MediaProvider, requestId: string): Promise<Operation> {
  const [kind, model] = CANCELLING[provider.name] ?? ["image", ""];
  const job = {
    kind,
    requestId,
    part: 1,
    model,
    prompt: "a fox #slow",
    count: 1,
    fields: {},
    inputs: [],
  } as const;
  const progress = await submitJob(provider, job, AbortSignal.timeout(LONG_MS));
  if (progress.state !== "pending") throw new Error("the job has ended at once");
  return progress.operation;
}

const billOf = async (requestId: string) => {
  const bill = (await (await fetch(`${simulator.url}/bill`)).json()) as { items: { request_id: string }[] };
  return bill.items.filter(({ request_id }) => request_id === requestId);
};

test.each(Object.keys(CANCELLING))(
  "%s: a cancelled job has failed at its next poll, and is not billed",
  async (name) => {
    const provider = createProvider(name);
    const requestId = `cancelled-${name}`;
    const operation = await begin(provider, requestId);
    await provider.cancel(operation, AbortSignal.timeout(LONG_MS));
    const polled = provider.poll(operation, AbortSignal.timeout(LONG_MS));
    await expect(polled).rejects.toMatchObject({ kind: "failed", accepted: true });
    expect(await billOf(requestId)).toEqual([]);
  },
);

test.each(Object.keys(CANCELLING))(
  "%s: a job that is not cancelled is delivered and billed",
  async (name) => {
    const provider = createProvider(name);
    const requestId = `delivered-${name}`;
    const operation = await begin(provider, requestId);
    const poll = () => provider.poll(operation, AbortSignal.timeout(LONG_MS));
    await until(async () => (await poll()).state === "succeeded", { timeoutMs: LONG_MS });
    expect(await billOf(requestId)).toHaveLength(1);
  },
);
