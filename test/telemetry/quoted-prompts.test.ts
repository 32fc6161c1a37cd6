// Guarantee of the logs and spans against upstreams that quote the request. In each kind of refusal and failure, of
// text and of media, no log line above debug and no span holds a word of the prompt.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { sandboxEnvironment } from "@gr/all-in-one";
import { creditsOf } from "@gr/money";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { byDepth } from "@gr/testing/depth";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { mintKey, openAccount } from "../chaos/customers.ts";
import { call } from "../e2e/http.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { type OtlpReceiver, startOtlpReceiver } from "./otlp-receiver.ts";

const SECRET = "a marmalade submarine over Reykjavik";
/** Requests under way at the same time. */
const TOGETHER = 8;
const TEST_MS = 300_000;
/** One of this number of models of images and videos is used. */
const EVERY = byDepth({ quick: 5, deep: 1 });

/** An error in the formats of all providers at once. */
const errorQuoting = (words: string) => ({
  error: { message: words, code: words, type: words, status: words, details: [{ message: words }] },
  detail: words,
  message: words,
  status: words,
  code: words,
  type: words,
});

type Answer = (response: ServerResponse, request: string) => void;

const refuses =
  (status: number): Answer =>
  (response, request) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(errorQuoting(request)));
  };
const streams = (response: ServerResponse) =>
  response.writeHead(200, { "content-type": "text/event-stream" });
const chunk = { id: "x", choices: [{ index: 0, delta: { content: "o" } }] };

/** Answers by the number in the prompt. */
const answers: readonly Answer[] = [
  ...[200, 302, 400, 401, 402, 403, 404, 408, 422, 429, 500, 502, 503, 504, 529].map(refuses),
  (response, request) => void response.writeHead(400).end(`<html>${request}`),
  (response, request) => void response.writeHead(502).end(`<html>${request}`),
  (response, request) => void response.writeHead(200).end(request),
  // Not HTTP at all.
  (response, request) => void response.socket?.end(`${request}\r\n\r\n`),
  (response, request) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000000" });
    response.write(request, () => response.destroy());
  },
  (response, request) => {
    streams(response).write(`data: ${JSON.stringify(chunk)}\n\n`);
    response.end(`data: ${JSON.stringify({ id: "x", ...errorQuoting(request), choices: [] })}\n\n`);
  },
  (response, request) => {
    const failed = { type: "response.failed", response: { id: "x", ...errorQuoting(request) } };
    streams(response).write(
      `event: error\ndata: ${JSON.stringify({ ...errorQuoting(request), type: "error" })}\n\n`,
    );
    response.end(`event: response.failed\ndata: ${JSON.stringify(failed)}\n\n`);
  },
  (response, request) => void streams(response).end(`data: ${request}}\n\n`),
  (response, request) => {
    const first = { error: { message: request, code: 502 }, finish_reason: "error" };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ id: "x", choices: [first] }));
  },
];

let simulator: RunningSimulator;
let receiver: OtlpReceiver;
let router: Router;
const upstream = createServer(async (request, response) => {
  const body = await buffer(request).catch(() => Buffer.alloc(0));
  const number = /answer-(\d+)/.exec(body.toString())?.[1];
  const answer = number === undefined ? undefined : answers[Number(number)];
  if (answer !== undefined) return answer(response, body.toString());
  // Lists of models, look-ups of bills.
  const passed = await fetch(new URL(request.url ?? "/", simulator.url), {
    headers: { authorization: "Bearer sandbox" },
  });
  response.writeHead(passed.status, { "content-type": passed.headers.get("content-type") ?? "" });
  response.end(Buffer.from(await passed.arrayBuffer()));
});

beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0, tokenDelayMs: 0 });
  receiver = await startOtlpReceiver();
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const { port } = upstream.address() as AddressInfo;
  router = await startRouter("all-in-one", {
    sharedPostgres: true,
    env: {
      ...sandboxEnvironment(`http://127.0.0.1:${port}`),
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      TRACE_SAMPLE_RATIO: "1",
      LOG_LEVEL: "info",
      RATE_LIMIT_TEXT_PER_SECOND: "0",
      RATE_LIMIT_MEDIA_PER_SECOND: "0",
    },
  });
}, TEST_MS);
afterAll(async () => {
  await router?.dispose();
  await receiver?.close();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
  await simulator?.close();
}, TEST_MS);

interface Listed {
  readonly id: string;
  readonly type: string;
}

test(
  "no log line and no span has a word of a prompt that an upstream quotes, however it fails",
  async () => {
    // Requests with an unknown outcome keep their holds.
    const account = await openAccount(router.dataDir, creditsOf("1000000"));
    const { secret: key } = await mintKey(router.dataDir, account);
    const listed: readonly Listed[] = (await call(router, "GET", "/v1/models")).body.data;
    const media = listed.filter(({ type }) => type !== "text").filter((_, at) => at % EVERY === 0);
    expect(media.length).toBeGreaterThan(5);
    const sends = answers.flatMap((_, number) => {
      const prompt = `${SECRET} answer-${number}`;
      const text = { model: "sandbox/chat", max_tokens: 50 };
      return [
        ...[false, true].flatMap((stream) => [
          ["chat/completions", { ...text, stream, messages: [{ role: "user", content: prompt }] }] as const,
          ["responses", { model: "sandbox/chat", max_output_tokens: 50, stream, input: prompt }] as const,
        ]),
        ...media.map(({ id, type }) => {
          const path = type === "video" ? "videos/generations" : "images/generations";
          return [path, { model: id, prompt }] as const;
        }),
      ];
    });
    const statuses = new Set<number>();
    let quoted = 0;
    const next = sends.values();
    const worker = async () => {
      for (const [path, body] of next) {
        const answer = await call(router, "POST", `/v1/compat/${path}`, { body, key });
        statuses.add(answer.status);
        if (JSON.stringify(answer.body).includes(SECRET)) quoted += 1;
      }
    };
    await Promise.all(Array.from({ length: TOGETHER }, worker));
    await router.stop();
    const logged = router
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"));
    const quoting = (text: string) => text.includes("marmalade") || text.includes(SECRET);
    expect(logged.filter(quoting)).toEqual([]);
    expect(quoting(receiver.everything())).toBe(false);
    expect(receiver.spans.length).toBeGreaterThan(sends.length);
    // Each kind of trouble has written its line.
    const messages = new Set(logged.map((line) => JSON.parse(line).msg));
    for (const message of ["generation failed", "upstream failed", "upstream sent no usable answer"]) {
      expect(messages).toContain(message);
    }
    // The words of the upstreams did arrive: some of them are for the client.
    expect([...statuses]).toEqual(expect.arrayContaining([400, 502, 503]));
    expect(quoted).toBeGreaterThan(0);
  },
  TEST_MS,
);
