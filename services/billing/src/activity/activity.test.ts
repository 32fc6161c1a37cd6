// Activity has each ended request once, at the hour of its end, in the numbers that the ledger has; the removal of lines of the log
// changes no sum. A key reads its own activity, or its account's if it asks for it.
import { randomUUID } from "node:crypto";
import type { Principal } from "@gr/identity";
import { ActivityBucket, ActivityGroup } from "@gr/proto/activity";
import { TextApi, UsageGroup } from "@gr/proto/billing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, startBillingOn, THURSDAY } from "../test/start-billing.ts";
import {
  capture,
  nextAttempt,
  openWallet,
  place,
  post,
  providerOf,
  putSpender,
  release,
  type Wallet,
} from "../test/wallet.ts";
import { type ActivityFilter, sumQuery } from "./activity-store.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let ledger: BillingUnderTest;
let mine: Wallet;
beforeAll(async () => {
  ledger = await startBilling({ TEXT_LOG_DAYS: "30" });
});
beforeEach(async () => {
  ledger.clock.set(THURSDAY);
  mine = await openWallet(ledger.inProcess, 1_000_000n, { name: "first" });
});
afterAll(() => ledger.stopSound());

const as = ({ accountId, spenderId }: Wallet, kind: Principal["kind"] = "normal"): Principal => ({
  ...{ accountId, keyId: spenderId, kind },
});
const read = async (search = "", by = mine, kind: Principal["kind"] = "normal") =>
  ledger.rest(`/v1/activity${search}`, as(by, kind));
const body = async (search = "", by = mine) => (await read(search, by)).body;

interface Request {
  readonly model?: string;
  readonly provider?: string;
  readonly service?: string;
  readonly charge?: bigint;
  readonly tookMs?: number;
  readonly fails?: boolean;
}

async function make(
  { model = "m", tookMs = 1_000, fails = false, charge = 7n, ...fields }: Request = {},
  by = mine,
) {
  const hold = place(by, 20_000n, { model, ...fields });
  await post(ledger.inProcess, hold);
  ledger.clock.advance(tookMs);
  await post(ledger.inProcess, fails ? release(hold.holdId) : capture(hold.holdId, charge));
  return hold.holdId;
}

const line = (requestId: string, fields: object = {}, by = mine) => ({
  ...{
    requestId,
    accountId: by.accountId,
    spenderId: by.spenderId,
    model: "m",
    api: TextApi.CHAT,
    stream: true,
  },
  ...{ beganAt: BigInt(THURSDAY), tookMs: 1_000n, firstByteMs: 200n },
  usage: { inputTokens: 10n, outputTokens: 5n },
  attempts: [{ provider: "openrouter", upstreamModel: "m", outcome: "delivered", tookMs: 1_000n }],
  ...fields,
});

describe("activity of a key", () => {
  test("has spend, requests, errors and times of its requests, and not of another key", async () => {
    const other = {
      ...mine,
      spenderId: await putSpender(ledger.inProcess, mine.accountId, { name: "second" }),
    };
    await make({ charge: 12_345n, tookMs: 2_000 });
    await make({ model: "n", provider: "fal" });
    await make({ fails: true });
    await make({}, other);
    const answer = await body("?bucket=hour");
    expect(answer.total).toMatchObject({ spend: "1.2352", requests: 3, errors: 1, first_token: null });
    expect(answer.groups).toMatchObject([
      { group: "m", name: "m", spend: "1.2345", requests: 2, errors: 1 },
      { group: "n", spend: "0.0007", requests: 1, errors: 0 },
    ]);
    expect(answer.groups[0].latency.median).toBeGreaterThan(1_400);
    expect(answer.groups[0].latency.median).toBeLessThan(2_900);
    expect(answer.buckets).toHaveLength(24);
    const begins_at = new Date(THURSDAY).toISOString();
    expect(answer.data).toMatchObject([
      { begins_at, group: "m" },
      { begins_at, group: "n" },
    ]);
    expect((await body("?bucket=hour&scope=account&group=key")).groups).toMatchObject([
      { group: mine.spenderId, name: "first", requests: 3 },
      { group: other.spenderId, name: "second", requests: 1 },
    ]);
    expect(answer.totals).toMatchObject([{ begins_at, spend: "1.2352", requests: 3, errors: 1 }]);
    const ofOther = `?scope=account&key=${other.spenderId}`;
    expect((await body(ofOther)).total).toMatchObject({ requests: 1 });
    expect((await body("?provider=fal")).total).toMatchObject({ requests: 1, spend: "0.0007" });
    expect((await body("?model=m&group=provider")).groups).toMatchObject([{ group: "openrouter" }]);
  });

  test("counts a request in the bucket of its end", async () => {
    ledger.clock.set(THURSDAY + DAY_MS / 2 - 1_000);
    await make({ tookMs: 2_000 });
    const [hour] = (await body("?bucket=hour")).data;
    const midnight = new Date(THURSDAY + DAY_MS / 2).toISOString();
    expect(hour).toMatchObject({ begins_at: midnight, requests: 1 });
    for (const [bucket, begins_at] of [
      ["day", midnight],
      ["week", "2026-01-12T00:00:00.000Z"],
      ["month", "2026-01-01T00:00:00.000Z"],
    ]) {
      expect((await body(`?bucket=${bucket}`)).data).toMatchObject([{ begins_at, requests: 1 }]);
    }
  });

  test("names the last provider of a request that failed elsewhere, too", async () => {
    const hold = place(mine, 100n, { provider: "first" });
    await post(ledger.inProcess, hold);
    await post(ledger.inProcess, nextAttempt(hold.holdId, 2));
    await post(ledger.inProcess, release(hold.holdId));
    expect((await body("?group=provider")).groups).toMatchObject([{ group: providerOf(2), errors: 1 }]);
  });

  test("is empty without a request, and as CSV has a head only", async () => {
    const answer = await body();
    expect(answer).toMatchObject({ scope: "key", bucket: "day", group: "model", groups: [], data: [] });
    expect(answer.total).toMatchObject({ spend: "0.0000", requests: 0, latency: null });
  });
});

test("the spend of an account is its usage by day, to the last credit", async () => {
  const second = { ...mine, spenderId: await putSpender(ledger.inProcess, mine.accountId) };
  let seed = 7n;
  for (const hours of [0, 5, 13, 13, 24, 49, 50]) {
    ledger.clock.set(THURSDAY + hours * HOUR_MS);
    seed = (seed * 48_271n) % 100n;
    await make({ charge: seed, model: `m${seed % 3n}` }, hours % 2 === 0 ? mine : second);
    await make({ fails: true });
  }
  const range = { fromDay: "2026-01-15", toDay: "2026-01-18" };
  const { accountId } = mine;
  const usage = await ledger.reports.sumUsage({ accountId, group: UsageGroup.DAY, ...range });
  const cents = (usd: string) => BigInt(usd.replace(".", ""));
  for (const bucket of ["hour", "day", "week"]) {
    const { total, data } = await body(`?scope=account&from=2026-01-15&to=2026-01-18&bucket=${bucket}`);
    expect([cents(total.spend), total.requests - total.errors]).toEqual([
      usage.credits,
      Number(usage.requests),
    ]);
    const byDay = new Map<string, bigint>();
    for (const { begins_at: at, spend } of data) {
      byDay.set(at.slice(0, 10), (byDay.get(at.slice(0, 10)) ?? 0n) + cents(spend));
    }
    const days = new Map(usage.sums.map(({ group, credits }) => [group, credits]));
    if (bucket !== "week") expect(byDay).toEqual(days);
  }
});

describe("tokens and first tokens of texts", () => {
  const tokens = async () => {
    const { total } = await body();
    return [total.input_tokens, total.output_tokens, total.first_token !== null];
  };

  test("count each line once, and stay when the log is deleted", async () => {
    const [one, other] = [await make(), await make()];
    await ledger.texts.writeTexts({ lines: [line(one), line(one)] });
    await ledger.texts.writeTexts({
      lines: [line(one), line(other, { firstByteMs: undefined, usage: undefined })],
    });
    expect(await tokens()).toEqual([10, 5, true]);
    await ledger.db.query("DELETE FROM text_line WHERE account_id = $1", [mine.accountId]);
    const { texts } = await ledger.texts.listTexts({ accountId: mine.accountId });
    expect([texts, await tokens()]).toEqual([[], [10, 5, true]]);
    const { data } = await body("?bucket=hour&group=kind");
    expect(data).toMatchObject([{ group: "text", requests: 2, input_tokens: 10 }]);
  });

  test("count without a log, too", async () => {
    const process = await startBillingOn(ledger.url, ledger.clock, { TEXT_LOG_DAYS: "0" });
    await process.texts.writeTexts({ lines: [line(await make())] });
    await process.stop();
    const { texts } = await ledger.texts.listTexts({ accountId: mine.accountId });
    expect([texts, await tokens()]).toEqual([[], [10, 5, true]]);
  });
});

test("kinds are those of the models, and members those who created the keys", async () => {
  const member = randomUUID();
  const second = { ...mine, spenderId: await putSpender(ledger.inProcess, mine.accountId) };
  const service = "media-generation";
  await ledger.activity.nameModelKinds({
    models: [
      { model: "img", kind: "image" },
      { model: "vid", kind: "video" },
    ],
  });
  await ledger.activity.nameKeyMembers({
    accountId: mine.accountId,
    keys: [{ keyId: mine.spenderId, personId: member }],
  });
  for (const [charge, model] of [
    [4n, "img"],
    [3n, "vid"],
    [2n, "gone"],
  ] as const) {
    await make({ service, model, charge });
  }
  await make({ charge: 1n }, second);
  const groups = async (group: string) =>
    (await body(`?scope=account&group=${group}`)).groups.map((each: { group: string; spend: string }) => [
      each.group,
      each.spend,
    ]);
  expect(await groups("kind")).toEqual([
    ["image", "0.0004"],
    ["video", "0.0003"],
    ["media", "0.0002"],
    ["text", "0.0001"],
  ]);
  expect(await groups("member")).toEqual([
    [member, "0.0009"],
    ["", "0.0001"],
  ]);
});

test("groups beyond fifty are one, and all rows add up to the total", async () => {
  for (let at = 0; at < 52; at += 1) await make({ model: `m${at}`, charge: BigInt(at + 1), tookMs: 1 });
  const { groups, data, total } = await body("?bucket=hour");
  expect(groups).toHaveLength(51);
  expect(groups[50]).toMatchObject({ group: null, name: "2 other", spend: "0.0003", requests: 2 });
  expect(data.at(-1)).toMatchObject({ group: null, spend: "0.0003" });
  const sum = data.reduce((all: number, { spend }: { spend: string }) => all + Number(spend), 0);
  expect(sum).toBeCloseTo(Number(total.spend), 6);
});

describe("a question is refused", () => {
  test.each([
    ["?from=2026-01-16&to=2026-01-15", "from"],
    ["?from=2026-01-15T12:00:00Z&to=2026-01-15T12:00:00Z", "from"],
    ["?bucket=hour&from=2025-01-01", "bucket"],
    ["?bucket=minute", "bucket"],
    ["?group=day", "group"],
    ["?scope=all", "scope"],
    ["?from=yesterday", "from"],
    ["?to=2026-02-30", "to"],
    ["?to=1969-12-30", "to"],
    ["?key=7", "key"],
    [`?key=${randomUUID()}`, "key"],
    ["?model=", "model"],
    ["?model=%00", "model"],
    ["?provider=a%00", "provider"],
    ["?model=a&model=b", "model"],
    ["?format=xml", "format"],
  ])("as %s, with the name of the field %s", async (search, param) => {
    expect(await read(search)).toMatchObject({ status: 400, body: { error: { param } } });
  });

  test("of the console beyond the largest time, with the name of the public field", async () => {
    const until = BigInt(Date.UTC(9999, 11, 31) + DAY_MS);
    const { accountId } = mine;
    const asked = { accountId, bucket: ActivityBucket.DAY, group: ActivityGroup.MODEL, until };
    await expect(ledger.activity.readActivity(asked)).rejects.toMatchObject({
      ...{ reason: "invalid_value", param: "to" },
    });
  });

  test("for a key of another account", async () => {
    const other = await openWallet(ledger.inProcess, 1n);
    const answer = await read(`?scope=account&key=${other.spenderId}`);
    expect(answer).toMatchObject({ status: 400, body: { error: { param: "key" } } });
  });

  test("of a management key", async () => {
    expect(await read("", mine, "management")).toMatchObject({ status: 401 });
  });
});

test("a read among a million requests passes over the rows of its range in an index", async () => {
  const transaction = await ledger.transaction();
  try {
    await transaction.query(
      `INSERT INTO activity SELECT ('00000000-0000-4000-8000-' || lpad((n % 20)::text, 12, '0'))::uuid,
         gen_random_uuid(), n / 20 * 3600000::bigint, 1, 0, 1, n % 20, 1, 's', 'm', 'p', array_fill(0, ARRAY[30])
         FROM generate_series(1, 20000) n`,
    );
    await transaction.query("ANALYZE activity");
    const filter: ActivityFilter = {
      ...{ accountId: "00000000-0000-4000-8000-000000000007", bucket: "hour", from: 0, until: 24 * HOUR_MS },
      ...{ group: "model", spenderId: undefined, model: undefined, provider: undefined },
    };
    for (const shown of [undefined, ["m"]]) {
      const { text, values } = sumQuery("activity", filter, shown);
      const { rows } = await transaction.query<{ "QUERY PLAN": string }>(`EXPLAIN ${text}`, values);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(plan).toContain("activity_pkey");
      expect(plan).not.toContain("Seq Scan");
    }
  } finally {
    await transaction.query("ROLLBACK");
    await transaction.end();
  }
});
