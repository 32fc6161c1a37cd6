// Clients that disconnect, and slow clients. A disconnected client is charged the upstream's bill, at any point of the
// stream. A slow client pauses the upstream and costs no memory.
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { chargeOf } from "@gr/money";
import { HoldState } from "@gr/proto/billing";
import { startSimulator } from "@gr/simulator";
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { chat, idOf, type Rig, startRig } from "./test/rig.ts";
import { type Script, ScriptedUpstream, sendJson, startStream } from "./test/scripted-upstream.ts";

const PATIENCE = { timeoutMs: 60_000 };
const TOKENS = 10;
const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"cost":0.002}}\n\n';
const DONE = "data: [DONE]\n\n";

const PATHS = { openrouter: "/openrouter/api/v1", openai: "/openai/v1" } as const;

describe.each(["openrouter", "openai"] as const)("a client that leaves a stream (upstream %s)", (kind) => {
  let simulator: Awaited<ReturnType<typeof startSimulator>>;
  let rig: Rig;
  beforeAll(async () => {
    simulator = await startSimulator({ host: "127.0.0.1", port: 0, tokenDelayMs: 4 });
    rig = await startRig(simulator.url + PATHS[kind], { TEXT_UPSTREAM_KIND: kind });
  });
  afterAll(async () => {
    await rig?.stop();
    await simulator?.close();
  });

  const content = `hello #tokens=${TOKENS}`;
  const bodies = {
    "chat/completions": chat("sandbox/chat", content, { stream: true }),
    responses: { model: "sandbox/chat", input: content, stream: true },
  } as const;

  /** Disconnects after this number of events; resolves with the request's id. */
  async function leaveAfter(events: number, path: keyof typeof bodies): Promise<string> {
    const leaving = new AbortController();
    const response = await rig.post(path, bodies[path], { signal: leaving.signal });
    const reader = response.body?.getReader();
    let seen = "";
    while (seen.split("\n\n").length - 1 < events) {
      const read = await reader?.read();
      if (read?.value === undefined) break;
      seen += Buffer.from(read.value).toString();
    }
    leaving.abort();
    return idOf(response);
  }

  // At most: a comment, the opening events, the tokens, the closing events, [DONE].
  const places = Array.from({ length: TOKENS + 11 }, (_, events) => events);
  test.each(["chat/completions", "responses"] as const)(
    "after any number of events is charged what the upstream bills (%s)",
    async (path) => {
      const left = await Promise.all(
        places.map(async (events) => [events, await leaveAfter(events, path)] as const),
      );
      for (const [events, id] of left) {
        await until(() => rig.billing.state(id) !== HoldState.OPEN, PATIENCE);
        const bill = (await (await fetch(`${simulator.url}/bill/${id}`)).json()) as { pico_usd: string };
        const [place, capture, ...others] = rig.billing.callsOf(id);
        expect({ events, place: place?.kind, others }).toEqual({ events, place: "place", others: [] });
        expect(capture).toMatchObject({
          kind: "capture",
          cost: BigInt(bill.pico_usd),
          credits: chargeOf(BigInt(bill.pico_usd)),
        });
      }
    },
  );

  test("is counted", async () => {
    expect(await rig.metrics()).toMatch(/text_clients_left_total [1-9]/);
  });
});

describe("a client that does not read", () => {
  const PIECE = `data: {"choices":[{"delta":{"content":"${"x".repeat(32 * 1024)}"}}]}\n\n`;
  /** 48 MB: more than the usual buffers on the way, less than the proxy reads for a disconnected client. */
  const PIECES = 1_500;
  /** 260 MB: more than all buffers together, of which some hold 33 MB each. */
  const MANY_PIECES = 8_000;
  let upstream: ScriptedUpstream;
  let rig: Rig;
  /** Loses its patience soon, which the other must not do on a slow machine. */
  let immediate: Rig;
  let written = 0;
  beforeAll(async () => {
    upstream = await new ScriptedUpstream().start();
    rig = await startRig(upstream.url);
    immediate = await startRig(upstream.url, { TEXT_IDLE_TIMEOUT_MS: "5000" });
  });
  afterAll(async () => {
    await Promise.all([rig?.stop(), immediate?.stop()]);
    await upstream?.stop();
  });

  function give(pieces: number): Script {
    return async (_, response) => {
      startStream(response);
      written = 0;
      for (let piece = 0; piece < pieces && !response.destroyed; piece += 1) {
        written += PIECE.length;
        if (!response.write(PIECE)) await new Promise((resolve) => response.once("drain", resolve));
      }
      response.end(USAGE + DONE);
    };
  }

  /** Writes until the reader's slowness stops it, waits longer than most upstreams would, and breaks off. */
  async function loseOnesPatience(_: unknown, response: ServerResponse): Promise<void> {
    startStream(response);
    const drained = () => new Promise<boolean>((resolve) => response.once("drain", () => resolve(true)));
    const impatient = () => new Promise<boolean>((resolve) => setTimeout(resolve, 1_200, false));
    for (let isAccepting = true; isAccepting; )
      isAccepting = response.write(PIECE) || (await Promise.race([drained(), impatient()]));
    response.destroy();
  }

  /** Sends the request over a socket of its own, which does not read before the test resumes it. */
  async function open(at: Rig) {
    const url = new URL(`${at.url}/v1/compat/chat/completions`);
    const headers = { "content-type": "application/json" };
    const outgoing = request(url, { method: "POST", headers });
    const answer = Promise.withResolvers<IncomingMessage>();
    outgoing.once("response", answer.resolve);
    outgoing.once("error", answer.reject);
    outgoing.end(JSON.stringify(chat("sandbox/chat", "hi", { stream: true })));
    const response = await answer.promise;
    response.pause();
    return { response, id: String(response.headers["x-request-id"]) };
  }

  test("holds the upstream back, and gets every byte when it reads again", async () => {
    upstream.script(give(MANY_PIECES));
    const { response } = await open(rig);
    let before = -1;
    await until(async () => {
      const still = written === before;
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return still && written > 0;
    }, PATIENCE);
    expect(written).toBeLessThan((MANY_PIECES * PIECE.length) / 2);
    let received = 0;
    let last = "";
    for await (const chunk of response) {
      received += (chunk as Buffer).length;
      last = (last + (chunk as Buffer).toString()).slice(-DONE.length);
    }
    expect(received).toBe(MANY_PIECES * PIECE.length + USAGE.length + DONE.length);
    expect(last).toBe(DONE);
  });

  test("for too long is taken for one that has left: the upstream is read to its end and charged", async () => {
    upstream.script(give(PIECES));
    const { response, id } = await open(immediate);
    response.on("error", () => undefined);
    await until(() => immediate.billing.state(id) === HoldState.CAPTURED, PATIENCE);
    expect(immediate.billing.callsOf(id).at(-1)).toMatchObject({ cost: 2_000_000_000n, credits: 20n });
    expect(await immediate.metrics()).toMatch(/text_clients_left_total [1-9]/);
    response.destroy();
  });

  test("and so makes the upstream break off is charged for what was delivered", async () => {
    upstream.script(loseOnesPatience);
    upstream.generations = (_, response) => sendJson(response, '{"data":{"total_cost":0.0042}}');
    const { response, id } = await open(immediate);
    response.on("error", () => undefined);
    await until(() => immediate.billing.state(id) === HoldState.CAPTURED, PATIENCE);
    expect(immediate.billing.callsOf(id).at(-1)).toMatchObject({ cost: 4_200_000_000n });
    response.destroy();
  });
});
