// OpenAI's wire format: its requests, its answers, and the conformance suite over both.
import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { collect } from "../../storage/collect.ts";
import { describeConformance } from "../../test/conformance.ts";
import { drawPicture } from "../../test/pictures.ts";
import { type ScriptEntry, type ScriptedServer, startScriptedServer } from "../../test/scripted-server.ts";
import { createOutbound, type Outbound } from "../outbound.ts";
import { type Artifact, type ImageJob, type MediaProvider, submitJob } from "../provider.ts";
import { createOpenAiProvider } from "./openai-provider.ts";

const fixture = async (name: string) =>
  JSON.parse(await readFile(new URL(`./fixtures/${name}.json`, import.meta.url), "utf8"));
const images = await fixture("images");
const errors = await fixture("errors");

const job: ImageJob = {
  kind: "image",
  requestId: "0b1f5f2e-7f0f-4a51-9d5c-3f1f5f0f4a51",
  model: "gpt-image-2",
  prompt: 'a "fox" \u{1f98a}',
  part: 1,
  count: 1,
  fields: { size: "1536x1024", quality: "high" },
  inputs: [],
};
const answerOf = (pictures: readonly Buffer[]) => ({
  ...images,
  data: pictures.map((picture) => ({ b64_json: picture.toString("base64") })),
});

async function* piecesOf(stream: Iterable<Uint8Array> | AsyncIterable<Uint8Array>) {
  yield* stream;
}

const png = { bytes: Buffer.from("a picture"), type: "image/png" } as const;
describe.each<[string, ImageJob]>([
  ["generations", job],
  [
    "edits",
    {
      ...job,
      inputs: [
        { role: "image", ...png },
        { role: "mask", ...png },
      ],
    },
  ],
])("at %s", (_path, asked) => {
  describeConformance({
    name: "openai",
    create: ({ baseUrl, secret, outbound }) => createOpenAiProvider({ apiKey: secret, baseUrl, outbound }),
    job: asked,
    submitted: (result) => ({ status: 200, body: answerOf(result) }),
    blocked: errors.moderation,
    invalid: (quoting) => ({
      status: 400,
      body: { error: { ...errors.invalid.body.error, message: quoting } },
    }),
  });
});

describe("openai", () => {
  let server: ScriptedServer;
  let outbound: Outbound;
  let provider: MediaProvider;
  const { signal } = new AbortController();
  beforeEach(async () => {
    server = await startScriptedServer();
    outbound = createOutbound();
    provider = createOpenAiProvider({ apiKey: "sk-secret", baseUrl: `${server.url}/v1/`, outbound });
  });
  afterEach(async () => {
    await outbound.close();
    await server.close();
  });

  test("was not asked when a connection fails before it can carry anything, whatever the reason", async () => {
    const baseUrl = server.url.replace("http:", "https:");
    const overTls = createOpenAiProvider({ apiKey: "sk-secret", baseUrl, outbound });
    const refused = { kind: "unavailable", accepted: false };
    await expect(submitJob(overTls, job, signal)).rejects.toMatchObject(refused);
  });

  test("is asked for exactly the job, and never for a response_format, which its models refuse", async () => {
    server.play({ status: 200, body: answerOf([await drawPicture()]) });
    await submitJob(provider, job, signal);
    const [request] = server.requests;
    expect(request).toMatchObject({ method: "POST", path: "/v1/images/generations" });
    expect(JSON.parse(request?.body ?? "")).toEqual({
      model: "gpt-image-2",
      prompt: 'a "fox" \u{1f98a}',
      n: 1,
      size: "1536x1024",
      quality: "high",
      output_format: "png",
    });
    expect(request?.headers).toMatchObject({
      authorization: "Bearer sk-secret",
      "x-request-id": job.requestId,
      "x-client-request-id": job.requestId,
    });
  });

  test("is sent pictures along with a request as files of a form, byte for byte, a mask under its own name", async () => {
    const picture = await drawPicture();
    server.play({ status: 200, body: answerOf([picture]) });
    const [photo, mask] = [await drawPicture("jpeg"), await drawPicture("png", { red: 1 })];
    const inputs = [
      { role: "image", bytes: photo, type: "image/jpeg" },
      { role: "image", bytes: picture, type: "image/png" },
      { role: "mask", bytes: mask, type: "image/png" },
    ] as const;
    await submitJob(provider, { ...job, inputs }, signal);
    const [request] = server.requests;
    expect(request).toMatchObject({ method: "POST", path: "/v1/images/edits" });
    expect(request?.headers).toMatchObject({
      authorization: "Bearer sk-secret",
      "content-length": String(request?.bytes.length),
      "x-request-id": job.requestId,
    });
    const headers = { "content-type": request?.headers["content-type"] ?? "" };
    const form = await new Response(new Uint8Array(request?.bytes ?? []), { headers }).formData();
    const sent = await Promise.all(
      [...form].map(async ([name, value]) =>
        typeof value === "string"
          ? [name, value]
          : [name, value.name, value.type, Buffer.from(await value.arrayBuffer())],
      ),
    );
    expect(sent).toEqual([
      ["model", "gpt-image-2"],
      ["prompt", 'a "fox" \u{1f98a}'],
      ["n", "1"],
      ["size", "1536x1024"],
      ["quality", "high"],
      ["output_format", "png"],
      ["image[]", "image-1.jpeg", "image/jpeg", photo],
      ["image[]", "image-2.png", "image/png", picture],
      ["mask", "mask-3.png", "image/png", mask],
    ]);
  });

  test("is not told a size or quality that the model does not take", async () => {
    server.play({ status: 200, body: answerOf([await drawPicture()]) });
    await submitJob(provider, { ...job, fields: {} }, signal);
    expect(Object.keys(JSON.parse(server.requests[0]?.body ?? ""))).toEqual([
      "model",
      "prompt",
      "n",
      "output_format",
    ]);
  });

  test("reports its tokens as meters", async () => {
    server.play({ status: 200, body: answerOf([await drawPicture()]) });
    expect(await submitJob(provider, job, signal)).toMatchObject({
      usage: { tokens: { inputTokens: 50, outputTokens: 50, imageInputTokens: 40 } },
    });
  });

  test.each([
    [undefined],
    [null],
    ["many"],
    [{ input_tokens: -1, output_tokens: 5 }],
    [{ input_tokens: 1e300, output_tokens: 5 }],
    [{ input_tokens: 1.5, output_tokens: 5 }],
  ])("usage of %j is as good as none; the picture is good all the same", async (usage) => {
    server.play({ status: 200, body: { ...answerOf([await drawPicture()]), usage } });
    const progress = await submitJob(provider, job, signal);
    expect(progress.state).toBe("succeeded");
    expect(progress).not.toHaveProperty("usage");
  });

  test("usage comes along when the pictures are missing", async () => {
    server.play({ status: 200, body: answerOf([]) });
    await expect(submitJob(provider, job, signal)).rejects.toMatchObject({
      kind: "failed",
      usage: { tokens: { inputTokens: 50 } },
    });
  });

  describe("as a stream", () => {
    const answer = (...events: object[]) => ({
      status: 200,
      headers: { "content-type": "text/event-stream; charset=utf-8" },
      body: events.map((event) => `event: any\ndata: ${JSON.stringify(event)}\n\n`).join(""),
    });
    const partial = (picture: Buffer, index: number) => ({
      type: "image_generation.partial_image",
      partial_image_index: index,
      b64_json: picture.toString("base64"),
    });
    const completed = (picture: Buffer) => ({
      type: "image_generation.completed",
      b64_json: picture.toString("base64"),
      usage: images.usage,
    });
    const streaming = async (asked: Partial<ImageJob> = {}, most = 2) => {
      const arrived: [number, Buffer][] = [];
      const partials = {
        most,
        arrived: async (index: number, artifact: Artifact) => {
          if (!("stream" in artifact)) throw new Error("a link");
          arrived.push([index, await collect(piecesOf(artifact.stream))]);
        },
      };
      const progress = await submitJob(provider, { ...job, ...asked, partials }, signal);
      if (progress.state !== "succeeded") throw new Error(progress.state);
      const pictures = progress.artifacts.map((each) =>
        "stream" in each ? collect(piecesOf(each.stream)) : each,
      );
      return { arrived, pictures: await Promise.all(pictures), usage: progress.usage };
    };

    test("asks for partial images, which arrive before the picture and its usage", async () => {
      const [coarse, fine, last] = await Promise.all([1, 2, 3].map((red) => drawPicture("png", { red })));
      if (coarse === undefined || fine === undefined || last === undefined) throw new Error("not drawn");
      server.play(answer(partial(coarse, 0), { type: "keepalive" }, partial(fine, 1), completed(last)));
      expect(await streaming()).toMatchObject({
        arrived: [
          [0, coarse],
          [1, fine],
        ],
        pictures: [last],
        usage: { tokens: { inputTokens: 50, outputTokens: 50, imageInputTokens: 40 } },
      });
      const [request] = server.requests;
      expect(JSON.parse(request?.body ?? "")).toMatchObject({ n: 1, stream: true, partial_images: 2 });
      expect(request?.headers["accept"]).toBe("text/event-stream");
    });

    test("is a form with the same fields for an edit", async () => {
      const picture = await drawPicture();
      server.play(answer({ ...completed(picture), type: "image_edit.completed" }));
      const inputs = [{ role: "image", bytes: picture, type: "image/png" }] as const;
      expect((await streaming({ inputs })).pictures).toEqual([picture]);
      const [request] = server.requests;
      expect(request?.path).toBe("/v1/images/edits");
      expect(request?.body).toMatch(/name="stream"\r\n\r\ntrue\r\n/);
    });

    test("of more partial images than were asked for passes on the first ones", async () => {
      const picture = await drawPicture();
      server.play(answer(...[0, 1, 2].map((index) => partial(picture, index)), completed(picture)));
      expect((await streaming({}, 1)).arrived).toEqual([[0, picture]]);
    });

    test("is over with its picture, even if the connection stays open or breaks", async () => {
      const picture = await drawPicture();
      const { headers, body } = answer(completed(picture));
      server.play((response) => {
        response.writeHead(200, headers).write(body);
      });
      expect((await streaming()).pictures).toEqual([picture]);
    });

    test("is the plain answer from a server without streams", async () => {
      const picture = await drawPicture();
      server.play({ status: 200, body: answerOf([picture]) });
      expect(await streaming()).toMatchObject({ arrived: [], pictures: [picture] });
    });

    test.each<[string, ScriptEntry, object]>([
      [
        "without a picture",
        answer(partial(Buffer.from("a"), 0)),
        { kind: "failed", accepted: true, message: "openai: the answer is not a list of pictures" },
      ],
      [
        "with an error of moderation",
        answer({ type: "error", error: { code: "moderation_blocked", message: "no" } }),
        { kind: "blocked", accepted: true },
      ],
      [
        "with an error of our account",
        answer({ type: "error", error: { code: "insufficient_quota", message: "no" } }),
        { kind: "misconfigured", accepted: true },
      ],
      [
        "with another error",
        answer(partial(Buffer.from("a"), 0), { error: { message: "no" } }),
        { kind: "failed", accepted: true },
      ],
      [
        "that breaks off",
        (response) => {
          response.writeHead(200, answer().headers).write("data: {");
          setImmediate(() => response.destroy());
        },
        { kind: "unknown_outcome", accepted: true },
      ],
      ["that is refused", errors.moderation, { kind: "blocked", accepted: false }],
    ])("%s fails as such", async (_which, entry, failure) => {
      server.play(entry);
      await expect(streaming()).rejects.toMatchObject(failure);
    });
  });

  test("an empty account is an operator's matter, not a rate limit", async () => {
    server.play(errors.no_quota);
    await expect(submitJob(provider, job, signal)).rejects.toMatchObject({ kind: "misconfigured" });
  });

  test("a wrong key is an operator's matter, and is not quoted", async () => {
    server.play(errors.wrong_key);
    await expect(submitJob(provider, job, signal)).rejects.toMatchObject({
      kind: "misconfigured",
      message: "openai answered 401",
    });
  });
});
