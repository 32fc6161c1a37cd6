// Law 11: an attacker with 1 USD sends endless uploads, expensive bodies and pictures for every place. It reads no
// answers and files, holds silent connections, and tries unknown keys.
// A customer beside it, on the same machine and at the same address, gets every answer; only the speed may differ.
import { connect, type Socket } from "node:net";
import { creditsOf } from "@gr/money";
import { RawUpload, until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { quantile } from "../bench/load.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { expectExactBooks, expectHonestAnswers, noOpenHolds } from "./books.ts";
import { mintKey, openAccount } from "./customers.ts";
import { chat, image, sendAll, startLoad, tally } from "./load.ts";
import type { Order, Sent } from "./send-order.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const IMAGES = "/v1/compat/images/generations";
const CHAT = "/v1/compat/chat/completions";
const MB = 1024 * 1024;
const UPLOADS = 60;
const UPLOAD_BYTES = 50 * MB;
const PICTURES = 120;
const IDLE = 300;
const STRANGERS = 200;
const ROUNDS = 40;
const MOST_TRIES = 4;
const PATIENCE = { timeoutMs: 180_000 };

let upstream: Upstream;
let router: Router;
const sockets: Socket[] = [];
beforeEach(async () => {
  upstream = await startUpstream({ imageDelayMs: 2_000 });
  router = await startRouter("all-in-one", {
    env: { ...upstream.env, HOLD_GRACE_MS: "5000", RESOLVE_INTERVAL_MS: "500" },
  });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await router?.dispose();
  await upstream?.close();
});

/** Sends the bytes, then neither reads nor disconnects. */
function hold(bytes: string): void {
  const { hostname, port } = new URL(router.baseUrl);
  const socket = connect(Number(port), hostname, () => socket.write(bytes));
  socket.pause();
  socket.on("error", () => socket.destroy());
  sockets.push(socket);
}

const head = (method: string, path: string, secret: string, more = "") =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n${more}\r\n`;

/** Sends an endless body until the router refuses it; returns its status. */
async function sendBomb(secret: string, unit: string): Promise<number> {
  const upload = new RawUpload(router.baseUrl, {
    path: IMAGES,
    headers: { authorization: `Bearer ${secret}` },
    announced: UPLOAD_BYTES,
  });
  let answered = false;
  const answer = upload.answer().then(
    ({ status }) => status,
    () => 0,
  );
  void answer.then(() => {
    answered = true;
  });
  await upload.send('{"model":"sandbox/image","prompt":"a","x":[');
  for (let sent = 0; !answered && sent < UPLOAD_BYTES - MB; sent += MB)
    await upload.send(unit.repeat(MB / unit.length));
  const status = await answer;
  upload.leave();
  return status;
}

test("a customer gets every answer beside an attacker with 1 USD", async () => {
  const rich = await openAccount(router.dataDir, creditsOf("100"));
  const customer = await mintKey(router.dataDir, rich);
  const account = await openAccount(router.dataDir, creditsOf("1"));
  const attacker = await mintKey(router.dataDir, account);
  const penniless = await mintKey(router.dataDir, account, { cap: 0n });
  const ask = (what: Pick<Order, "path" | "body">, secret: string): Order => ({
    ...what,
    baseUrl: router.baseUrl,
    secret,
  });
  await sendAll([ask(chat(5, false), customer.secret)]).all();

  // Permanent load: places for pictures, expensive bodies, unknown keys.
  let attacking = true;
  const pictures = startLoad((index) => ask(image(`mine ${index}`), attacker.secret), {
    perSecond: 20,
    most: PICTURES,
    together: PICTURES,
  });
  const bombs: number[] = [];
  const bombing = (async () => {
    for (let turn = 0; attacking; turn += 1) {
      bombs.push(await sendBomb(attacker.secret, ["{},", "[[[", '"a",', "1,1,"][turn % 4] ?? ""));
    }
  })();
  const strangers = startLoad(
    (index) => ask(chat(5, false), `${customer.secret.slice(0, -8)}${String(index).padStart(8, "0")}`),
    { perSecond: 100, most: STRANGERS },
  );
  // Idle connections.
  for (const { secret } of [attacker, penniless]) {
    for (let index = 0; index < UPLOADS; index += 1) {
      const upload = new RawUpload(router.baseUrl, {
        path: IMAGES,
        headers: { authorization: `Bearer ${secret}` },
        announced: UPLOAD_BYTES,
      });
      void upload.send(" ".repeat(MB));
      upload.answer().then(
        ({ status }) => refusals.push(status),
        () => refusals.push(0),
      );
    }
  }
  const body = JSON.stringify(chat(4_000, true).body);
  for (let index = 0; index < 20; index += 1) {
    hold(
      head(
        "POST",
        CHAT,
        attacker.secret,
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`,
      ) + body,
    );
  }
  for (let index = 0; index < IDLE; index += 1) hold("");

  const answers: Sent[] = [];
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const orders = [chat(20, false), chat(20, true), ...(round % 8 === 0 ? [image(`round ${round}`)] : [])];
    const from = performance.now();
    const sent = await Promise.all(orders.map((what) => insist(ask(what, customer.secret))));
    if (orders.length === 2) times.push(performance.now() - from);
    answers.push(...sent.flat());
  }
  const refused = [...refusals];
  attacking = false;
  await bombing;
  const rest = [...(await pictures.end()), ...(await strangers.end())];

  // On a machine that is too slow for all of it a request may be refused, for free; a repeat is answered.
  const answered = answers.filter(({ conclusion }) => conclusion === "paid");
  const refusals503 = answers.filter(({ conclusion }) => conclusion !== "paid");
  expect(refusals503.filter(({ status }) => status !== 503)).toEqual([]);
  expect(answered).toHaveLength(ROUNDS * 2 + Math.ceil(ROUNDS / 8));
  // At least those of the key without money.
  expect(refused.filter((status) => [402, 429, 503].includes(status)).length).toBeGreaterThanOrEqual(UPLOADS);
  expect(new Set(bombs)).not.toContain(200);
  for (const socket of sockets.splice(0)) socket.destroy();
  await until(() => refusals.length === 2 * UPLOADS, PATIENCE);
  await noOpenHolds(router.dataDir, PATIENCE.timeoutMs);
  expect(await expectHonestAnswers(router.dataDir, rich, answers)).toBe(answered.length + 1);
  await expectExactBooks(router.dataDir, upstream, [rich, account]);
  const facts = {
    customer: {
      "refused at first": refusals503.length,
      answers: answers.length,
      "p50 ms": ms(quantile(times, 0.5)),
      "p99 ms": ms(quantile(times, 0.99)),
    },
    attacker: { pictures: tally(rest), bombs: bombs.length, uploads: counts(refusals) },
  };
  process.stdout.write(`${JSON.stringify(facts)}\n`);
});

/** Repeats a repeatable request a few times, like the SDKs. */
async function insist(order: Order): Promise<Sent[]> {
  const sent: Sent[] = [];
  while (sent.at(-1)?.conclusion !== "paid" && sent.length < MOST_TRIES) {
    if (sent.length > 0) await new Promise((resolve) => setTimeout(resolve, 300));
    sent.push(...(await sendAll([order]).all()));
  }
  return sent;
}

const refusals: number[] = [];
const ms = (time: number) => Math.round(time);

function counts(values: readonly number[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const value of values) found[value] = (found[value] ?? 0) + 1;
  return found;
}
