// The text proxy in front of the simulator, with the official SDK as its client: every form of answer, every fault,
// and books that agree with the upstream's bill to the last unit.
import { ReleaseReason } from "@gr/clients";
import { chargeOf } from "@gr/money";
import { HoldState } from "@gr/proto/billing";
import { startSimulator } from "@gr/simulator";
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import { payloadsOf } from "./test/read-stream.ts";
import { chat, idOf, type Rig, startRig } from "./test/rig.ts";

const PATIENCE = { timeoutMs: 60_000 };
const messages = [{ role: "user" as const, content: "Is the sea blue?" }];
let simulator: Awaited<ReturnType<typeof startSimulator>>;
const rigs = new Map<string, Rig>();

beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  for (const [kind, path] of [
    ["openrouter", "/openrouter/api/v1"],
    ["openai", "/openai/v1"],
  ] as const) {
    rigs.set(kind, await startRig(simulator.url + path, { TEXT_UPSTREAM_KIND: kind }));
  }
});
afterAll(async () => {
  await Promise.all([...rigs.values()].map((rig) => rig.stop()));
  await simulator?.close();
});

const clientOf = ({ url }: Rig) =>
  new OpenAI({ apiKey: "gr_live_x", baseURL: `${url}/v1/compat`, maxRetries: 0 });

async function billOf(id: string): Promise<bigint> {
  const answer = await fetch(`${simulator.url}/bill/${id}`);
  return answer.status === 404 ? 0n : BigInt(((await answer.json()) as { pico_usd: string }).pico_usd);
}

describe.each(["openrouter", "openai"])("the official SDK (upstream %s)", (kind) => {
  let rig: Rig;
  let client: OpenAI;
  beforeAll(() => {
    rig = rigs.get(kind) as Rig;
    client = clientOf(rig);
  });

  async function expectCharged(id: string, cost: unknown): Promise<void> {
    const billed = await billOf(id);
    expect(billed).toBeGreaterThan(0n);
    expect(rig.billing.callsOf(id)[1]).toMatchObject({
      kind: "capture",
      cost: billed,
      credits: chargeOf(billed),
    });
    expect(cost).toBe(Number(billed) / 1e12);
  }

  test("reads a chat completion", async () => {
    const { data, request_id } = await client.chat.completions
      .create({ model: "sandbox/chat", messages })
      .withResponse();
    expect(data.choices[0]?.message.content).toContain("Is the sea blue?");
    const { usage, cost } = data as unknown as { usage: { cost: number }; cost: number };
    await expectCharged(request_id ?? "", usage.cost);
    expect(cost).toBe(Number(chargeOf(await billOf(request_id ?? ""))) / 10_000);
  });

  test("reads a chat stream to its usage", async () => {
    const { data, request_id } = await client.chat.completions
      .create({ model: "renamed/chat", messages, stream: true })
      .withResponse();
    let text = "";
    let usage: unknown;
    for await (const chunk of data) {
      text += chunk.choices[0]?.delta.content ?? "";
      usage = chunk.usage ?? usage;
    }
    expect(text).toContain("Is the sea blue?");
    await expectCharged(request_id ?? "", (usage as { cost: number }).cost);
  });

  test("reads a response", async () => {
    const { data, request_id } = await client.responses
      .create({ model: "sandbox/chat", input: "Is the sea blue?" })
      .withResponse();
    expect(data.output_text).toContain("Is the sea blue?");
    await expectCharged(request_id ?? "", (data.usage as unknown as { cost: number }).cost);
  });

  test("reads a response stream to its last event", async () => {
    const { data, request_id } = await client.responses
      .create({ model: "sandbox/chat", input: "Is the sea blue?", stream: true })
      .withResponse();
    const types = new Set<string>();
    let cost: unknown;
    for await (const event of data) {
      types.add(event.type);
      if (event.type === "response.completed")
        cost = (event.response.usage as unknown as { cost: number }).cost;
    }
    expect([...types]).toEqual(expect.arrayContaining(["response.created", "response.output_text.delta"]));
    await expectCharged(request_id ?? "", cost);
  });

  test("reads images in both forms", async () => {
    const url =
      "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const content = [
      { type: "text" as const, text: "What is this?" },
      { type: "image_url" as const, image_url: { url } },
    ];
    const model = "sandbox/chat-vision";
    await client.chat.completions.create({ model, messages: [{ role: "user", content }] });
    const parts = [{ type: "input_image" as const, image_url: url, detail: "auto" as const }];
    await client.responses.create({ model, input: [{ role: "user", content: parts }] });
    await expect(
      client.chat.completions.create({ model: "sandbox/chat", messages: [{ role: "user", content }] }),
    ).rejects.toMatchObject({ status: 400, code: "vision_not_supported" });
  });

  test("sees an error in the middle of a stream as an error", async () => {
    const stream = await client.chat.completions.create({
      model: "sandbox/chat-reset",
      messages,
      stream: true,
    });
    await expect(
      (async () => {
        for await (const _ of stream);
      })(),
    ).rejects.toThrow(OpenAI.APIError);
  });

  test("sees errors before the answer with their status and code", async () => {
    const create = (model: string) => client.chat.completions.create({ model, messages });
    await expect(create("no/such")).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
      param: "model",
    });
    await expect(create("sandbox/chat-error")).rejects.toMatchObject({ status: 502, code: "provider_error" });
  });
});

describe("faults of the upstream", () => {
  test.each([
    ["chat/completions", false],
    ["chat/completions", true],
    ["responses", false],
    ["responses", true],
  ] as const)(
    "usage that never comes is looked up and charged exactly (%s, stream %s)",
    async (path, stream) => {
      const rig = rigs.get("openrouter") as Rig;
      const model = "sandbox/chat-no-usage";
      const body = path === "responses" ? { model, input: "hi", stream } : chat(model, "hi", { stream });
      const response = await rig.post(path, body);
      const text = await response.text();
      const billed = await billOf(idOf(response));
      expect(rig.billing.callsOf(idOf(response))[1]).toMatchObject({ kind: "capture", cost: billed });
      const last = stream ? payloadsOf(text).at(-1) : JSON.parse(text);
      const { usage } = last?.response ?? last;
      expect(usage.cost).toBe(Number(billed) / 1e12);
    },
  );

  test.each([false, true])("a reset is never charged; its bill is our loss (stream %s)", async (stream) => {
    const rig = rigs.get("openrouter") as Rig;
    const response = await rig.post("chat/completions", chat("sandbox/chat-reset", "hi", { stream }));
    await response.text();
    const id = idOf(response);
    await until(() => rig.billing.state(id) === HoldState.RELEASED, PATIENCE);
    const billed = await billOf(id);
    expect(billed).toBeGreaterThan(0n);
    expect(rig.billing.callsOf(id)[1]).toMatchObject({
      kind: "release",
      reason: ReleaseReason.FAILED,
      cost: billed,
    });
  });

  test("a hundred requests at once, all kinds mixed, leave books that agree with the bill", async () => {
    const rig = rigs.get("openrouter") as Rig;
    const models = ["sandbox/chat", "sandbox/chat-no-usage", "sandbox/chat-error", "sandbox/chat-vision"];
    const ids = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const model = models[index % models.length] ?? "";
        const response = await rig.post(
          "chat/completions",
          chat(model, `number ${index} #tokens=${1 + (index % 40)}`, { stream: index % 3 === 0 }),
        );
        await response.text();
        return idOf(response);
      }),
    );
    for (const id of ids) {
      const [place, settled, ...more] = rig.billing.callsOf(id);
      expect(place?.kind).toBe("place");
      expect(more).toEqual([]);
      expect(settled?.cost).toBe(await billOf(id));
      expect(settled?.credits).toBeLessThanOrEqual(place?.credits ?? -1n);
    }
  });
});
