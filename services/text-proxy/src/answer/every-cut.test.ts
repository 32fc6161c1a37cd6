// Streams of upstreams, recorded from the simulator, cut at every byte: for any cut, the client receives the
// same bytes and pays the same. Each part is an HTTP chunk of its own, so the proxy sees exactly that cut.
import { formatPicoUsd, PICO_PER_CREDIT } from "@gr/money";
import { startSimulator } from "@gr/simulator";
import { byDepth } from "@gr/testing/depth";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { chat, idOf, type Rig, startRig } from "../test/rig.ts";
import { ScriptedUpstream, startStream } from "../test/scripted-upstream.ts";

/** Distance of the cuts, in bytes. The quick one is prime, so that it hits all kinds of positions. */
const STEP = byDepth({ quick: 31, deep: 1 });
const AT_ONCE = 8;

const weather = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const tool = { name: "get_weather", parameters: weather };
const question = "Wie warm ist es in Zürich? 😀";
const limits = { max_tokens: 6, max_output_tokens: 6 };
const requests = {
  "chat/completions": chat("sandbox/chat", question, {
    ...limits,
    stream: true,
    reasoning_effort: "minimal",
    tools: [{ type: "function", function: tool }],
    stream_options: { include_usage: true },
  }),
  responses: {
    ...limits,
    model: "sandbox/chat",
    stream: true,
    input: question,
    reasoning: { effort: "minimal" },
    tools: [{ type: "function", ...tool }],
  },
} as const;
type Path = keyof typeof requests;

const upstreams = { openrouter: "/openrouter/api/v1", openai: "/openai/v1" } as const;
type Kind = keyof typeof upstreams;

let upstream: ScriptedUpstream;
let simulator: Awaited<ReturnType<typeof startSimulator>>;
const rigs = new Map<Kind, Rig>();
beforeAll(async () => {
  upstream = await new ScriptedUpstream().start();
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  for (const kind of Object.keys(upstreams) as Kind[]) {
    // On a stalled machine, our own comment would be a byte that the upstream did not send.
    const settings = { TEXT_UPSTREAM_KIND: kind, TEXT_KEEP_ALIVE_MS: "600000" };
    rigs.set(kind, await startRig(upstream.url, settings));
  }
});
afterAll(async () => {
  await Promise.all([...rigs.values()].map((rig) => rig.stop()));
  await upstream?.stop();
  await simulator?.close();
});

/** Returns the upstream's bytes, and its bill for them. */
async function record(kind: Kind, path: Path): Promise<{ bytes: Buffer; cost: bigint }> {
  const id = `recorded-${kind}-${path}`;
  const response = await fetch(`${simulator.url}${upstreams[kind]}/${path}`, {
    method: "POST",
    headers: { authorization: "Bearer test", "content-type": "application/json", "x-request-id": id },
    body: JSON.stringify(requests[path]),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const bill = (await (await fetch(`${simulator.url}/bill/${id}`)).json()) as { pico_usd: string };
  return { bytes, cost: BigInt(bill.pico_usd) };
}

/** An answer without a cost receives one at the end of its usage. */
function expected(kind: Kind, path: Path, bytes: Buffer, cost: bigint): string {
  if (kind === "openrouter") return bytes.toString();
  const end = path === "responses" ? /(?=\}\}\}\n\n$)/ : /(?=\}\}\n\ndata: \[DONE\]\n\n$)/;
  return bytes.toString().replace(end, `,"cost":${formatPicoUsd(cost)}`);
}

describe.each(Object.keys(upstreams) as Kind[])("from an upstream of kind %s", (kind) => {
  test.each(Object.keys(requests) as Path[])("%s", async (path) => {
    const rig = rigs.get(kind) as Rig;
    const { bytes, cost } = await record(kind, path);
    const cuts = Array.from({ length: Math.ceil(bytes.length / STEP) }, (_, index) => index * STEP);
    upstream.script(({ body }, response) => {
      startStream(response);
      const cut = Number(/"cut-(\d+)"/.exec(body.toString())?.[1]);
      if (cut > 0) response.write(bytes.subarray(0, cut));
      response.end(bytes.subarray(cut));
    });
    const credits = (cost + PICO_PER_CREDIT - 1n) / PICO_PER_CREDIT;
    const next = cuts.values();
    const whole = expected(kind, path, bytes, cost);
    async function sendAll(): Promise<void> {
      for (const cut of next) {
        const response = await rig.post(path, { ...requests[path], metadata: { at: `cut-${cut}` } });
        const text = await response.text();
        const calls = rig.billing.callsOf(idOf(response));
        // A stream with a nearly used hold extends it.
        const kinds = calls.map(({ kind: called }) => called).filter((called) => called !== "extend");
        expect({ cut, text, kinds }).toEqual({ cut, text: whole, kinds: ["place", "capture"] });
        expect(calls.at(-1)).toMatchObject({ kind: "capture", cost, credits });
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, sendAll));
    expect(upstream.requests).toHaveLength(cuts.length);
  });
});
