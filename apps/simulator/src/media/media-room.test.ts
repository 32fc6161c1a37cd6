// MediaRoom, tested through the smallest possible wire format.
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fastify, { type FastifyInstance } from "fastify";
import sharp from "sharp";
import { Bill } from "../bill/bill.ts";
import { Refusal } from "../request/refusal.ts";
import { Simulation } from "../request/simulation.ts";
import type { MediaOrder } from "./media-order.ts";
import { MediaRoom } from "./media-room.ts";
import { linkTo, resultFileRoutes } from "./result-files.ts";

let app: FastifyInstance;
let room: MediaRoom;
let bill: Bill;
let simulation: Simulation;
let inputs: readonly Buffer[] = [];

beforeAll(async () => {
  bill = await Bill.open(undefined);
  simulation = new Simulation(bill, 0, 0);
  room = new MediaRoom(simulation);
  app = fastify();
  app.setErrorHandler((error: Error, _request, reply) =>
    reply.code(error instanceof Refusal ? 400 : 500).send(error instanceof Refusal ? error.reason : "?"),
  );
  app.register(resultFileRoutes(room.files));
  app.post("/now", async (request, reply) => {
    const result = await room.generate(orderOf(request.body), reply);
    if (result === undefined) return reply;
    return { links: result.files.map((file) => linkTo(request, file)) };
  });
  app.post("/jobs", (request, reply) => room.submit(orderOf(request.body), reply) ?? reply);
  app.get<{ Params: { id: string } }>("/jobs/:id", (request, reply) => {
    const job = room.poll(request.params.id);
    if (job === undefined) return reply.code(404).send();
    const links = job.files.map((file) => linkTo(request, file));
    return reply.send({ state: job.state, links, billed: job.billed !== undefined });
  });
  app.delete<{ Params: { id: string } }>("/jobs/:id", (request) => room.cancel(request.params.id)?.state);
  await app.ready();
});
afterAll(async () => {
  simulation.stop();
  await app.close();
});

/** Parses a body without any checks. */
function orderOf(body: unknown): MediaOrder {
  const { id, prompt, count, seconds } = body as Record<string, unknown>;
  const video = { kind: "video", seconds: Number(seconds) } as const;
  const images = { kind: "image", count: Number(count ?? 1), format: "png" } as const;
  return {
    model: "toy",
    requestId: String(id),
    prompt: String(prompt),
    size: { width: 64, height: 64 },
    wanted: seconds === undefined ? images : video,
    inputs,
    bill: (result) => ({ picoUsd: BigInt(result) * 5n }),
  };
}

const PATIENCE = { timeoutMs: 60_000 };
let number = 0;
const freshId = () => `request-${++number}`;
const post = (url: string, payload: object) => app.inject({ method: "POST", url, payload });
const billed = (id: string) => bill.find(id).map(({ picoUsd }) => picoUsd);
const submit = async (prompt: string, more: object = {}) => {
  const id = freshId();
  return { id, job: (await post("/jobs", { id, prompt, ...more })).json().id as string };
};
const poll = async (job: string) => (await app.inject(`/jobs/${job}`)).json();
const pathOf = (link: string) => new URL(link).pathname;

/** Returns the states of all polls until the job's end. */
async function follow(job: string) {
  const states: string[] = [];
  let last = { state: "queued", links: [] as string[] };
  await until(async () => {
    last = await poll(job);
    if (states.at(-1) !== last.state) states.push(last.state);
    return last.state !== "queued" && last.state !== "running";
  }, PATIENCE);
  return { states, links: last.links };
}

describe("a job", () => {
  test("waits, runs, is done at the third poll at the earliest, and is billed once", async () => {
    const { id, job } = await submit("a fox", { seconds: 1 });
    await until(async () => billed(id).length > 0, PATIENCE);
    expect([await poll(job), await poll(job)]).toMatchObject([{ state: "queued" }, { state: "running" }]);
    const { state, links } = await poll(job);
    expect({ state, links: links.length, billed: billed(id) }).toEqual({
      state: "done",
      links: 1,
      billed: [5n],
    });
    const { headers, rawPayload } = await app.inject(pathOf(links[0]));
    expect(headers["content-type"]).toBe("video/mp4");
    expect(rawPayload.toString("latin1", 4, 8)).toBe("ftyp");
  });

  test.each([
    ["#fail", "failed"],
    ["#nsfw", "blocked"],
  ])("with %s has %s in the end, unbilled", async (word, end) => {
    const { id, job } = await submit(`a fox ${word}`);
    expect(await follow(job)).toEqual({ states: ["queued", "running", end], links: [] });
    expect(billed(id)).toEqual([]);
  });

  test("that is slow can be cancelled, and is not billed then", async () => {
    const { id, job } = await submit("a fox #slow");
    expect((await poll(job)).state).toBe("queued");
    await app.inject({ method: "DELETE", url: `/jobs/${job}` });
    expect((await poll(job)).state).toBe("cancelled");
    expect(billed(id)).toEqual([]);
    const slow = await submit("a fox #slow");
    expect((await follow(slow.job)).states).toEqual(["queued", "running", "done"]);
  });

  test("that hangs runs for ever", async () => {
    const { id, job } = await submit("a fox #hang");
    for (let polls = 0; polls < 20; polls++) await poll(job);
    expect((await poll(job)).state).toBe("running");
    expect(billed(id)).toEqual([]);
  });

  test("with #5xx-once fails to answer its first poll only", async () => {
    const { job } = await submit("a fox #5xx-once");
    expect((await app.inject(`/jobs/${job}`)).statusCode).toBe(400);
    expect((await follow(job)).states).toEqual(["queued", "running", "done"]);
  });

  test("with #expired-url has links that lead to nothing; other links refuse a key", async () => {
    const { job } = await submit("a fox #expired-url");
    const [link = ""] = (await follow(job)).links;
    expect((await app.inject(pathOf(link))).statusCode).toBe(403);
    const [good = ""] = (await follow((await submit("a fox")).job)).links;
    const withKey = { url: pathOf(good), headers: { authorization: "Bearer secret" } };
    expect((await app.inject(withKey)).statusCode).toBe(400);
    expect((await app.inject(pathOf(good))).statusCode).toBe(200);
  });

  test("whose acceptance is never answered is made and billed all the same", async () => {
    const id = freshId();
    const lost = app.inject({
      method: "POST",
      url: "/jobs",
      payload: { id, prompt: "#timeout-after-accept" },
    });
    lost.catch(() => undefined);
    await until(async () => billed(id).length > 0, PATIENCE);
    expect(billed(id)).toEqual([5n]);
  });
});

describe("a part of what was asked for", () => {
  test("is missing with #partial: of several images the last, of several jobs of a request every second", async () => {
    const id = freshId();
    const { links } = (await post("/now", { id, prompt: "#partial", count: 3 })).json();
    expect(links).toHaveLength(2);
    expect(billed(id)).toEqual([10n]);
    const split = freshId();
    const jobs = [1, 2].map(async () => (await post("/jobs", { id: split, prompt: "#partial" })).json().id);
    const ends = await Promise.all((await Promise.all(jobs)).map(follow));
    expect(ends.map(({ states }) => states.at(-1)).sort()).toEqual(["done", "failed"]);
    expect(billed(split)).toEqual([5n]);
  });
});

test("words are whole words", async () => {
  expect((await post("/now", { id: freshId(), prompt: "the #failure of #429s" })).statusCode).toBe(200);
});

test.each([
  ["#429", "rate_limited"],
  ["#fail", "failed"],
  ["#nsfw", "blocked"],
])("an answer at once with %s is refused as %s, unbilled", async (word, reason) => {
  const id = freshId();
  const { statusCode, body } = await post("/now", { id, prompt: word });
  expect({ statusCode, body, billed: billed(id) }).toEqual({ statusCode: 400, body: reason, billed: [] });
});

test("pictures that came along are shown in their order; one that is none is refused", async () => {
  const plain = (background: string) =>
    sharp({ create: { width: 9, height: 9, channels: 3, background } })
      .png()
      .toBuffer();
  inputs = [await plain("#ff0000"), await plain("#0000ff")];
  const { links } = (await post("/now", { id: freshId(), prompt: "a" })).json();
  const picture = await app.inject(pathOf(links[0]));
  const { data, info } = await sharp(picture.rawPayload)
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => [
    ...data.subarray((y * info.width + x) * 3, (y * info.width + x) * 3 + 3),
  ];
  expect([at(3, 3), at(10, 3)]).toEqual([
    [255, 0, 0],
    [0, 0, 255],
  ]);
  inputs = [Buffer.from("no picture")];
  expect((await post("/now", { id: freshId(), prompt: "a" })).body).toBe("invalid");
  inputs = [];
});
