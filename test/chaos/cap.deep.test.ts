// F12, F13: far more parallel requests than a key's spend limit allows. Exactly the allowed number is served
// and charged, through one gateway or several, and with faults of Redis meanwhile.
import { creditsOf } from "@gr/money";
import { HoldState } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { call } from "../e2e/http.ts";
import { type Router, startRouter, type Topology, topologies } from "../e2e/topology.ts";
import { expectExactBooks, expectHonestAnswers, holdsOf, noOpenHolds } from "./books.ts";
import { type CustomerKey, mintKey, openAccount } from "./customers.ts";
import { type Gateway, startGateway } from "./extra-gateway.ts";
import { flushRedis } from "./flush-redis.ts";
import { chat, image, sendAll, tally } from "./load.ts";
import { killProcess } from "./processes.ts";
import type { Order, Sent } from "./send-order.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const REQUESTS = 500;
const ALLOWED = 7;
const IMAGE_CREDITS = 100n;
/** 68 tokens of output are 102 µUSD; with the input, 105 are charged and 190 held: either is two units of 100 µUSD. */
const TEXT_TOKENS = 68;
const TEXT_CREDITS = 2n;
/** Only the spend limit may refuse, also if a machine's clock jumps; and limits are still counted in Redis. */
const UNHINDERED = {
  RATE_LIMIT_BURST_SECONDS: "60",
  RATE_LIMIT_MEDIA_PER_SECOND: "100000",
  RATE_LIMIT_TEXT_PER_SECOND: "100000",
  LOG_LEVEL: "warn",
  MEDIA_MAX_RUNNING: "1000",
};
const SETTLED_MS = 60_000;
const TEST_MS = 600_000;

describe.each(topologies)(
  `${REQUESTS} parallel requests on a cap for ${ALLOWED}: %s`,
  (topology: Topology) => {
    let upstream: Upstream;
    let router: Router;
    const others: Gateway[] = [];
    const accounts: string[] = [];

    beforeAll(async () => {
      upstream = await startUpstream({ imageDelayMs: 1_000, tokenDelayMs: 10 });
      router = await startRouter(topology, { sharedPostgres: true, env: { ...upstream.env, ...UNHINDERED } });
      if (topology === "split") {
        others.push(await startGateway(router, UNHINDERED), await startGateway(router, UNHINDERED));
      }
    });
    afterAll(async () => {
      for (const gateway of others) await gateway.stop();
      await router?.dispose();
      await upstream?.close();
    });

    async function cappedAt(cap: bigint): Promise<CustomerKey> {
      const accountId = await openAccount(router.dataDir, creditsOf("10"));
      accounts.push(accountId);
      return await mintKey(router.dataDir, accountId, { cap });
    }

    async function run(key: CustomerKey, orderOf: (index: number) => Pick<Order, "path" | "body">) {
      const gateways = [router, ...others];
      const load = sendAll(
        Array.from({ length: REQUESTS }, (_, index) => ({
          ...orderOf(index),
          baseUrl: gateways[index % gateways.length]?.baseUrl ?? "",
          secret: key.secret,
        })),
      );
      if (topology === "split") {
        await until(() => load.sent.length > REQUESTS / 10, { timeoutMs: SETTLED_MS });
        await flushRedis(router.dataDir);
        await until(() => load.sent.length > REQUESTS / 5, { timeoutMs: SETTLED_MS });
        await killProcess(router.pid, "redis");
      }
      return await load.end();
    }

    async function expectExactlyAllowed(key: CustomerKey, sent: readonly Sent[], each: bigint) {
      // The reason is in the client's answer and the router's log.
      const odd = sent.filter(({ status }) => status !== 200 && status !== 402);
      expect({ odd: odd.map(({ error }) => error), log: odd.length > 0 ? router.output() : "" }).toEqual({
        odd: [],
        log: "",
      });
      expect(tally(sent)).toEqual({ 200: ALLOWED, "402 spend_limit_exceeded": REQUESTS - ALLOWED });
      await noOpenHolds(router.dataDir, SETTLED_MS);
      expect(await expectHonestAnswers(router.dataDir, key.accountId, sent)).toBe(ALLOWED);
      const holds = [...(await holdsOf(router.dataDir, key.accountId)).values()];
      expect(holds).toHaveLength(ALLOWED);
      for (const hold of holds) {
        expect(hold).toMatchObject({ state: HoldState.CAPTURED, credits: each, chargedCredits: each });
      }
      await expectExactBooks(router.dataDir, upstream, accounts);
      const codes = new Set(sent.flatMap(({ error }) => error?.code ?? []));
      const { body } = await call({ ...router, apiKey: key.secret }, "GET", "/v1/credits?by_api_key=true");
      const usage = body.usage_by_api_key.find(
        (entry: { api_key_id: string }) => entry.api_key_id === key.keyId,
      );
      return { usage, codes };
    }

    test(
      "images",
      async () => {
        const before = (await upstream.bill()).items.length;
        const key = await cappedAt(IMAGE_CREDITS * BigInt(ALLOWED));
        const sent = await run(key, (index) => image(`image ${index}`));
        const { usage, codes } = await expectExactlyAllowed(key, sent, IMAGE_CREDITS);
        expect(usage).toMatchObject({ period_spend: "0.0700", total_requests: ALLOWED });
        // The first refusals arrive while the first images are still being drawn.
        expect(codes).toContain("in_flight");
        expect((await upstream.bill()).items.length - before).toBe(ALLOWED);
        const late = await call({ ...router, apiKey: key.secret }, "POST", "/v1/compat/images/generations", {
          body: { model: "sandbox/image", prompt: "one more" },
        });
        expect([late.status, late.body.error.code]).toEqual([402, "spend_limit_exceeded"]);
      },
      TEST_MS,
    );

    test(
      "text, whole and streamed",
      async () => {
        const before = (await upstream.bill()).items.length;
        const key = await cappedAt(TEXT_CREDITS * BigInt(ALLOWED));
        const sent = await run(key, (index) => chat(TEXT_TOKENS, index % 2 === 0));
        const { usage } = await expectExactlyAllowed(key, sent, TEXT_CREDITS);
        expect(usage).toMatchObject({ period_spend: "0.0014", total_requests: ALLOWED });
        expect((await upstream.bill()).items.length - before).toBe(ALLOWED);
      },
      TEST_MS,
    );
  },
);
