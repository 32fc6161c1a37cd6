// kill -9 of the text proxy at every dangerous point of a request, with the real billing on a real PostgreSQL.
// Afterwards no hold is open, the books equal the upstream's bill to the last unit, and the customer is charged once
// for an answer that can be fetched, else never. The names have the crash point of the design.
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Principal } from "@gr/identity";
import {
  closeHttpApp,
  connectPostgres,
  createHttpApp,
  createLogger,
  defineModule,
  type Module,
  type Pool,
  type RunningProcess,
  startProcess,
} from "@gr/runtime";
import { startChild, type TestChild, until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { call } from "../e2e/http.ts";
import { billingOf } from "../e2e/operator.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { BillingDoor, type Passing } from "./doors/billing-door.ts";
import { MeteredUpstream } from "./metered-upstream.ts";
import { letHoldsBeOverdue } from "./overdue-holds-store.ts";

const TEXT_PROXY = fileURLToPath(new URL("../../services/text-proxy/src/main.ts", import.meta.url));
const PATIENCE = { timeoutMs: 180_000 };
const TEST_MS = 600_000;
/** The router's own text proxy must not resolve the requests of the killed one. */
const NEVER_MS = "600000";
const COST = 1_230_000_000n;
const CHARGE = 13n;

let router: Router;
let billing: Awaited<ReturnType<typeof billingOf>>;
let upstream: MeteredUpstream;
let door: BillingDoor;
let peers: RunningProcess;
let child: TestChild;
let env: Record<string, string>;
/** Environment with the direct address of billing, without the door. */
let rivalEnv: Record<string, string>;
let port: number;
let chargedBefore = 0n;
/** The database of the router. */
let books: Pool;

beforeAll(async () => {
  router = await startRouter("all-in-one", { sharedPostgres: true, env: { RESOLVE_INTERVAL_MS: NEVER_MS } });
  billing = await billingOf(router.dataDir);
  upstream = await new MeteredUpstream().start();
  const runtime = JSON.parse(await readFile(join(router.dataDir, "runtime.json"), "utf8"));
  const shared = { INTERNAL_AUTH_SECRET: runtime.internal_auth_secret, LOG_LEVEL: "silent" };
  const free = { SERVICE_HTTP_PORT: "0", SERVICE_RPC_PORT: "0" };
  door = new BillingDoor(billing);
  const doorway = await startProcess([door.module], { env: { ...shared, ...free } });
  env = {
    ...shared,
    BILLING_RPC_URL: `http://127.0.0.1:${doorway.rpcPort}`,
    CATALOG_RPC_URL: runtime.rpc_urls.catalog,
    TEXT_UPSTREAM_BASE_URL: upstream.url,
    TEXT_UPSTREAM_API_KEY: "sandbox",
    TEXT_UPSTREAM_KIND: "openrouter",
    RESOLVE_INTERVAL_MS: "200",
  };
  const log = createLogger("silent", "test");
  books = await connectPostgres({ url: router.databaseUrl ?? "", poolSize: 1, schema: "billing", log });
  rivalEnv = { ...env, BILLING_RPC_URL: runtime.rpc_urls.billing };
  child = await startChild(TEXT_PROXY, env);
  port = Number(new URL(child.url).port);
  const { body } = await call(router, "POST", "/v1/auth/test");
  const caller = { accountId: router.accountId, keyId: body.api_key.id, kind: "normal" as const };
  const edge = await startProcess([edgeFor(caller)], {
    env: { ...shared, ...free, TEXT_PROXY_HTTP_URL: child.url },
  });
  peers = {
    ...edge,
    stop: async () => {
      await edge.stop();
      await doorway.stop();
    },
  };
});
afterAll(async () => {
  await child?.kill();
  await peers?.stop();
  await upstream?.stop();
  await books?.end();
  await router?.dispose();
});
beforeEach(async () => {
  // A test that failed half-way must not affect the next one.
  disarm();
  upstream.read.length = 0;
  upstream.findable = true;
  if (!child.alive()) child = await startChild(TEXT_PROXY, env, port);
  await letHoldsBeOverdue(books);
  await until(async () => (await billing.verifyLedger({})).openHolds === 0n, PATIENCE);
  chargedBefore = (await billing.verifyLedger({})).chargedCredits;
});

const WHOLE =
  '{"id":"g","choices":[{"message":{"content":"hé"}}],"usage":{"cost":0.00123,"prompt_tokens":1,"completion_tokens":2}}';
const EVENTS = [
  'data: {"id":"g","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
  'data: {"id":"g","choices":[{"index":0,"delta":{"content":"é"}}]}\n\n',
  'data: {"id":"g","choices":[],"usage":{"cost":0.00123,"prompt_tokens":1,"completion_tokens":2}}\n\n',
  "data: [DONE]\n\n",
];

interface Shape {
  readonly name: string;
  readonly stream: boolean;
  /** Text that the client gets. */
  readonly text: string;
  answer(response: ServerResponse, id: string): void;
}

const whole: Shape = {
  name: "a whole answer",
  stream: false,
  text: WHOLE.replace(/\}$/, ',"cost":0.0013}'),
  answer: (response, id) => {
    upstream.charge(id, COST);
    response.writeHead(200, { "content-type": "application/json" }).end(WHOLE);
  },
};
const stream: Shape = {
  name: "a stream",
  stream: true,
  text: EVENTS.join(""),
  answer: (response, id) => {
    upstream.charge(id, COST);
    response.writeHead(200, { "content-type": "text/event-stream" }).end(EVENTS.join(""));
  },
};

let keys = 0;
function newKey(): string {
  keys += 1;
  return `crash-${keys}`;
}

async function ask({ stream: isStream }: Shape, key?: string) {
  const messages = [{ role: "user", content: "hi" }];
  const response = await fetch(`${peers.publicUrl("edge")}/v1/compat/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key === undefined ? {} : { "idempotency-key": key }) },
    body: JSON.stringify({ model: "sandbox/chat", messages, stream: isStream }),
  });
  const replayed = response.headers.get("idempotency-replayed");
  return { status: response.status, replayed, text: await response.text() };
}

function disarm(): void {
  door.open();
  upstream.accept = () => false;
}

/** Sends a request, kills the process at `arm`, and starts another one. The client never sees the end of its answer. */
async function crashAt(
  arm: (crash: () => Promise<void>) => void,
  shape = whole,
  key?: string,
): Promise<void> {
  let dead = false;
  arm(async () => {
    await child.kill();
    dead = true;
  });
  const answer = await ask(shape, key).catch(() => undefined);
  await until(() => dead, PATIENCE);
  await letHoldsBeOverdue(books);
  expect((await billing.verifyLedger({})).differences).toEqual([]);
  expect(answer?.text).not.toBe(shape.text);
  disarm();
  upstream.script = shape.answer;
  child = await startChild(TEXT_PROXY, env, port);
}

const crashBefore = (what: Passing) => (crash: () => Promise<void>) => {
  door.before = async (passing) => {
    if (passing !== what) return;
    await crash();
    throw new Error("the caller is dead");
  };
};
const crashAfter = (what: Passing) => (crash: () => Promise<void>) => {
  door.after = async (passing) => {
    if (passing === what) await crash();
  };
};

/**
 * No hold stays open, the books agree with themselves and with the upstream, and the charge is this number of credits.
 */
async function expectSettled(charged: bigint): Promise<void> {
  await until(async () => (await billing.verifyLedger({})).openHolds === 0n, PATIENCE);
  const verdict = await billing.verifyLedger({});
  expect(verdict.differences).toEqual([]);
  expect(verdict.chargedCredits - chargedBefore).toBe(charged);
  expect(BigInt(verdict.chargedCostPicoUsd) + BigInt(verdict.lostCostPicoUsd)).toBe(upstream.billed);
}

/** Under a free key the request runs anew and is charged once; later repeats get its answer. */
async function expectRunsAnew(shape: Shape, key: string): Promise<void> {
  const sent = upstream.read.length;
  expect(await ask(shape, key)).toEqual({ status: 200, replayed: null, text: shape.text });
  expect(await ask(shape, key)).toEqual({ status: 200, replayed: "true", text: shape.text });
  expect(upstream.read).toHaveLength(sent + 1);
}

async function expectReplayed(shape: Shape, key: string): Promise<void> {
  const sent = upstream.read.length;
  expect(await ask(shape, key)).toEqual({ status: 200, replayed: "true", text: shape.text });
  expect(upstream.read).toHaveLength(sent);
}

describe("C2, the hold committed and nothing dispatched", () => {
  test(
    "before billing's answer arrives: freed, and the key runs anew",
    async () => {
      const key = newKey();
      await crashAt(crashAfter("place"), whole, key);
      await expectSettled(0n);
      expect(upstream.read).toEqual([]);
      await expectRunsAnew(whole, key);
      await expectSettled(CHARGE);
    },
    TEST_MS,
  );

  test(
    "on a connection of which the upstream has read nothing: freed, not charged",
    async () => {
      await crashAt((crash) => {
        upstream.accept = (socket) => {
          void crash().then(() => socket.destroy());
          return true;
        };
      });
      await expectSettled(0n);
      expect(upstream.read).toEqual([]);
    },
    TEST_MS,
  );
});

describe("C3, dispatched and not answered", () => {
  test(
    "and billed by the upstream: found by our id, our loss; the key runs anew",
    async () => {
      const key = newKey();
      await crashAt(
        (crash) => {
          upstream.script = async (_, id) => {
            upstream.charge(id, COST);
            await crash();
          };
        },
        whole,
        key,
      );
      await expectSettled(0n);
      expect(upstream.read).toHaveLength(1);
      await expectRunsAnew(whole, key);
      await expectSettled(CHARGE);
    },
    TEST_MS,
  );

  test(
    "and never billed: freed",
    async () => {
      await crashAt((crash) => {
        upstream.script = crash;
      });
      await expectSettled(0n);
    },
    TEST_MS,
  );
});

test(
  "C5, in the middle of a stream: what the upstream bills is our loss, nothing is kept, the key runs anew",
  async () => {
    const key = newKey();
    await crashAt(
      (crash) => {
        upstream.script = async (response, id) => {
          upstream.charge(id, COST);
          response.writeHead(200, { "content-type": "text/event-stream" }).write(EVENTS[0]);
          await until(async () => (await billing.verifyLedger({})).openHolds === 1n, PATIENCE);
          await crash();
        };
      },
      stream,
      key,
    );
    await expectSettled(0n);
    await expectRunsAnew(stream, key);
    await expectSettled(CHARGE);
  },
  TEST_MS,
);

describe("C6, the answer read and not captured", () => {
  test(
    "without a key: our loss, never charged to a client that got no answer",
    async () => {
      upstream.script = whole.answer;
      await crashAt(crashBefore("capture"));
      await expectSettled(0n);
    },
    TEST_MS,
  );

  test(
    "with a key, before the answer was kept: our loss, and the key runs anew",
    async () => {
      const key = newKey();
      upstream.script = stream.answer;
      await crashAt(crashBefore("keep"), stream, key);
      await expectSettled(0n);
      await expectRunsAnew(stream, key);
      await expectSettled(CHARGE);
    },
    TEST_MS,
  );

  test.each([whole, stream])(
    "with a key, $name kept: charged once by whoever comes next, and had by asking again",
    async (shape) => {
      const key = newKey();
      upstream.script = shape.answer;
      await crashAt(crashBefore("capture"), shape, key);
      await expectSettled(CHARGE);
      await expectReplayed(shape, key);
      await expectSettled(CHARGE);
    },
    TEST_MS,
  );
});

describe("C8, the answer captured and not sent", () => {
  test.each([whole, stream])(
    "with a key: $name is had by asking again, charged once",
    async (shape) => {
      const key = newKey();
      upstream.script = shape.answer;
      await crashAt(crashAfter("capture"), shape, key);
      await expectReplayed(shape, key);
      await expectSettled(CHARGE);
    },
    TEST_MS,
  );

  test(
    "without a key: charged once, and not again",
    async () => {
      upstream.script = whole.answer;
      await crashAt(crashAfter("capture"));
      await expectSettled(CHARGE);
      expect(upstream.read).toHaveLength(1);
    },
    TEST_MS,
  );
});

describe("C10, a late worker against the resolver of another process", () => {
  /** The answer was not charged, so no client gets it. */
  function expectWithheld(answer: Awaited<ReturnType<typeof ask>>): void {
    expect(answer.status).toBe(504);
    expect(answer.text).not.toContain("choices");
  }

  /** The worker waits at the door until another process has resolved its hold; its client waits for it. */
  async function resolvedMeanwhile(at: Passing, key?: string) {
    await child.kill();
    child = await startChild(TEXT_PROXY, { ...env, RESOLVE_INTERVAL_MS: NEVER_MS }, port);
    const rival = await startChild(TEXT_PROXY, rivalEnv);
    upstream.script = whole.answer;
    let arrived = false;
    const released = Promise.withResolvers<void>();
    door.before = async (passing) => {
      if (passing !== at) return;
      arrived = true;
      await released.promise;
    };
    const answer = ask(whole, key);
    try {
      await until(() => arrived, PATIENCE);
      await letHoldsBeOverdue(books);
      await until(async () => (await billing.verifyLedger({})).openHolds === 0n, PATIENCE);
    } finally {
      await rival.kill();
      released.resolve();
    }
    return answer;
  }

  test(
    "who freed the hold: the answer is withheld, and its cost is ours, once",
    async () => {
      upstream.findable = false;
      const answer = await resolvedMeanwhile("capture");
      expectWithheld(answer);
      await expectSettled(0n);
    },
    TEST_MS,
  );

  test(
    "who had found the cost: the answer is withheld, and the cost is not booked again",
    async () => {
      const answer = await resolvedMeanwhile("capture");
      expectWithheld(answer);
      await expectSettled(0n);
    },
    TEST_MS,
  );

  test(
    "who freed it before its answer was kept: the answer is withheld, and the key runs anew",
    async () => {
      upstream.findable = false;
      const key = newKey();
      const answer = await resolvedMeanwhile("keep", key);
      expectWithheld(answer);
      await expectSettled(0n);
      await expectRunsAnew(whole, key);
      await expectSettled(CHARGE);
    },
    TEST_MS,
  );

  test(
    "who charged the kept answer: charged once, and both get it",
    async () => {
      const key = newKey();
      const answer = await resolvedMeanwhile("capture", key);
      expect(answer).toEqual({ status: 200, replayed: null, text: whole.text });
      await expectReplayed(whole, key);
      await expectSettled(CHARGE);
    },
    TEST_MS,
  );
});

/** Replaces the gateway for the text proxy: a public listener with an authenticated client. */
function edgeFor(caller: Principal): Module {
  return defineModule({
    name: "edge",
    needs: ["text-proxy"],
    config: z.object({}),
    create: async ({ log, mount }) => {
      const app = createHttpApp({ log, requestId: () => randomUUID() });
      app.addHook("onRequest", async (request) => {
        request.principal = caller;
      });
      await mount(app, "text-proxy", [{ prefix: "/v1/compat/chat/completions" }]);
      return {
        start: async () => {
          await app.listen({ host: "127.0.0.1", port: 0 });
        },
        publicUrl: () => `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
        stop: () => closeHttpApp(app, 600_000),
      };
    },
  });
}
