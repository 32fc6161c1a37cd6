// Guarantees of key update, key revoke --management and token issue, against a real keys service.
import { randomUUID } from "node:crypto";
import { looksLikeWebToken } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import { SpendPeriod } from "@gr/proto/billing";
import { KeysService } from "@gr/proto/keys";
import { createRemoteTransport, createServiceClient, systemClock } from "@gr/runtime";
import { until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { type RouterUnderTest, SECRET, startRouter } from "./test/start-router.ts";

let router: RouterUnderTest;
let account: string;
let minting: string[];

beforeAll(async () => {
  router = await startRouter();
  account = (await router.json("account", "create", "--name", "Acme")).account_id;
  minting = ["key", "mint", "--account", account, "--name", "CI"];
});
afterAll(async () => {
  await router?.stop();
});
afterEach(() => {
  router.peers.beforePutSpender = async () => undefined;
});

const mint = (...more: string[]) => router.json(...minting, ...more);
const updating = (id: string, ...change: string[]) =>
  ["key", "update", "--account", account, "--id", id, ...change] as const;
const keys = () =>
  createServiceClient(KeysService, "keys", createRemoteTransport(router.rpcUrl, SECRET, systemClock));

async function expectFailure(sentence: RegExp, ...args: string[]): Promise<void> {
  const { code, out, err } = await router.cli(...args);
  expect({ code: code !== 0, out, err }).toEqual({
    code: true,
    out: "",
    err: expect.stringMatching(sentence),
  });
}

describe("key update", () => {
  test("changes what is named and prints the key as it is now", async () => {
    const { key: secret, ...minted } = await mint("--spend-limit", "5", "--period", "day");
    let expected = minted;
    const steps: [string[], object][] = [
      [["--name", "renamed"], { name: "renamed" }],
      [["--spend-limit", "7.25"], { spend_limit: "7.2500" }],
      [["--period", "month"], { spend_limit_period: "month" }],
      [["--period", "lifetime"], { spend_limit_period: null }],
      [["--expires-at", "2199-01-31T18:00:00+02:00"], { expires_at: "2199-01-31T16:00:00.000Z" }],
      [["--expires-at", "2199-01-31T18:00:00"], { expires_at: "2199-01-31T18:00:00.000Z" }],
      [["--expires-at", "2199-01-31"], { expires_at: "2199-01-31T00:00:00.000Z" }],
      [["--never-expires", "--disable"], { expires_at: null, is_active: false }],
      [["--enable", "--spend-limit", "0"], { is_active: true, spend_limit: "0.0000" }],
      [["--period", "week"], { spend_limit_period: "week" }],
      [["--no-spend-limit"], { spend_limit: null, spend_limit_period: null }],
    ];
    for (const [change, effect] of steps) {
      expected = { ...expected, ...effect };
      expect(await router.json(...updating(minted.id, ...change))).toEqual(expected);
    }
    expect(await router.json("key", "list", "--account", account)).toEqual({ keys: [expected] });
    const { out } = await router.cli(...updating(minted.id, "--disable"));
    expect(out).toMatch(
      new RegExp(`^Changed key ${minted.id}\\.\\n\\nID +NAME.*\\n${minted.id} +renamed +normal +no `),
    );
    await expect(keys().verifyKey({ secret })).rejects.toMatchObject({ reason: "invalid_api_key" });
    await router.cli(...updating(minted.id, "--enable"));
    await keys().verifyKey({ secret });
  });

  test("is written to billing, a period as the one that was named", async () => {
    const { id } = await mint("--spend-limit", "5");
    const seen: unknown[] = [];
    router.peers.beforePutSpender = async (spender) => {
      seen.push([spender?.capCredits, spender?.period, spender?.active]);
    };
    await router.json(...updating(id, "--period", "week", "--disable"));
    await router.json(...updating(id, "--no-spend-limit"));
    expect(seen).toEqual([
      [50_000n, SpendPeriod.WEEK, false],
      [undefined, SpendPeriod.LIFETIME, false],
    ]);
  });

  test("refuses what cannot be, in the service's own words or before anything is sent", async () => {
    const { id } = await mint();
    await expectFailure(/^Name a change/, ...updating(id));
    await expectFailure(/cannot be used with option/, ...updating(id, "--enable", "--disable"));
    await expectFailure(
      /cannot be used with option/,
      ...updating(id, "--never-expires", "--expires-at", "2199-01-31T18:00:00Z"),
    );
    await expectFailure(/one of: day, week, month, lifetime/, ...updating(id, "--period", "year"));
    await expectFailure(/at most four decimals/, ...updating(id, "--spend-limit", "-1"));
    await expectFailure(/needs a spend limit.*"period"/, ...updating(id, "--period", "day"));
    await expectFailure(/must be in the future/, ...updating(id, "--expires-at", "2001-01-01T00:00:00Z"));
    await expectFailure(/was not found/, ...updating(randomUUID(), "--disable"));
    const management = await mint("--management");
    await expectFailure(/has no spend limit/, ...updating(management.id, "--spend-limit", "1"));
  });

  test("whose fate is unknown says that it can be repeated", async () => {
    const { id } = await mint();
    router.peers.beforePutSpender = async () => {
      throw new ServiceError("billing_unavailable", "Billing is down.");
    };
    await expectFailure(
      /Billing is down\. The key may be changed or not; repeat/,
      ...updating(id, "--disable"),
    );
  });
});

describe("key revoke", () => {
  test("deletes a management key when it is told that it is one", async () => {
    const { id, key: secret } = await mint("--management");
    await expectFailure(/not found/, "key", "revoke", "--account", account, "--id", id);
    await keys().verifyKey({ secret });
    const revoke = ["key", "revoke", "--account", account, "--id", id, "--management"] as const;
    expect(await router.json(...revoke)).toEqual({ id, deleted: true });
    await expect(keys().verifyKey({ secret })).rejects.toMatchObject({ reason: "invalid_api_key" });
    await expectFailure(/not found/, ...revoke);
  });
});

describe("token issue", () => {
  test("prints a token of the account that is verified, and until when it is", async () => {
    const before = Date.now();
    const issued = await router.json("token", "issue", "--account", account, "--minutes", "2");
    expect(issued).toEqual({
      account_id: account,
      token: expect.any(String),
      expires_at: expect.stringMatching(/Z$/),
    });
    const { key } = await keys().verifyKey({ secret: issued.token });
    expect(key).toMatchObject({ accountId: account, expiresAt: BigInt(Date.parse(issued.expires_at)) });
    expect(Date.parse(issued.expires_at)).toBeGreaterThan(before + 119_000 - 1);
    expect(Date.parse(issued.expires_at)).toBeLessThanOrEqual(Date.now() + 120_000);
    const { out } = await router.cli("token", "issue", "--account", account);
    expect(out).toMatch(/^Issued a web token that expires at \S+Z:\n\n {2}\S+\n/);
    expect(looksLikeWebToken(/^ {2}(\S+)$/m.exec(out)?.[1] ?? "")).toBe(true);
  });

  test("refuses an account that does not exist and times that are too long", async () => {
    await expectFailure(/no account with this id/, "token", "issue", "--account", randomUUID());
    for (const minutes of ["0", "6", "-1", "1.5", "x", "05"]) {
      await expectFailure(/from 1 to 5/, "token", "issue", "--account", account, "--minutes", minutes);
    }
  });
});

describe("allow-lists", () => {
  const models = ["openai/*", "bfl/flux-2"];
  test("are named when a key is minted, changed, and removed", async () => {
    router.peers.catalog = {
      version: "1",
      models: [
        { id: "openai/gpt-5", routes: [{ provider: "openai" }] },
        { id: "bfl/flux-2", routes: [{ provider: "bfl" }] },
      ],
    };
    const lists = ["--allow-models", models.join(", "), "--allow-providers", "openai"];
    // The keys service watches the catalogue and learns of the models a moment later.
    await until(async () => (await router.cli(...minting, ...lists)).code === 0, { timeoutMs: 60_000 });
    const minted = await mint(...lists);
    expect(minted).toMatchObject({ allowed_models: models, allowed_providers: ["openai"] });
    const change = async (...named: string[]) => {
      const changed = await router.json(...updating(minted.id, ...named));
      return [changed.allowed_models, changed.allowed_providers];
    };
    expect(await change("--allow-providers", "bfl,openai")).toEqual([models, ["bfl", "openai"]]);
    expect(await change("--all-models")).toEqual([null, ["bfl", "openai"]]);
    expect(await change("--all-providers", "--allow-models", "*")).toEqual([["*"], null]);
    await expectFailure(/No model matches "x\/\*"/, ...updating(minted.id, "--allow-models", "x/*"));
    await expectFailure(/separated by commas/, ...updating(minted.id, "--allow-models", "*,"));
    await expectFailure(/cannot be used with/, ...updating(minted.id, "--allow-models", "*", "--all-models"));
  });
});
