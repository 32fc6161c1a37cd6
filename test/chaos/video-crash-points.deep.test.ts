// kill -9 in each phase of an asynchronous video, in both topologies, while the simulated provider survives. Its client
// repeats the request under its Idempotency-Key until it has the video. It gets one, pays for one, and the provider's
// bill is in the books to the last unit.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { sandboxEnvironment } from "@gr/all-in-one";
import { HoldState } from "@gr/proto/billing";
import { connectPostgres, createLogger, type Pool } from "@gr/runtime";
import { freePort, until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type Answer, call } from "../e2e/http.ts";
import { billingOf } from "../e2e/operator.ts";
import { type Router, startRouter, type Topology, topologies } from "../e2e/topology.ts";
import { holdsOf } from "./books.ts";
import { type Moment, ProviderDoor } from "./doors/provider-door.ts";
import { letHoldsBeOverdue } from "./overdue-holds-store.ts";
import { killProcess, pidOf } from "./processes.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const PATH = "/v1/compat/videos/generations";
const VIDEO = { model: "sandbox/video", prompt: "a lighthouse", seconds: 1 };
/** Credits a second. */
const PRICE = 500n;
const PATIENCE = { timeoutMs: 180_000 };
const ASK_AGAIN_MS = 100;
const TEST_MS = 600_000;
const ENV = {
  // A client that insists sends many requests.
  RATE_LIMIT_MEDIA_PER_SECOND: "0",
  RATE_LIMIT_OTHER_PER_SECOND: "0",
  MEDIA_LEASE_MS: "2000",
  HOLD_GRACE_MS: "1000",
  RESOLVE_INTERVAL_MS: "300",
  VIDEO_TIMEOUT_MS: "120000",
};

/** Statements at which a process can be blocked: they need a row that a test has locked. */
const SAVES_OPERATION = "UPDATE generation SET operations = %";
/** Billing stores no step until this lock ends. */
const NO_STEPS = "LOCK TABLE billing.step IN EXCLUSIVE MODE";
const ENDS_ROW = "%UPDATE generation SET state = $3%";

type Crash = () => Promise<void>;

/** A phase of a video's life, with the way to kill its process in it. */
interface Phase {
  readonly name: string;
  /** Whether the client must begin anew, since no process has the job's id. */
  readonly lost?: boolean;
  /** Whether even the provider has not received it. */
  readonly unsent?: boolean;
  arm(crash: Crash): void;
}

const at = (wanted: Moment, crash: Crash, wantedCount = 1) => {
  door.step = async (moment, count) => {
    if (moment !== wanted || count !== wantedCount) return;
    await crash();
    throw new Error("who asked is dead");
  };
};

/** The answer passes on; its process is killed in the next statement. */
const inStatement = (wanted: Moment, like: string, crash: Crash) => {
  door.step = async (moment) => {
    if (moment !== wanted) return;
    door.step = async () => undefined;
    await billed();
    const unlock = await lock("SELECT FROM media_generation.generation WHERE booked_at IS NULL FOR UPDATE");
    void until(() => isWaiting(like), PATIENCE)
      .then(crash)
      .then(() => forget(like))
      .finally(unlock);
  };
};

const PHASES: readonly Phase[] = [
  {
    name: "held and in the log, nothing sent",
    lost: true,
    unsent: true,
    arm: (crash) => at("before submit", crash),
  },
  {
    name: "accepted by the provider, whose answer has not come",
    lost: true,
    arm: (crash) =>
      at("after submit", async () => {
        await billed();
        await crash();
      }),
  },
  {
    name: "answered by the provider, its job not written down",
    lost: true,
    arm: (crash) => inStatement("after submit", SAVES_OPERATION, crash),
  },
  { name: "its job written down, not polled", arm: (crash) => at("before poll", crash) },
  { name: "being polled", arm: (crash) => at("after poll", crash, 2) },
  { name: "made, nothing of it fetched", arm: (crash) => at("before content", crash) },
  { name: "half fetched", arm: (crash) => at("half of content", crash) },
  {
    name: "stored, its end not written down",
    arm: (crash) => inStatement("half of content", ENDS_ROW, crash),
  },
  {
    name: "its end written down, not charged",
    arm: (crash) => {
      door.step = async (moment) => {
        if (moment !== "half of content") return;
        const unlock = await lock(NO_STEPS);
        void until(async () => (await rows("succeeded")) > 0, PATIENCE)
          .then(crash)
          .finally(unlock);
      };
    },
  },
  {
    name: "charged, which is not written down",
    arm: (crash) => {
      door.step = async (moment) => {
        if (moment !== "half of content") return;
        const unlockHold = await lock(NO_STEPS);
        void (async () => {
          await until(async () => (await rows("succeeded")) > 0, PATIENCE);
          const unlockRow = await lock(
            "SELECT FROM media_generation.generation WHERE booked_at IS NULL FOR UPDATE",
          );
          await unlockHold();
          await until(async () => (await openHolds()) === 0n, PATIENCE);
          await crash();
          await unlockRow();
        })();
      };
    },
  },
  {
    name: "charged and in the log",
    arm: (crash) => {
      void until(async () => {
        const { rows: found } = await db.query(
          "SELECT FROM media_generation.generation WHERE booked_at IS NOT NULL AND created_at > $1",
          [begunAt],
        );
        return found.length > 0;
      }, PATIENCE).then(crash);
    },
  },
];

let upstream: Upstream;
let door: ProviderDoor;
/** The first router, which owns the data, and the running one. */
let owner: Router;
let router: Router;
let db: Pool;
let env: Record<string, string>;
let begunAt: Date;
let chargedBefore: bigint;
let capturedBefore: number;
let billedBefore: number;
let submittedBefore: number;

async function openHolds(): Promise<bigint> {
  return (await (await billingOf(router.dataDir)).verifyLedger({})).openHolds;
}

async function captured(): Promise<number> {
  const holds = [...(await holdsOf(router.dataDir, router.accountId)).values()];
  return holds.filter(({ state }) => state === HoldState.CAPTURED).length;
}

/** Counts rows of this test, in this state, and not booked. */
async function rows(state: string): Promise<number> {
  const { rows: found } = await db.query(
    "SELECT FROM media_generation.generation WHERE state = $1 AND booked_at IS NULL",
    [state],
  );
  return found.length;
}

/** Locks rows or a table like a long transaction. @returns unlocks them */
async function lock(statement: string): Promise<() => Promise<void>> {
  const client = await db.connect();
  await client.query("BEGIN");
  await client.query(statement);
  return async () => {
    await client.query("ROLLBACK");
    client.release();
  };
}

const WAITING = "wait_event_type = 'Lock' AND query LIKE $1 AND datname = current_database()";

async function isWaiting(like: string): Promise<boolean> {
  return (await db.query(`SELECT FROM pg_stat_activity WHERE ${WAITING}`, [like])).rows.length > 0;
}

/** Ends the statement of a dead process, which would continue once it gets its lock. */
async function forget(like: string): Promise<void> {
  await db.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${WAITING}`, [like]);
}

/** Resolves once the provider has done and billed the work. */
async function billed(): Promise<void> {
  await until(async () => (await upstream.bill()).items.length > billedBefore, PATIENCE);
}

/** Moves deadlines into the past: a job that can be neither continued nor looked up is then free. */
async function letDeadlinesPass(): Promise<void> {
  await db.query("UPDATE media_generation.generation SET deadline_at = now() WHERE booked_at IS NULL");
  await letHoldsBeOverdue(db);
}

const ask = (key: string): Promise<Answer> =>
  call(router, "POST", PATH, {
    body: VIDEO,
    headers: { prefer: "respond-async", "idempotency-key": key },
  });

/** Repeats the request until there is an answer. */
async function insist(key: string): Promise<Answer> {
  let answer: Answer | undefined;
  await until(async () => {
    answer = await ask(key);
    if (answer.status !== 200) await sleep(ASK_AGAIN_MS);
    return answer.status === 200;
  }, PATIENCE).catch((error) => {
    throw new Error(`no video; the last answer was ${answer?.status} ${JSON.stringify(answer?.body)}`, {
      cause: error,
    });
  });
  return answer as Answer;
}

/** Resolves with status and cost of each entry of the log of this test, once all have ended. The books may end before. */
async function endedEntries(): Promise<[status: string, cost: number][]> {
  let entries: [string, number][] = [];
  const path = `/v1/generations?created_after=${begunAt.toISOString()}`;
  await until(async () => {
    const { body } = await call(router, "GET", path);
    entries = body.data.map((entry: { status: string; cost: number }) => [entry.status, entry.cost]);
    return !entries.some(([status]) => status === "running");
  }, PATIENCE);
  return entries;
}

async function kill(topology: Topology): Promise<void> {
  if (topology === "split") await killProcess(router.pid, "media-generation");
  else await router.kill();
}

/** @param before pid of the media process that died */
async function revive(topology: Topology, before: number): Promise<void> {
  if (topology === "all-in-one") {
    router = await startRouter(topology, { dataDir: owner.dataDir, env });
    return;
  }
  await until(async () => (await pidOf(router.pid, "media-generation")) !== before, PATIENCE);
}

describe.each(topologies)("%s", (topology) => {
  beforeAll(async () => {
    upstream = await startUpstream();
    door = await new ProviderDoor(simulatorOf(upstream)).start();
    env = { ...sandboxEnvironment(door.url), ...ENV, PORT: String(await freePort()) } as Record<
      string,
      string
    >;
    owner = await startRouter(topology, { sharedPostgres: true, env });
    router = owner;
    env["DATABASE_URL"] = owner.databaseUrl ?? "";
    const log = createLogger("silent", "test");
    db = await connectPostgres({ url: env["DATABASE_URL"], poolSize: 5, schema: "public", log });
  });
  afterAll(async () => {
    await db?.end();
    if (router !== owner) await router?.stop();
    await owner?.dispose();
    await door?.stop();
    await upstream?.close();
  });
  beforeEach(async () => {
    const { chargedCredits } = await (await billingOf(router.dataDir)).verifyLedger({});
    chargedBefore = chargedCredits;
    capturedBefore = await captured();
    billedBefore = (await upstream.bill()).items.length;
    submittedBefore = door.submitted;
    begunAt = new Date();
  });
  afterEach(() => door.open());

  /** Kills the media process at `arm`, and ensures that one runs again. @returns the first answer */
  async function crashIn(
    { arm }: Pick<Phase, "arm">,
    begin: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const pid = topology === "split" ? await pidOf(router.pid, "media-generation") : 0;
    let dead = false;
    arm(async () => {
      await kill(topology);
      dead = true;
    });
    const first = await begin().catch(() => undefined);
    await until(() => dead, PATIENCE);
    door.open();
    await revive(topology, pid);
    return first;
  }

  async function expectExactBooks(charged: bigint): Promise<void> {
    await until(async () => (await openHolds()) === 0n, PATIENCE);
    const verdict = await (await billingOf(router.dataDir)).verifyLedger({});
    expect(verdict.differences).toEqual([]);
    expect(verdict.chargedCredits - chargedBefore).toBe(charged);
    const booked = BigInt(verdict.chargedCostPicoUsd) + BigInt(verdict.lostCostPicoUsd);
    expect(booked).toBe((await upstream.bill()).total);
  }

  test.each(PHASES)(
    "killed ($name): finished once, charged once",
    async (phase) => {
      const key = randomUUID();
      await crashIn(phase, () => ask(key));
      if (phase.unsent === true) await letDeadlinesPass();
      const { body } = await insist(key);
      const file = await fetch(body.data[0].url);
      const bytes = Buffer.from(await file.arrayBuffer());
      expect([file.status, file.headers.get("content-type")]).toEqual([200, "video/mp4"]);
      expect(bytes.toString("latin1", 4, 8)).toBe("ftyp");

      await expectExactBooks(PRICE);
      expect((await captured()) - capturedBefore).toBe(1);
      const entries = await endedEntries();
      const succeeded = ["succeeded", 0.05];
      expect(entries).toEqual(phase.lost === true ? [succeeded, ["failed", 0]] : [succeeded]);
      const jobs = phase.lost === true && phase.unsent !== true ? 2 : 1;
      expect(door.submitted - submittedBefore).toBe(jobs);
      expect((await upstream.bill()).items.length - billedBefore).toBe(jobs);
    },
    TEST_MS,
  );

  test(
    "killed (given up by its caller): made where nobody can cancel, charged once, not kept",
    async () => {
      let location = "";
      const slow = { ...VIDEO, prompt: "a lighthouse #slow" };
      const begin = async () => {
        const answer = await call(router, "POST", PATH, { body: slow, headers: { prefer: "respond-async" } });
        location = answer.headers.get("location") ?? "";
        return answer;
      };
      const arm = (crash: Crash) =>
        at("after poll", async () => {
          await until(() => location !== "", PATIENCE);
          // It does not receive the cancellation: it waits for this poll.
          expect((await call(router, "DELETE", location)).status).toBe(202);
          await crash();
        });
      await crashIn({ arm }, begin);
      const look = async () => (await call(router, "GET", location)).body;
      await until(async () => (await look()).status !== "running", PATIENCE);
      await expectExactBooks(PRICE);
      expect(await look()).toMatchObject({ status: "succeeded", cost: 0.05, deleted: true, data: [] });
      expect((await upstream.bill()).items.length - billedBefore).toBe(1);
    },
    TEST_MS,
  );
});

function simulatorOf({ env: { OPENROUTER_BASE_URL: url = "" } }: Upstream): string {
  return new URL(url).origin;
}
