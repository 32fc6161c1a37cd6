// The wire formats of the providers with a queue, from a client's view: keys, unknown fields, a job's
// states, its links and its bill.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import sharp from "sharp";
import { z } from "zod";
import { type RunningSimulator, startSimulator } from "../server.ts";

let simulator: RunningSimulator;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
});
afterAll(() => simulator.close());

interface Call {
  readonly method?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** @param where a path, or an address from an answer */
async function call(where: string, { method, body, headers = {}, signal }: Call = {}) {
  const response = await fetch(where.startsWith("/") ? simulator.url + where : where, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: body === undefined ? headers : { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString("utf8");
  return { status: response.status, bytes, text, json: (): unknown => JSON.parse(text) };
}
type Answer = Awaited<ReturnType<typeof call>>;

/** Requests and answers of a provider's jobs. */
interface Wire {
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
  body(prompt: string, more?: object): object;
  readonly noModel: { readonly path?: string; readonly more?: object };
  /** Statuses for a missing or wrong key, an unknown field, an unknown model. */
  readonly refused: readonly [key: number, field: number, model: number];
  /** Polls the job of this answer. */
  poll(submitted: Answer): Promise<Answer>;
  /** Returns the state in a poll's answer. */
  state(answer: Answer): string;
  /** Returns the link to the result. */
  link(submitted: Answer, polled: Answer): Promise<string>;
  readonly ends: Readonly<Record<"#fail" | "#nsfw" | "", string>>;
  readonly pending: readonly string[];
  readonly cost: string;
}

const bflHeaders = { "x-key": "k" };
const falHeaders = { authorization: "Key k" };
const bearer = { authorization: "Bearer k" };
const at = (answer: Answer, schema: z.ZodType<string>) => schema.parse(answer.json());
const field = (name: string) =>
  z.looseObject({ [name]: z.string() }).transform((found) => String(found[name]));

const bfl: Wire = {
  headers: bflHeaders,
  path: "/bfl/v1/flux-2-pro",
  body: (prompt, more) => ({ prompt, width: 256, height: 256, output_format: "png", ...more }),
  noModel: { path: "/bfl/v1/flux-9" },
  refused: [403, 422, 404],
  poll: (submitted) => call(at(submitted, field("polling_url")), { headers: bflHeaders }),
  state: (answer) => at(answer, field("status")),
  link: async (_submitted, polled) =>
    z.object({ result: z.object({ sample: z.string() }) }).parse(polled.json()).result.sample,
  ends: { "#fail": "Error", "#nsfw": "Request Moderated", "": "Ready" },
  pending: ["Pending"],
  cost: "30000000000",
};

const fal: Wire = {
  headers: falHeaders,
  path: "/fal/fal-ai/flux/schnell",
  body: (prompt, more) => ({ prompt, image_size: "square", output_format: "png", ...more }),
  noModel: { path: "/fal/fal-ai/none" },
  refused: [401, 422, 404],
  poll: async (submitted) => {
    const status = await call(at(submitted, field("status_url")), { headers: falHeaders });
    if (status.status !== 200) return status;
    return call(at(submitted, field("response_url")), { headers: falHeaders });
  },
  state: (answer) => (answer.status === 202 ? at(answer, field("status")) : String(answer.status)),
  link: async (_submitted, polled) =>
    z.object({ images: z.tuple([z.object({ url: z.string() })]) }).parse(polled.json()).images[0].url,
  ends: { "#fail": "500", "#nsfw": "422", "": "200" },
  pending: ["IN_QUEUE", "IN_PROGRESS"],
  cost: "3000000000",
};

const replicate: Wire = {
  headers: bearer,
  path: "/replicate/v1/models/black-forest-labs/flux-2-pro/predictions",
  body: (prompt, more) => ({
    input: { prompt, aspect_ratio: "custom", width: 256, height: 256, output_format: "png", ...more },
  }),
  noModel: { path: "/replicate/v1/models/nobody/nothing/predictions" },
  refused: [401, 422, 404],
  poll: (submitted) => call(`/replicate/v1/predictions/${at(submitted, field("id"))}`, { headers: bearer }),
  state: (answer) => at(answer, field("status")),
  link: async (_submitted, polled) => at(polled, field("output")),
  ends: { "#fail": "failed", "#nsfw": "failed", "": "succeeded" },
  pending: ["starting", "processing"],
  cost: "30000000000",
};

const task = z.looseObject({ taskUUID: z.string() });
const items = z.object({
  data: z.array(z.looseObject({ status: z.string().optional(), imageURL: z.string().optional() })),
  errors: z.array(z.looseObject({ code: z.string() })).default([]),
});
const runware: Wire = {
  headers: bearer,
  path: "/runware/v1",
  body: (positivePrompt, more) => [
    {
      taskType: "imageInference",
      taskUUID: randomUUID(),
      model: "bfl:5@1",
      positivePrompt,
      deliveryMethod: "async",
      outputFormat: "PNG",
      width: 256,
      height: 256,
      ...more,
    },
  ],
  noModel: { more: { model: "none:1@1" } },
  refused: [401, 400, 400],
  poll: (submitted) => {
    const { taskUUID } = z.object({ data: z.tuple([task]) }).parse(submitted.json()).data[0];
    return call("/runware/v1", { headers: bearer, body: [{ taskType: "getResponse", taskUUID }] });
  },
  state: (answer) => {
    const { data, errors } = items.parse(answer.json());
    return data[0]?.status ?? errors[0]?.code ?? "none";
  },
  link: async (_submitted, polled) => items.parse(polled.json()).data[0]?.imageURL ?? "",
  ends: { "#fail": "timeoutProvider", "#nsfw": "invalidProviderContent", "": "success" },
  pending: ["processing"],
  cost: "30000000000",
};

describe.each([
  ["bfl", bfl],
  ["fal", fal],
  ["replicate", replicate],
  ["runware", runware],
])("%s", (_name, wire) => {
  const submit = (prompt: string, more: object = {}, rest: Partial<Call> & { path?: string } = {}) =>
    call(rest.path ?? wire.path, { body: wire.body(prompt, more), headers: wire.headers, ...rest });

  /** Polls a job to its end. */
  async function follow(submitted: Answer) {
    const states: string[] = [];
    for (;;) {
      const polled = await wire.poll(submitted);
      const state = wire.state(polled);
      if (states.at(-1) !== state) states.push(state);
      if (!wire.pending.includes(state)) return { states, polled };
    }
  }

  test("refuses a missing key, a wrong one, an unknown field and an unknown model as the provider does", async () => {
    const [key, unknownField, model] = wire.refused;
    expect((await submit("a fox", {}, { headers: {} })).status).toBe(key);
    const [[header = "", value = ""] = []] = Object.entries(wire.headers);
    const wrong = { [header]: value.replace(/k$/, "invalid") };
    expect((await submit("a fox", {}, { headers: wrong })).status).toBe(key);
    expect((await submit("a fox", { response_format: "url" })).status).toBe(unknownField);
    expect((await submit("a fox", wire.noModel.more, { ...wire.noModel })).status).toBe(model);
  });

  test("a job waits, is done, and links to its picture, which nobody's key may be sent to; it is billed once", async () => {
    const id = randomUUID();
    const submitted = await submit("a fox", {}, { headers: { ...wire.headers, "x-request-id": id } });
    const { states, polled } = await follow(submitted);
    expect(states).toEqual([...wire.pending, wire.ends[""]]);
    const link = await wire.link(submitted, polled);
    const { format } = await sharp((await call(link)).bytes).metadata();
    expect(format).toBe("png");
    expect((await call(link, { headers: wire.headers })).status).toBe(400);
    expect((await call(`/bill/${id}`)).json()).toMatchObject({ pico_usd: wire.cost, items: [{}] });
  });

  test.each(["#fail", "#nsfw"] as const)("%s ends a job as the provider would, unbilled", async (word) => {
    const id = randomUUID();
    const submitted = await submit(`a fox ${word}`, {}, { headers: { ...wire.headers, "x-request-id": id } });
    const { states } = await follow(submitted);
    expect(states.at(-1)).toBe(wire.ends[word]);
    expect((await call(`/bill/${id}`)).status).toBe(404);
  });

  test("#429 and #5xx-once have the provider's statuses", async () => {
    expect((await submit("a fox #429")).status).toBe(429);
    const submitted = await submit("a fox #5xx-once");
    expect((await wire.poll(submitted)).status).toBe(500);
    expect((await follow(submitted)).states.at(-1)).toBe(wire.ends[""]);
  });
});

test("bfl: a job is known at the address of its answer only, and credits are announced with it", async () => {
  const submitted = await call(bfl.path, { headers: bflHeaders, body: bfl.body("a fox") });
  expect(submitted.text).toContain('"cost":3,');
  const [, id] = at(submitted, field("polling_url")).split("?id=");
  const elsewhere = await call(`/bfl/v1/get_result?id=${id}`, { headers: bflHeaders });
  expect([elsewhere.status, bfl.state(elsewhere)]).toEqual([404, "Task not found"]);
});

test("fal: the addresses of a job leave out the last part of its model's name; an early look is refused", async () => {
  const submitted = await call(fal.path, { headers: falHeaders, body: fal.body("a fox #hang") });
  const response = at(submitted, field("response_url"));
  expect(response).toMatch(/\/fal\/fal-ai\/flux\/requests\/[^/]+$/);
  expect((await call(response, { headers: falHeaders })).status).toBe(400);
  const cancelled = await call(at(submitted, field("cancel_url")), { method: "PUT", headers: falHeaders });
  expect([cancelled.status, cancelled.json()]).toEqual([202, { status: "CANCELLATION_REQUESTED" }]);
});

test("runware: a task whose answer never came is found under its own id, with its cost", async () => {
  const body = runware.body("a fox #timeout-after-accept");
  const [{ taskUUID }] = z.tuple([task]).parse(body);
  const leave = new AbortController();
  const lost = call("/runware/v1", { headers: bearer, body, signal: leave.signal }).catch(() => undefined);
  const ask = { headers: bearer, body: [{ taskType: "getResponse", taskUUID }] };
  let answer = await call("/runware/v1", ask);
  while (runware.state(answer) !== "success") answer = await call("/runware/v1", ask);
  expect(answer.text).toContain('"cost":0.03}');
  const again = await call("/runware/v1", { headers: bearer, body });
  expect([
    again.status,
    runware.state({ ...again, json: () => ({ data: [], ...Object(again.json()) }) }),
  ]).toEqual([400, "conflictTaskUUID"]);
  leave.abort();
  expect(await lost).toBeUndefined();
});
