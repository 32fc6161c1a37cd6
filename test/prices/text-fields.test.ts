// The main guarantee of text prices, against the simulator's copy of the providers' rules. With any fields, a request
// is charged at least its bill, or refused with the name of a field before the upstream.
import { PICO_PER_CREDIT } from "@gr/money";
import { ModelKind } from "@gr/proto/catalog";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { byDepth } from "@gr/testing/depth";
import { FakeCatalog, idOf, type Rig, startRig } from "@gr/text-proxy/simulated";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type FieldCase, fieldCases } from "./text-field-cases.ts";

const IS_QUICK = byDepth({ quick: true, deep: false });
/** Where the simulator plays an upstream of each kind. */
const PATHS = {
  openai: "openai/v1",
  "openai-compatible": "openai/v1",
  openrouter: "openrouter/api/v1",
  vercel: "vercel/v1",
} as const;
type Kind = keyof typeof PATHS;
const KINDS = Object.keys(PATHS) as Kind[];

/** Rates for a token: 0.5 and 1.5 USD per million, by the rules that the simulator cites. */
const rates = (input: bigint, output: bigint) => ({
  ...{ inputPicoUsd: input, outputPicoUsd: output, cacheWritePicoUsd: (input * 5n) / 4n },
  longCacheWritePicoUsd: (input * 5n) / 2n,
});
const INPUT = 500_000n;
const OUTPUT = 1_500_000n;
const LONG = 272_000n;
const inCase = (tier: string, above: bigint, input: bigint, output: bigint) => ({
  ...{ tier, aboveInputTokens: above, price: { ...rates(input, output), toolFees: FEES } },
});
const FEES = [
  { call: "code_interpreter_call", picoUsd: 30_000_000_000n },
  { call: "file_search_call", picoUsd: 2_500_000_000n },
  { call: "image_generation_call", picoUsd: 210_000_000_000n },
  { call: "web_search_call", picoUsd: 25_000_000_000n },
  { call: "web_search_preview_call", picoUsd: 25_000_000_000n },
];
const FULL = {
  ...rates(INPUT, OUTPUT),
  toolFees: FEES,
  cases: [
    inCase("", LONG, INPUT * 2n, (OUTPUT * 3n) / 2n),
    inCase("priority", 0n, INPUT * 2n, OUTPUT * 2n),
    inCase("priority", LONG, INPUT * 4n, OUTPUT * 3n),
    inCase("flex", 0n, INPUT / 2n, OUTPUT / 2n),
    inCase("flex", LONG, INPUT, (OUTPUT * 3n) / 4n),
    inCase("fast_mode", 0n, INPUT * 6n, OUTPUT * 6n),
  ],
};
const model = (id: string, upstreamModel: string, value: object) => ({
  ...{
    id,
    kind: ModelKind.TEXT,
    capabilities: ["chat"],
    contextTokens: 1_048_576n,
    maxOutputTokens: 16_000n,
  },
  price: { version: "v1", rule: { case: "token" as const, value } },
  routes: [{ provider: "default", upstreamModel }],
});
const MODELS = [
  model("bare/chat", "sandbox/chat", { inputPicoUsd: INPUT, outputPicoUsd: OUTPUT }),
  model("full/chat", "sandbox/chat-tiered", FULL),
];

let simulator: RunningSimulator;
const rigs = new Map<Kind, Rig>();
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  for (const kind of KINDS) {
    const env = { TEXT_UPSTREAM_KIND: kind };
    rigs.set(
      kind,
      await startRig(`${simulator.url}/${PATHS[kind]}`, env, undefined, new FakeCatalog(MODELS)),
    );
  }
});
afterAll(async () => {
  for (const rig of rigs.values()) await rig.stop();
  await simulator?.close();
});

interface Outcome {
  readonly name: string;
  readonly status: number;
  readonly param: string | undefined;
  readonly billed: bigint;
  readonly held: bigint;
  readonly charged: bigint;
}

async function carryOut(
  kind: Kind,
  id: string,
  stream: boolean,
  { name, path, body }: FieldCase,
): Promise<Outcome> {
  const rig = rigs.get(kind);
  if (rig === undefined) throw new Error(`no rig for ${kind}`);
  const response = await rig.post(path, { ...body, model: id, stream });
  const text = await response.text();
  const calls = rig.billing.callsOf(idOf(response));
  const captured = calls.find((call) => call.kind === "capture");
  return {
    name: `${kind}, ${id}, ${path}${stream ? ", stream" : ""}: ${name}`,
    status: response.status,
    param:
      response.status === 200 ? undefined : (JSON.parse(text) as { error: { param?: string } }).error.param,
    billed: await billOf(idOf(response)),
    held: calls.reduce((most, { credits = 0n }) => (credits > most ? credits : most), 0n),
    charged: captured?.credits ?? 0n,
  };
}

async function billOf(id: string): Promise<bigint> {
  const answer = await fetch(`${simulator.url}/bill/${id}`);
  const bill = (await answer.json()) as { pico_usd: string };
  return answer.status === 404 ? 0n : BigInt(bill.pico_usd);
}

/** The quick form sends each case to one model as a stream and to the other one whole, and the deep form the other way round. */
const isSent = (...[index, kind, model, isStream]: readonly [number, number, number, boolean]) =>
  ((index + kind + model + Number(isStream)) % 2 === 0) === IS_QUICK;

test.each(KINDS)("%s: no field makes a request cost more than it is charged", async (kind) => {
  const outcomes: Outcome[] = [];
  for (const [number, { id }] of MODELS.entries()) {
    for (const stream of [false, true]) {
      const sent = fieldCases().filter((_, index) => isSent(index, KINDS.indexOf(kind), number, stream));
      for (const each of sent) outcomes.push(await carryOut(kind, id, stream, each));
    }
  }
  const losses = outcomes
    .map(({ name, billed, charged }) => ({ name, loss: billed - charged * PICO_PER_CREDIT }))
    .filter(({ loss }) => loss > 0n);
  expect(losses).toEqual([]);
  expect(outcomes.filter(({ held, charged }) => charged > held)).toEqual([]);
  // A refusal names a field and nothing has reached the upstream.
  const refused = outcomes.filter(({ status }) => status !== 200);
  expect(refused.filter(({ status, billed }) => status !== 400 || billed > 0n)).toEqual([]);
  // If the price of a host is bounded, the upstream itself refuses.
  expect(refused.filter(({ param, name }) => param === undefined && !/ host/.test(name))).toEqual([]);
  expect(outcomes.some(({ status }) => status === 200)).toBe(true);
});

// `npm test` alone has this test.
if (IS_QUICK) {
  test("the tiers and tools that a model has prices for are served", async () => {
    const served = [
      "service_tier priority",
      "service_tier flex",
      "ten searches",
      "three pictures",
      "cache 12h",
    ];
    for (const each of fieldCases().filter(({ name }) => served.includes(name))) {
      const { status, name } = await carryOut("openai", "full/chat", false, each);
      expect([name, status]).toEqual([name, 200]);
    }
  });
}
