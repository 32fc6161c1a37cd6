// Rate limits as clients meet them, over real HTTP in both topologies, with and without Redis.

import { createKeySecret } from "@gr/identity";
import { freePort, testRedis } from "@gr/testing";
import { afterEach, describe, expect, test } from "@jest/globals";
import { type Answer, call, errorOf, open } from "../test/call.ts";
import { sendRaw } from "../test/raw-http.ts";
import { type Ring, startRing, type Topology } from "../test/ring.ts";

const CHAT = "/v1/compat/chat/completions";
const IMAGES = "/v1/compat/images/generations";

/** Bursts of 3 to 7, so slow afterwards that no request is regained while a test runs. */
const TIGHT = {
  RATE_LIMIT_TEXT_PER_SECOND: "3",
  RATE_LIMIT_MEDIA_PER_SECOND: "4",
  RATE_LIMIT_OTHER_PER_SECOND: "5",
  RATE_LIMIT_ANONYMOUS_PER_SECOND: "6",
  RATE_LIMIT_DOWNLOADS_PER_SECOND: "7",
};

const DURATION = /^\d+ms$|^\d+(\.\d{1,3})?s$/;

const limitsOf = ({ headers }: Answer) => ({
  limit: headers.get("x-ratelimit-limit-requests"),
  remaining: headers.get("x-ratelimit-remaining-requests"),
  reset: headers.get("x-ratelimit-reset-requests"),
});
const NONE = { limit: null, remaining: null, reset: null };

/** The gateway alone decides, independent of the place of its services. */
const RINGS: readonly { topology: Topology; shared: boolean }[] = [
  { topology: "one process", shared: false },
  { topology: "a process each", shared: true },
];

describe.each(RINGS)(
  "limits, $topology, Redis: $shared",
  ({ topology, shared }: { topology: Topology; shared: boolean }) => {
    let ring: Ring;
    const url = (path: string) => `${ring.baseUrl}${path}`;
    const start = async (settings: Record<string, string> = {}) => {
      const redis = shared ? { REDIS_URL: (await testRedis()).url, REDIS_TIMEOUT_MS: "10000" } : {};
      // One second's worth at once; bursts are used up at once, so little is regained meanwhile.
      ring = await startRing(topology, { ...TIGHT, RATE_LIMIT_BURST_SECONDS: "1", ...redis, ...settings });
    };
    const sendAll = (count: number, path: string, init: Parameters<typeof call>[1]) =>
      Promise.all(Array.from({ length: count }, () => call(url(path), init)));
    /** Sends until one is refused. */
    const exhaust = async (path: string, init: Parameters<typeof call>[1]): Promise<Answer> => {
      for (let round = 0; round < 50; round += 1) {
        const refused = (await sendAll(20, path, init)).find(({ status }) => status === 429);
        if (refused !== undefined) return refused;
      }
      throw new Error("nothing was refused");
    };
    afterEach(() => ring.stop());

    test("every answer of a key tells its limits, each class its own", async () => {
      await start();
      const key = ring.keys.add("normal").secret;
      for (const [path, limit, body] of [
        [CHAT, 3, {}],
        [IMAGES, 4, {}],
        ["/v1/credits", 5, undefined],
        ["/v1/models", undefined, undefined],
      ] as const) {
        const answer = await call(url(path), { key, ...(body === undefined ? {} : { body }) });
        expect(answer.status).toBe(200);
        expect(limitsOf(answer)).toMatchObject({
          limit: String(limit ?? 5),
          remaining: expect.stringMatching(/^\d$/),
          reset: expect.stringMatching(DURATION),
        });
      }
    });

    test("the web tokens of an account have one limit together", async () => {
      await start({ RATE_LIMIT_TEXT_PER_SECOND: "1", RATE_LIMIT_BURST_SECONDS: "60" });
      const until = Date.now() + 240_000;
      const [one, other, foreign] = [
        ring.keys.addWebToken(until, "account"),
        ring.keys.addWebToken(until, "account"),
        ring.keys.addWebToken(until, "another account"),
      ];
      const answers = await Promise.all(
        [one, other].map(({ secret }) => sendAll(20, CHAT, { key: secret, body: {} })),
      );
      const remaining = answers.flat().map((answer) => Number(limitsOf(answer).remaining));
      // 20 if nothing is regained meanwhile; counted apart, each would have 40 remaining.
      expect(Math.min(...remaining)).toBeLessThan(38);
      const fresh = await call(url(CHAT), { key: foreign.secret, body: {} });
      expect(limitsOf(fresh).remaining).toBe("59");
    });

    test("all keys of an account have one limit together, and the tighter one is told", async () => {
      await start({
        RATE_LIMIT_TEXT_PER_SECOND: "50",
        RATE_LIMIT_ACCOUNT_TEXT_PER_SECOND: "1",
        RATE_LIMIT_BURST_SECONDS: "60",
      });
      const keys = Array.from({ length: 80 }, () => ring.keys.add("normal", { accountId: "acme" }));
      const first = await call(url(CHAT), { key: keys[0]?.secret ?? "", body: {} });
      expect(limitsOf(first)).toMatchObject({ limit: "60", remaining: "59" });
      const answers: Answer[] = [];
      for (let round = 0; round < 50 && !answers.some(({ status }) => status === 429); round += 1) {
        answers.push(
          ...(await Promise.all(keys.map(({ secret }) => call(url(CHAT), { key: secret, body: {} })))),
        );
      }
      const refused = answers.find(({ status }) => status === 429);
      expect(refused === undefined ? "" : errorOf(refused).message).toMatch(
        /text requests: 1 per second and account, 60 at once/,
      );
      // Other classes of the account, and other accounts, still work.
      expect((await call(url(IMAGES), { key: keys[0]?.secret ?? "", body: {} })).status).toBe(200);
      expect((await call(url(CHAT), { key: ring.keys.add("normal").secret, body: {} })).status).toBe(200);
    });

    test("an account has five times the limit of its keys by default", async () => {
      await start({ RATE_LIMIT_TEXT_PER_SECOND: "2", RATE_LIMIT_BURST_SECONDS: "10" });
      const keys = Array.from({ length: 10 }, () => ring.keys.add("normal", { accountId: "acme" }));
      let refused: Answer | undefined;
      for (let round = 0; round < 100 && refused === undefined; round += 1) {
        const answers = await Promise.all(
          keys.flatMap(({ secret }) => sendAll(10, CHAT, { key: secret, body: {} })),
        );
        refused = answers.flat().find(({ status }) => status === 429);
      }
      expect(refused === undefined ? "" : errorOf(refused).message).toMatch(
        /10 per second and account, 100 at once/,
      );
    });

    test("the first request of a key leaves the burst less one", async () => {
      await start();
      const key = ring.keys.add("normal").secret;
      const answer = await call(url(CHAT), { key, body: {} });
      expect(limitsOf(answer)).toEqual({
        limit: "3",
        remaining: "2",
        reset: expect.stringMatching(DURATION),
      });
    });

    test("a request above the limit is a 429 that says how long to wait", async () => {
      await start();
      const key = ring.keys.add("normal").secret;
      const refused = await exhaust(CHAT, { key, body: { do: "crash" } });
      expect(errorOf(refused)).toEqual({
        type: "rate_limit_error",
        code: "rate_limit_exceeded",
        message: expect.stringMatching(
          /^Rate limit reached for text requests: 3 per second and API key, 3 at once\. Try again in \d+ms\.$/,
        ),
      });
      expect(limitsOf(refused)).toEqual({
        limit: "3",
        remaining: "0",
        reset: expect.stringMatching(DURATION),
      });
      expect(refused.headers.get("retry-after")).toBe("1");
      const wait = Number(refused.headers.get("retry-after-ms"));
      expect(wait).toBeGreaterThan(0);
      expect(wait).toBeLessThanOrEqual(334);
      expect(refused.headers.get("x-should-retry")).toBe("true");
      expect(refused.headers.get("x-request-id")).not.toBeNull();
      // Other classes and other keys still work.
      expect((await call(url(IMAGES), { key, body: {} })).status).toBe(200);
      const another = ring.keys.add("normal").secret;
      expect((await call(url(CHAT), { key: another, body: {} })).status).toBe(200);
    });

    test("the limit is decided before the body has arrived", async () => {
      await start({ RATE_LIMIT_TEXT_PER_SECOND: "1" });
      const key = ring.keys.add("normal").secret;
      const head = `POST ${CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
      await exhaust(CHAT, { key, body: {} });
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => sendRaw(ring.baseUrl, `${head}Content-Length: 1000\r\n\r\n`, 20)),
      );
      expect(answers.flat().some(({ status }) => status === 429)).toBe(true);
    });

    test("a stream tells its limits before its first event", async () => {
      await start();
      const key = ring.keys.add("normal").secret;
      const response = await open(url(CHAT), { key, body: { do: "stream" } });
      expect(response.headers.get("content-type")).toBe("text/event-stream");
      expect(response.headers.get("x-ratelimit-limit-requests")).toBe("3");
      expect(response.headers.get("x-ratelimit-remaining-requests")).toBe("2");
      expect(response.headers.get("x-ratelimit-reset-requests")).toMatch(DURATION);
      ring.stage.released.resolve();
      await response.text();
    });

    test("errors of modules tell the limits too", async () => {
      await start();
      const key = ring.keys.add("normal").secret;
      const answer = await call(url(CHAT), { key, body: { do: "fail", reason: "provider_error" } });
      expect(answer.status).toBe(502);
      expect(limitsOf(answer)).toMatchObject({ limit: "3", remaining: "2" });
    });

    test("management keys have no limit and hear of none", async () => {
      await start();
      const key = ring.keys.add("management").secret;
      const answers = await sendAll(30, "/v1/api-keys", { key });
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      for (const answer of answers) expect(limitsOf(answer)).toEqual(NONE);
    });

    test.each([
      ["no key", "/v1/models", {}, 200],
      ["a missing key", "/v1/credits", {}, 401],
      ["a refused key", "/v1/credits", { key: "gr_live_no" }, 401],
      ["a path that is not there", "/nowhere", {}, 404],
    ] as const)("%s is counted by address", async (_what, path, init, status) => {
      await start();
      const known = ring.keys.add("normal").secret;
      expect((await call(url("/v1/credits"), { key: known })).status).toBe(200);
      const first = await call(url(path), init);
      expect(first.status).toBe(status);
      expect(limitsOf(first)).toMatchObject({ limit: "6", remaining: "5" });
      const headers = {
        "x-forwarded-for": "203.0.113.7",
        "x-real-ip": "203.0.113.8",
        forwarded: "for=1.2.3.4",
      };
      const refused = await exhaust(path, { ...init, headers });
      expect(errorOf(refused).message).toMatch(
        /requests without a valid API key: 6 per second and IP address/,
      );
      // Other clients at the same address do not delay a verified key.
      for (const _ of [1, 2]) {
        expect((await call(url("/v1/credits"), { key: known })).status).toBe(200);
      }
    });

    test("an address over its limit costs no look-up of a key", async () => {
      await start({ RATE_LIMIT_ANONYMOUS_PER_SECOND: "1" });
      await exhaust("/v1/models", {});
      const before = ring.keys.lookUps;
      const strangers = Array.from({ length: 30 }, (_, index) => {
        const key = createKeySecret("normal");
        return call(url(index % 2 === 0 ? "/v1/credits" : "/v1/models"), { key });
      });
      const statuses = (await Promise.all(strangers)).map(({ status }) => status);
      // One a second still gets an answer about its key.
      const unauthorized = statuses.filter((status) => status === 401).length;
      expect(statuses.filter((status) => status === 429)).toHaveLength(statuses.length - unauthorized);
      expect(ring.keys.lookUps - before).toBe(unauthorized);
    });

    test("downloads have a limit of their own, preflights none", async () => {
      await start();
      expect(limitsOf(await call(url("/media/a/b.webp")))).toMatchObject({ limit: "7", remaining: "6" });
      await exhaust("/media/a/b.webp", {});
      expect((await call(url("/v1/models"))).status).toBe(200);
      const preflights = await sendAll(30, CHAT, {
        method: "OPTIONS",
        headers: { origin: "https://page.example" },
      });
      expect(new Set(preflights.map(({ status }) => status))).toEqual(new Set([204]));
    });

    test("0 switches a limit off", async () => {
      await start({ RATE_LIMIT_TEXT_PER_SECOND: "0" });
      const key = ring.keys.add("normal").secret;
      const answers = await sendAll(20, CHAT, { key, body: {} });
      for (const answer of answers) {
        expect(answer.status).toBe(200);
        expect(limitsOf(answer)).toEqual(NONE);
      }
    });

    test("refusals are counted by limit", async () => {
      await start();
      await exhaust("/nowhere", {});
      expect(await ring.metrics()).toMatch(/rate_limit_refusals_total\{limit="anonymous"\} [1-9]/);
    });
  },
);

test("a gateway starts and serves while its Redis is not there", async () => {
  const ring = await startRing("one process", { REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
  try {
    const answer = await call(`${ring.baseUrl}/v1/models`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-ratelimit-limit-requests")).not.toBeNull();
  } finally {
    await ring.stop();
  }
});
