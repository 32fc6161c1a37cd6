// One account fails at will on every model of the sandbox, in all ways in which an upstream fails. Another account asks for the
// same models, and each of its requests is answered. FAILING_MINUTES is the length of the run, 0.5 by default.
import type { ServerResponse } from "node:http";
import { creditsOf } from "@gr/money";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { quantile } from "../bench/load.ts";
import { mintKey, openAccount } from "../chaos/customers.ts";
import { startGate, startUpstream, type Upstream } from "../chaos/upstream.ts";
import { type Answer, call } from "../e2e/http.ts";
import { type Router, startRouter } from "../e2e/topology.ts";

const MINUTES = Number(process.env["FAILING_MINUTES"] ?? "0.5");
const MINUTE_MS = 60_000;
const FAILING = "fail at will";
const PAUSE_MS = 100;

const chat = (stream: boolean) => (content: string) => ({
  path: "/v1/compat/chat/completions",
  body: { model: "sandbox/chat", max_tokens: 5, stream, messages: [{ role: "user", content }] },
});
const media = (path: string, model: string) => (prompt: string) => ({ path, body: { model, prompt } });
const IMAGES = "/v1/compat/images/generations";
const ASKED = [
  chat(false),
  chat(true),
  media(IMAGES, "sandbox/image"),
  media(IMAGES, "sandbox/image-free"),
  media("/v1/compat/videos/generations", "sandbox/video"),
];

const json = (status: number, text: string) => (response: ServerResponse) =>
  void response.writeHead(status, { "content-type": "application/json" }).end(text);
const QUICK: readonly ((response: ServerResponse) => void)[] = [
  json(500, '{"error":{"message":"no","code":500}}'),
  json(503, '{"error":{"message":"later","code":503}}'),
  json(429, '{"error":{"message":"later","code":429}}'),
  json(200, '{"choices":'),
  (response) => void response.writeHead(502).end("<html>"),
  (response) => void response.destroy(),
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"id":"x","choices":[{"index":0,"delta":{"content":"o"}}]}\n\n', () =>
      response.destroy(),
    );
  },
];
/** Few hang: each keeps its attacker for minutes. */
const FAILURES = [...QUICK, ...QUICK, ...QUICK, ...QUICK, () => undefined];

let upstream: Upstream;
let router: Router;
let failed = 0;
/** Before the simulator; fails for prompts that ask for it. */
let gate: Pick<Upstream, "env" | "close">;

beforeAll(async () => {
  upstream = await startUpstream();
  gate = await startGate(upstream, (_incoming, body, outgoing) => {
    if (!body.includes(FAILING)) return false;
    FAILURES[failed % FAILURES.length]?.(outgoing);
    failed += 1;
    return true;
  });
  // A day's limit of free requests is none of the upstream's failures.
  const env = { ...gate.env, FREE_REQUESTS_PER_DAY: "0" };
  router = await startRouter("all-in-one", { sharedPostgres: true, env });
});
afterAll(async () => {
  await router?.dispose();
  await gate?.close();
  await upstream?.close();
});

type Asked = (prompt: string) => { path: string; body: object };

/** Asks for the models in turn until the time is over. */
async function keepAsking(
  secret: string,
  prompt: string,
  until: number,
  seen: (answer: Answer, tookMs: number) => void,
  models: readonly Asked[],
): Promise<void> {
  for (let count = 0; Date.now() < until; count += 1) {
    const { path, body } = (models[count % models.length] as Asked)(prompt);
    const began = performance.now();
    seen(await call(router, "POST", path, { key: secret, body }), performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

const customer = async () =>
  (await mintKey(router.dataDir, await openAccount(router.dataDir, creditsOf("1000")))).secret;

/** A stream fails in its last event, with status 200. */
const hasFailed = ({ status, body }: Answer) => status !== 200 || /"error"/.test(JSON.stringify(body));

const attackAndServe = async () => {
  const [attacker, victim] = [await customer(), await customer()];
  const until = Date.now() + MINUTES * MINUTE_MS;
  let [attacks, answered] = [0, 0];
  const times: number[] = [];
  const failures: Answer[] = [];
  // One attacker a model and more, since a hanging upstream holds each for long.
  const attacked = () => {
    attacks += 1;
  };
  const attacking = [...ASKED, ...ASKED].map((asked) =>
    // The end of the router ends requests that hang.
    keepAsking(attacker, FAILING, until, attacked, [asked]).catch(() => undefined),
  );
  const served = (answer: Answer, tookMs: number) => {
    answered += 1;
    times.push(tookMs);
    if (hasFailed(answer)) failures.push(answer);
  };
  await keepAsking(victim, "a", until, served, ASKED);
  const facts = {
    minutes: MINUTES,
    "failures at the upstream": failed,
    "answers to the attacker": attacks,
    "answers to the victim": answered,
    "failed ones": failures.length,
    "p50 ms": Math.round(quantile(times, 0.5)),
    "p99 ms": Math.round(quantile(times, 0.99)),
  };
  process.stdout.write(`one account fails at will: ${JSON.stringify(facts)}\n`);
  expect(failures.slice(0, 5)).toEqual([]);
  expect(failed).toBeGreaterThan(FAILURES.length);
  await router.kill();
  await Promise.all(attacking);
};

test(
  `${MINUTES} minutes of one account's failures fail no request of another account`,
  attackAndServe,
  (MINUTES + 10) * MINUTE_MS,
);
