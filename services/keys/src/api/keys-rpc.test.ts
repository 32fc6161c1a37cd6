// Guarantees of KeysService over real PostgreSQL and the real transport, with the fake billing beside it.
import { createHmac, randomUUID } from "node:crypto";
import { createKeySecret, isWellFormedKey } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import { SpendPeriod } from "@gr/proto/billing";
import { KeyKind } from "@gr/proto/keys";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type KeysUnderTest, PEPPER, startKeys } from "../test/start-keys.ts";

const HOUR = 3_600_000;
let world: KeysUnderTest;
let accountId: string;

beforeAll(async () => {
  world = await startKeys();
});
afterAll(async () => {
  await world?.stop();
});
beforeEach(async () => {
  world.billing.beforePutSpender = async () => undefined;
  world.billing.beforeOpenAccount = async () => undefined;
  accountId = (await world.keys.createAccount({ name: "Acme" })).accountId;
  world.billing.spenders.length = 0;
});

const mint = (
  options: {
    kind?: KeyKind;
    capCredits?: bigint;
    period?: SpendPeriod;
    expiresAt?: bigint;
    defaultResponseFormat?: string;
  } = {},
) => world.keys.mintKey({ accountId, name: "a key", kind: KeyKind.NORMAL, ...options });

async function refusal(call: Promise<unknown>): Promise<{ reason: string; param: string | undefined }> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ServiceError)) throw new Error(`not refused: ${String(error)}`);
  return { reason: error.reason, param: error.param };
}

const countRows = async (table: string): Promise<number> =>
  Number((await world.db.query(`SELECT count(*) FROM keys.${table}`)).rows[0].count);

/** Blocks every reader of api_key while `work` runs: a call that still answers has sent no query for a key. */
async function withoutKeyTable<T>(work: () => Promise<T>): Promise<T> {
  const client = await world.db.connect();
  try {
    await client.query("BEGIN; LOCK TABLE keys.api_key IN ACCESS EXCLUSIVE MODE");
    return await work();
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
}

/** Inserts a secret as a key of the account behind the process's back, as another replica would. */
async function plant(secret: string): Promise<void> {
  await world.db.query(
    `INSERT INTO keys.api_key (id, account_id, name, kind, digest, hint, created_at)
     VALUES ($1, $2, 'planted', 'normal', $3, '', now())`,
    [randomUUID(), accountId, createHmac("sha256", PEPPER).update(secret).digest()],
  );
}

describe("accounts", () => {
  const all = async (limit: number, createdFrom = 0n) => {
    const names: string[] = [];
    for (let after = "", more = true; more; ) {
      const page = await world.keys.listAccounts({ limit, after, createdFrom });
      names.push(...page.accounts.map(({ name }) => name));
      after = page.accounts.at(-1)?.accountId ?? "";
      more = page.hasMore;
    }
    return names;
  };

  test("are listed once each, oldest first, whatever the length of a page", async () => {
    const from = BigInt(world.clock.now());
    for (const name of ["one", "two", "three", "four", "five"]) await world.keys.createAccount({ name });
    const expected = [...(await all(1_000, from))];
    expect(expected.toSorted()).toEqual(["Acme", "five", "four", "one", "three", "two"].toSorted());
    expect(await all(2, from)).toEqual(expected);
    expect((await all(3)).slice(-expected.length)).toEqual(expected);
    world.clock.advance(1);
    await world.keys.createAccount({ name: "later" });
    expect(await all(1_000, from + 1n)).toEqual(["later"]);
  });

  test("are found by id, and renamed", async () => {
    await world.keys.renameAccount({ accountId, name: "Acme Ltd" });
    const { account } = await world.keys.getAccount({ accountId });
    expect(account).toMatchObject({ accountId, name: "Acme Ltd", createdAt: BigInt(world.clock.now()) });
    expect(await refusal(world.keys.renameAccount({ accountId, name: " " }))).toEqual({
      reason: "invalid_value",
      param: "name",
    });
  });

  test("have a default response_format, which a key's own overrides", async () => {
    const formatOf = async (secret: string) => (await world.keys.verifyKey({ secret })).responseFormat;
    const { key, secret } = await mint();
    const keyId = key?.keyId ?? "";
    expect(await formatOf(secret)).toBe("");
    const { account } = await world.keys.updateAccount({ accountId, defaultResponseFormat: "b64_json" });
    expect(account).toMatchObject({ accountId, defaultResponseFormat: "b64_json" });
    expect((await world.keys.getAccount({ accountId })).account).toEqual(account);
    expect(await formatOf(secret)).toBe("b64_json");
    const changed = await world.keys.updateKey({ accountId, keyId, defaultResponseFormat: "url" });
    expect(changed.key).toMatchObject({ keyId, defaultResponseFormat: "url" });
    expect(await formatOf(secret)).toBe("url");
    await world.keys.updateKey({ accountId, keyId, name: "renamed" });
    expect(await formatOf(secret)).toBe("url");
    await world.keys.updateKey({ accountId, keyId, defaultResponseFormat: "" });
    expect(await formatOf(secret)).toBe("b64_json");
    await world.keys.updateAccount({ accountId });
    expect(await formatOf(secret)).toBe("b64_json");
    await world.keys.updateAccount({ accountId, defaultResponseFormat: "" });
    expect(await formatOf(secret)).toBe("");
  });

  test("and keys refuse an unknown default response_format; a management key takes none", async () => {
    const { key } = await mint();
    const bad = { reason: "invalid_value", param: "default_response_format" };
    const defaultResponseFormat = "base64";
    const keyId = key?.keyId ?? "";
    expect(await refusal(world.keys.updateAccount({ accountId, defaultResponseFormat }))).toEqual(bad);
    expect(await refusal(world.keys.updateKey({ accountId, keyId, defaultResponseFormat }))).toEqual(bad);
    expect(await refusal(mint({ defaultResponseFormat }))).toEqual(bad);
    const management = await mint({ kind: KeyKind.MANAGEMENT });
    const change = { accountId, keyId: management.key?.keyId ?? "", defaultResponseFormat: "url" };
    expect(await refusal(world.keys.updateKey(change))).toEqual(bad);
    expect(await refusal(mint({ kind: KeyKind.MANAGEMENT, defaultResponseFormat: "url" }))).toEqual(bad);
  });

  test("that do not exist are refused", async () => {
    const nobody = randomUUID();
    const notFound = { reason: "account_not_found", param: "account_id" };
    expect(await refusal(world.keys.getAccount({ accountId: nobody }))).toEqual(notFound);
    expect(await refusal(world.keys.renameAccount({ accountId: nobody, name: "x" }))).toEqual(notFound);
    for (const after of [nobody, "no id"]) {
      expect(await refusal(world.keys.listAccounts({ after }))).toEqual({
        reason: "invalid_value",
        param: "after",
      });
    }
  });
});

describe("CreateAccount", () => {
  test("opens the account in billing before its own row exists", async () => {
    let rowsBefore = -1;
    world.billing.beforeOpenAccount = async (id) => {
      const { rowCount } = await world.db.query("SELECT FROM keys.account WHERE id = $1", [id]);
      rowsBefore = rowCount ?? -1;
    };
    const { accountId: created } = await world.keys.createAccount({ name: "Other" });
    expect(rowsBefore).toBe(0);
    expect(world.billing.openedAccounts).toContain(created);
  });

  test("leaves nothing when billing fails", async () => {
    const before = await countRows("account");
    world.billing.beforeOpenAccount = async () => {
      throw new ServiceError("billing_unavailable", "down");
    };
    expect(await refusal(world.keys.createAccount({ name: "Other" }))).toMatchObject({
      reason: "billing_unavailable",
    });
    expect(await countRows("account")).toBe(before);
  });

  test("refuses a name that is none", async () => {
    expect(await refusal(world.keys.createAccount({ name: " " }))).toEqual({
      reason: "invalid_value",
      param: "name",
    });
  });
});

describe("MintKey", () => {
  test("writes the spender before the key exists, with all that billing needs to judge the key", async () => {
    let keysBefore = -1;
    world.billing.beforePutSpender = async () => {
      keysBefore = (await world.keys.listKeys({ accountId })).keys.length;
    };
    const expiresAt = BigInt(world.clock.now() + HOUR);
    const { key, secret } = await mint({ capCredits: 5_000n, period: SpendPeriod.WEEK, expiresAt });
    expect(keysBefore).toBe(0);
    expect(isWellFormedKey(secret)).toBe(true);
    expect(secret).toMatch(/^gr_live_/);
    expect(world.billing.spenders).toMatchObject([
      {
        spenderId: key?.keyId,
        accountId,
        name: "a key",
        capCredits: 5_000n,
        period: SpendPeriod.WEEK,
        expiresAt,
        active: true,
        createdAt: key?.createdAt,
      },
    ]);
    expect(key).toMatchObject({
      accountId,
      name: "a key",
      kind: KeyKind.NORMAL,
      active: true,
      capCredits: 5_000n,
      period: SpendPeriod.WEEK,
      expiresAt,
      hint: `gr_live_…${secret.slice(-4)}`,
    });
  });

  test("gives a management key no spender", async () => {
    const { secret } = await mint({ kind: KeyKind.MANAGEMENT });
    expect(secret).toMatch(/^gr_mgmt_/);
    expect(world.billing.spenders).toEqual([]);
  });

  test("leaves no row when billing refuses the spender, and no key when billing does not answer", async () => {
    const before = await countRows("api_key");
    for (const reason of ["invalid_value", "billing_unavailable"] as const) {
      world.billing.beforePutSpender = async () => {
        throw new ServiceError(reason, "refused");
      };
      expect(await refusal(mint())).toMatchObject({ reason });
      expect(await countRows("api_key")).toBe(before + (reason === "invalid_value" ? 0 : 1));
      expect((await world.keys.listKeys({ accountId })).keys).toEqual([]);
    }
  });

  test("that cannot be stored never reaches billing", async () => {
    await world.withCrash("name <> 'a key'", async () => {
      await expect(mint()).rejects.toThrow("internal error");
    });
    expect(world.billing.spenders).toEqual([]);
    expect((await world.keys.listKeys({ accountId })).keys).toEqual([]);
  });

  test.each([
    ["name", { name: "" }],
    ["name", { name: "x".repeat(201) }],
    ["kind", { kind: KeyKind.UNSPECIFIED }],
    ["cap_credits", { capCredits: -1n }],
    ["cap_credits", { capCredits: 10n ** 15n + 1n }],
    ["cap_credits", { kind: KeyKind.MANAGEMENT, capCredits: 1n }],
    ["period", { period: SpendPeriod.DAY }],
    ["expires_at", { expiresAt: 0n }],
    ["expires_at", { expiresAt: 253_402_300_800_000n }],
  ])("refuses a bad %s and writes nothing (%#)", async (param, wrong) => {
    const before = await countRows("api_key");
    const request = { accountId, name: "a key", kind: KeyKind.NORMAL, ...wrong };
    expect(await refusal(world.keys.mintKey(request))).toEqual({ reason: "invalid_value", param });
    expect(await countRows("api_key")).toBe(before);
    expect(world.billing.spenders).toEqual([]);
  });

  test.each([randomUUID(), "no-uuid", ""])("refuses an account that does not exist (%s)", async (unknown) => {
    const request = { accountId: unknown, name: "a key", kind: KeyKind.NORMAL };
    expect(await refusal(world.keys.mintKey(request))).toEqual({
      reason: "account_not_found",
      param: "account_id",
    });
    expect(world.billing.spenders).toEqual([]);
  });
});

describe("secrets", () => {
  test("are in no table: not whole, not their random part, not in hexadecimal or base64", async () => {
    const minted = await Promise.all([mint(), mint({ kind: KeyKind.MANAGEMENT })]);
    const tables = await world.db.query<{ name: string }>(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'keys'",
    );
    expect(tables.rows.map(({ name }) => name).sort()).toEqual([
      "account",
      "api_key",
      "schema_functions",
      "schema_migration",
    ]);
    let dump = "";
    for (const { name } of tables.rows) {
      const { rows } = await world.db.query<{ row: string }>(`SELECT t::text AS row FROM keys.${name} t`);
      dump += rows.map(({ row }) => row).join("\n");
    }
    for (const { secret } of minted) {
      expect(dump).toContain(createHmac("sha256", PEPPER).update(secret).digest("hex"));
      for (const part of [secret, secret.slice(8, -6), secret.slice(8, 20)]) {
        expect(dump).not.toContain(part);
        expect(dump).not.toContain(Buffer.from(part).toString("hex"));
        expect(dump).not.toContain(Buffer.from(part).toString("base64").replaceAll("=", ""));
      }
    }
  });

  test("are answered once: no list and no verification returns them", async () => {
    const { secret } = await mint();
    const answers = [await world.keys.listKeys({ accountId }), await world.keys.verifyKey({ secret })];
    const text = JSON.stringify(answers, (_, value) => (typeof value === "bigint" ? String(value) : value));
    expect(text).not.toContain(secret);
    expect(text).not.toContain(secret.slice(8, -6));
  });

  test("differ each time", async () => {
    const secrets = await Promise.all(Array.from({ length: 20 }, () => mint()));
    expect(new Set(secrets.map(({ secret }) => secret)).size).toBe(20);
  });
});

describe("ListKeys", () => {
  test("lists newest first, by kind when asked, without deleted ones and other accounts' keys", async () => {
    const first = (await mint()).key?.keyId ?? "";
    const management = (await mint({ kind: KeyKind.MANAGEMENT })).key?.keyId;
    const second = (await mint()).key?.keyId;
    const gone = (await mint()).key?.keyId ?? "";
    await world.keys.deleteKey({ accountId, keyId: gone });
    const idsOf = async (kind: KeyKind) =>
      (await world.keys.listKeys({ accountId, kind })).keys.map(({ keyId }) => keyId);
    expect(await idsOf(KeyKind.UNSPECIFIED)).toEqual([second, management, first]);
    expect(await idsOf(KeyKind.NORMAL)).toEqual([second, first]);
    expect(await idsOf(KeyKind.MANAGEMENT)).toEqual([management]);
    const { accountId: other } = await world.keys.createAccount({ name: "Other" });
    expect((await world.keys.listKeys({ accountId: other })).keys).toEqual([]);
  });

  test("an unknown account is an error, not an empty list", async () => {
    expect(await refusal(world.keys.listKeys({ accountId: randomUUID() }))).toMatchObject({
      reason: "account_not_found",
    });
  });
});

describe("DeleteKey", () => {
  const deletedAt = async (keyId: string) =>
    (await world.db.query("SELECT deleted_at FROM keys.api_key WHERE id = $1", [keyId])).rows[0].deleted_at;

  test("stops the spending before the key is marked", async () => {
    const keyId = (await mint({ capCredits: 7n })).key?.keyId ?? "";
    let markedBefore: unknown = "not asked";
    world.billing.beforePutSpender = async () => {
      markedBefore = await deletedAt(keyId);
    };
    await world.keys.deleteKey({ accountId, keyId });
    expect(markedBefore).toBeNull();
    expect(world.billing.spenders.at(-1)).toMatchObject({ spenderId: keyId, active: false, capCredits: 7n });
    expect(await deletedAt(keyId)).toEqual(new Date(world.clock.now()));
  });

  test("leaves the key as it was when billing fails, and works when tried again", async () => {
    const { key, secret } = await mint();
    world.billing.beforePutSpender = async () => {
      throw new ServiceError("billing_unavailable", "down");
    };
    const keyId = key?.keyId ?? "";
    expect(await refusal(world.keys.deleteKey({ accountId, keyId }))).toMatchObject({
      reason: "billing_unavailable",
    });
    await world.keys.verifyKey({ secret });
    world.billing.beforePutSpender = async () => undefined;
    await world.keys.deleteKey({ accountId, keyId });
    expect(await refusal(world.keys.verifyKey({ secret }))).toMatchObject({ reason: "invalid_api_key" });
  });

  test("after a crash between the two writes the key cannot spend and can be deleted again", async () => {
    const keyId = (await mint()).key?.keyId ?? "";
    await world.db.query(
      "ALTER TABLE keys.api_key ADD CONSTRAINT crash CHECK (deleted_at IS NULL) NOT VALID",
    );
    try {
      await expect(world.keys.deleteKey({ accountId, keyId })).rejects.toThrow();
    } finally {
      await world.db.query("ALTER TABLE keys.api_key DROP CONSTRAINT crash");
    }
    expect(world.billing.spenders.at(-1)).toMatchObject({ spenderId: keyId, active: false });
    expect(await deletedAt(keyId)).toBeNull();
    await world.keys.deleteKey({ accountId, keyId });
    expect(await deletedAt(keyId)).not.toBeNull();
  });

  test("unknown, malformed, foreign, management and deleted keys are the same 404, and billing is not touched", async () => {
    const own = (await mint()).key?.keyId ?? "";
    const management = (await mint({ kind: KeyKind.MANAGEMENT })).key?.keyId ?? "";
    const { accountId: other } = await world.keys.createAccount({ name: "Other" });
    const deleted = (await mint()).key?.keyId ?? "";
    await world.keys.deleteKey({ accountId, keyId: deleted });
    world.billing.spenders.length = 0;
    for (const request of [
      { accountId, keyId: randomUUID() },
      { accountId, keyId: "x'; DROP TABLE api_key" },
      { accountId, keyId: `{${own}}` },
      { accountId, keyId: "" },
      { accountId, keyId: management },
      { accountId, keyId: deleted },
      { accountId: other, keyId: own },
      { accountId: "", keyId: own },
    ]) {
      expect(await refusal(world.keys.deleteKey(request))).toEqual({ reason: "key_not_found", param: "id" });
    }
    expect(world.billing.spenders).toEqual([]);
    expect(await deletedAt(own)).toBeNull();
  });

  test("of many deletions at once, one succeeds", async () => {
    const keyId = (await mint()).key?.keyId ?? "";
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, () => world.keys.deleteKey({ accountId, keyId })),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });
});

describe("VerifyKey", () => {
  test("resolves a usable key of either kind", async () => {
    for (const kind of [KeyKind.NORMAL, KeyKind.MANAGEMENT]) {
      const { key, secret } = await mint({ kind });
      expect((await world.keys.verifyKey({ secret })).key).toEqual(key);
    }
  });

  test("refuses a deleted and a disabled key as invalid", async () => {
    const deleted = await mint();
    await world.keys.deleteKey({ accountId, keyId: deleted.key?.keyId ?? "" });
    const disabled = await mint();
    await world.db.query("UPDATE keys.api_key SET active = false WHERE id = $1", [disabled.key?.keyId]);
    for (const { secret } of [deleted, disabled]) {
      expect(await refusal(world.keys.verifyKey({ secret }))).toEqual({
        reason: "invalid_api_key",
        param: undefined,
      });
    }
  });

  test("refuses a key from the instant of its expiry, and says which", async () => {
    const expiresAt = world.clock.now() + HOUR;
    const { secret } = await mint({ expiresAt: BigInt(expiresAt) });
    await world.keys.verifyKey({ secret });
    world.clock.set(expiresAt - 1);
    await world.keys.verifyKey({ secret });
    world.clock.set(expiresAt);
    const refused = world.keys.verifyKey({ secret });
    await expect(refused).rejects.toMatchObject({
      reason: "api_key_expired",
      message: expect.stringContaining(new Date(expiresAt).toISOString()),
    });
  });

  test("a deleted key that has expired too is invalid, not expired", async () => {
    const { key, secret } = await mint({ expiresAt: BigInt(world.clock.now() + 1) });
    await world.keys.deleteKey({ accountId, keyId: key?.keyId ?? "" });
    world.clock.advance(10);
    expect(await refusal(world.keys.verifyKey({ secret }))).toMatchObject({ reason: "invalid_api_key" });
  });

  test("a secret with a wrong checksum or shape is refused without a query", async () => {
    const { secret } = await mint();
    const mistyped = `${secret.slice(0, -1)}${secret.endsWith("A") ? "B" : "A"}`;
    await withoutKeyTable(async () => {
      for (const bad of ["", "gr_live_", mistyped, secret.slice(1), `${secret}0`, "x".repeat(100_000)]) {
        expect(await refusal(world.keys.verifyKey({ secret: bad }))).toMatchObject({
          reason: "invalid_api_key",
        });
      }
    });
  });

  test("an unknown secret is asked for once, then refused without a query for at most 30 seconds", async () => {
    const secret = createKeySecret("normal");
    const refused = async () =>
      expect(await refusal(world.keys.verifyKey({ secret }))).toMatchObject({ reason: "invalid_api_key" });
    await refused();
    await withoutKeyTable(refused);
    world.clock.advance(20_000);
    await withoutKeyTable(refused);
    // Repeating it does not lengthen the time: a key that has turned up is found.
    world.clock.advance(10_001);
    await plant(secret);
    expect((await world.keys.verifyKey({ secret })).key?.accountId).toBe(accountId);
  });

  test("minting forgets what was unknown", async () => {
    const secret = createKeySecret("normal");
    await plant(createKeySecret("normal"));
    expect(await refusal(world.keys.verifyKey({ secret }))).toMatchObject({ reason: "invalid_api_key" });
    await plant(secret);
    await withoutKeyTable(async () => {
      expect(await refusal(world.keys.verifyKey({ secret }))).toMatchObject({ reason: "invalid_api_key" });
    });
    await mint();
    expect((await world.keys.verifyKey({ secret })).key?.accountId).toBe(accountId);
  });

  test("while the pepper is changed a key is found under both, and is under the new one from its first use on", async () => {
    const NEXT = "the-next-pepper-of-the-keys-tests-0123456789";
    const changing = await startKeys({ KEY_PEPPER: NEXT, KEY_PEPPER_OTHER: PEPPER });
    const changed = await startKeys({ KEY_PEPPER: NEXT });
    try {
      for (const { keys, db, name } of [
        { ...changing, name: "changing" },
        { ...changed, name: "changed" },
      ]) {
        const { accountId } = await keys.createAccount({ name: "Acme" });
        const { secret } = await keys.mintKey({ accountId, name: "old", kind: KeyKind.NORMAL });
        const under = (pepper: string) => createHmac("sha256", pepper).update(secret).digest();
        const stored = async () => (await db.query("SELECT digest FROM keys.api_key")).rows[0]?.digest;
        expect(await stored()).toEqual(under(NEXT));
        await db.query("UPDATE keys.api_key SET digest = $1", [under(PEPPER)]);
        const uses = Array.from({ length: 20 }, () => keys.verifyKey({ secret }));
        const found = (await Promise.allSettled(uses)).filter(({ status }) => status === "fulfilled");
        expect({ name, found: found.length }).toEqual({ name, found: name === "changing" ? 20 : 0 });
        expect(await stored()).toEqual(under(name === "changing" ? NEXT : PEPPER));
      }
    } finally {
      await changing.stop();
      await changed.stop();
    }
  });

  test("a planted plain hash of a secret opens nothing", async () => {
    const secret = createKeySecret("normal");
    const { key } = await mint();
    for (const digest of [
      createHmac("sha256", "").update(secret).digest(),
      createHmac("sha256", `${PEPPER}x`).update(secret).digest(),
    ]) {
      await world.db.query("UPDATE keys.api_key SET digest = $2 WHERE id = $1", [key?.keyId, digest]);
      world.clock.advance(30_001);
      expect(await refusal(world.keys.verifyKey({ secret }))).toMatchObject({ reason: "invalid_api_key" });
    }
  });
});

test("what happens to keys is counted, by kind and cause", async () => {
  const { secret } = await mint();
  await refusal(world.keys.verifyKey({ secret: "junk" }));
  const text = await world.metrics();
  expect(text).toMatch(/keys_minted_total\{kind="normal"\} \d+/);
  expect(text).toMatch(/keys_refused_total\{cause="malformed"\} \d+/);
  expect(text).not.toContain(secret);
});
