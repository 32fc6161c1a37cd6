// Guarantees of the operator's commands, against a real keys service and fake peers over the real transport.
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWellFormedKey } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import { DepositStatus, HoldState, SpendPeriod } from "@gr/proto/billing";
import { ModelKind, TextImportState } from "@gr/proto/catalog";
import { GenerationKind, GenerationStatus } from "@gr/proto/media";
import { freePort } from "@gr/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { runWith } from "./simulated.ts";
import { type RouterUnderTest, runMain, SECRET, startRouter, writeRuntimeFile } from "./test/start-router.ts";

let router: RouterUnderTest;
let scratch: string;

beforeAll(async () => {
  router = await startRouter();
  scratch = await mkdtemp(join(tmpdir(), "generation-router-cli-"));
});
afterAll(async () => {
  await router?.stop();
  await rm(scratch, { recursive: true, force: true });
});
afterEach(() => {
  router.peers.beforePutDeposit = async () => undefined;
  router.peers.beforePutAdjustment = async () => undefined;
  router.peers.catalogReady = true;
  router.peers.textImport = { state: TextImportState.DONE };
});

const newAccount = async (): Promise<string> =>
  (await router.json("account", "create", "--name", "Acme")).account_id;

/** One sentence on stderr, nothing on stdout, an exit code that scripts notice. */
async function expectFailure(sentence: RegExp, ...args: string[]): Promise<string> {
  const { code, out, err } = await router.cli(...args);
  expect({ code: code !== 0, out }).toEqual({ code: true, out: "" });
  expect(err).toMatch(sentence);
  return err;
}

describe("keys", () => {
  test("are minted with all that was asked for, listed without secret, and revoked", async () => {
    const account = await newAccount();
    const minted = await router.json(
      ...["key", "mint", "--account", account, "--name", "CI", "--spend-limit", "12.3456"],
      ...["--response-format", "b64_json"],
      ...["--period", "week", "--expires-at", "2199-01-31T18:00:00+02:00"],
    );
    expect(minted).toMatchObject({
      name: "CI",
      kind: "normal",
      is_active: true,
      spend_limit: "12.3456",
      spend_limit_period: "week",
      expires_at: "2199-01-31T16:00:00.000Z",
      default_response_format: "b64_json",
    });
    expect(isWellFormedKey(minted.key)).toBe(true);
    const { key: secret, ...record } = minted;
    const listed = await router.cli("key", "list", "--account", account, "--json");
    expect(JSON.parse(listed.out)).toEqual({ keys: [record] });
    expect(listed.out).not.toContain(secret);
    const table = await router.cli("key", "list", "--account", account);
    expect(table.out).toMatch(/ID +NAME +KIND/);
    expect(table.out).toMatch(new RegExp(`${minted.id} +CI +normal +yes +gr_live_….{4} +12\\.3456 +week`));
    expect(await router.json("key", "revoke", "--account", account, "--id", minted.id)).toEqual({
      id: minted.id,
      deleted: true,
    });
    expect((await router.cli("key", "list", "--account", account)).out).toBe("This account has no keys.\n");
    await expectFailure(/not found/, "key", "revoke", "--account", account, "--id", minted.id);
  });

  test("and accounts have a default response_format, which is changed and removed", async () => {
    const account = await newAccount();
    const { id } = await router.json("key", "mint", "--account", account, "--name", "CI");
    const ofKey = ["key", "update", "--account", account, "--id", id, "--response-format"];
    const ofAccount = ["account", "update", "--account", account, "--response-format"];
    for (const command of [ofKey, ofAccount]) {
      const { default_response_format: set } = await router.json(...command, "b64_ephemeral");
      const { default_response_format: removed } = await router.json(...command, "none");
      expect([set, removed]).toEqual(["b64_ephemeral", null]);
      await expectFailure(/url, b64_json, b64_ephemeral, none/, ...command, "base64");
    }
  });

  test("save texts only if this is named, until it is taken back", async () => {
    const account = await newAccount();
    const mint = ["key", "mint", "--account", account, "--name", "CI"];
    expect((await router.json(...mint)).saves_texts).toBe(false);
    const { id, saves_texts: saves } = await router.json(...mint, "--save-texts");
    const update = ["key", "update", "--account", account, "--id", id];
    const renamed = await router.json(...update, "--name", "other");
    const { saves_texts: removed } = await router.json(...update, "--no-save-texts");
    expect([saves, renamed.saves_texts, removed]).toEqual([true, true, false]);
  });

  test("of the management kind can be minted here", async () => {
    const account = await newAccount();
    const { out } = await router.cli("key", "mint", "--account", account, "--name", "m", "--management");
    expect(out).toMatch(/shown this once:\n\n {2}gr_mgmt_[0-9A-Za-z]{36}\n/);
  });

  test("with names that move the cursor are printed harmlessly", async () => {
    const account = await newAccount();
    await router.cli("key", "mint", "--account", account, "--name", "a\u001b[2Jb\u202ec");
    const { out } = await router.cli("key", "list", "--account", account);
    expect(out).toContain("a\ufffd[2Jb\ufffdc");
  });

  test("are refused with the service's own sentence", async () => {
    await expectFailure(
      /no account with this id.*account_id/,
      ...["key", "mint", "--account", randomUUID(), "--name", "k"],
    );
    const account = await newAccount();
    await expectFailure(/must not be empty/, "key", "mint", "--account", account, "--name", " ");
    await expectFailure(/future/, ...mintUntil(account, "2001-01-01T00:00:00Z"));
    await expectFailure(/"period"/, "key", "mint", "--account", account, "--name", "k", "--period", "day");
  });
});

describe.each([
  { command: "media", what: "Files", usual: 30, zero: /kept for ever, as set/ },
  { command: "text", what: "Lines of text requests", usual: 90, zero: /kept not at all, as set/ },
])("$command retention", ({ command, what, usual, zero }) => {
  test("is shown, set, and given back to the installation", async () => {
    const account = randomUUID();
    const of = ["--account", account] as const;
    const printed = async (...args: string[]) => (await router.cli(command, "retention", ...args, ...of)).out;
    expect(await printed("show")).toBe(
      `${what} of account ${account} are kept for ${usual} days, as all of this installation.\n`,
    );
    expect(await printed("set", "--days", "1")).toBe(
      `${what} of account ${account} are kept for 1 day, as set for this account.\n`,
    );
    expect(await printed("set", "--days", "0")).toMatch(zero);
    expect(await router.json(command, "retention", "show", ...of)).toEqual({
      account_id: account,
      days: 0,
      own: true,
    });
    expect(await printed("set")).toMatch(new RegExp(`for ${usual} days, as all`));
  });
});

const mintUntil = (account: string, time: string) =>
  ["key", "mint", "--account", account, "--name", "k", "--expires-at", time] as const;

describe("options", () => {
  test.each([
    [["deposit", "add", "--account", "a", "--usd", "1.00001"], /at most four decimals/],
    [["media", "retention", "set", "--account", "a", "--days", "-1"], /whole number from 0 to 36500/],
    [["media", "retention", "set", "--account", "a", "--days", "1.5"], /whole number from 0 to 36500/],
    [["deposit", "add", "--account", "a", "--usd", "ten"], /at most four decimals/],
    [["deposit", "add", "--account", "a", "--usd", "-1"], /at most four decimals/],
    [["deposit", "add", "--account", "a", "--usd", "0"], /more than zero/],
    [["deposit", "add", "--account", "a", "--usd", "1", "--status", "done"], /one of: completed/],
    [["deposit", "add", "--account", "a", "--usd", "1", "--id", "7"], /UUID/],
    [["key", "mint", "--account", "a", "--name", "k", "--period", "year"], /one of: day, week, month/],
    [["key", "mint", "--account", "a", "--name", "k", "--expires-at", "2027-02-30T00:00:00Z"], /ISO 8601/],
    [["deposit", "refund", "--account", "a", "--usd", "1"], /required option '--id <uuid>'/],
    [["deposit", "refund", "--account", "a", "--usd", "0", "--id", randomUUID()], /more than zero/],
    [["adjustment", "add", "--account", "a", "--reason", "r", "--usd", "0"], /must not be zero/],
    [
      ["adjustment", "add", "--account", "a", "--reason", "r", "--usd", "-0.00001"],
      /for example 12.50 or -12.50/,
    ],
    [["adjustment", "add", "--account", "a", "--usd", "-1"], /required option '--reason <text>'/],
    [["hold", "list", "--limit", "0"], /1 to 1000/],
    [["key", "mint", "--name", "k"], /required option '--account <id>'/],
    [["key", "steal"], /unknown command 'steal'/],
    [["frobnicate"], /unknown command 'frobnicate'/],
  ])("%j is refused before anything is sent", async (args, sentence) => {
    const booked = () => router.peers.deposits.length + router.peers.adjustments.length;
    const before = booked();
    await expectFailure(sentence, ...args);
    expect(booked()).toBe(before);
  });

  test("help is no failure, and names every noun", async () => {
    const { code, out } = await router.cli("--help");
    expect(code).toBe(0);
    const money = ["deposit", "adjustment", "credits", "hold", "ledger"];
    for (const noun of ["account", "key", "token", ...money, "catalog", "doctor"]) {
      expect(out).toContain(`\n  ${noun}`);
    }
  });
});

describe("deposits", () => {
  test("are booked exactly as written", async () => {
    const account = await newAccount();
    const booked = await router.json("deposit", "add", "--account", account, "--usd", "90071992547.4099");
    expect(booked).toMatchObject({ usd: "90071992547.4099", status: "completed", source: "operator" });
    expect(router.peers.deposits.at(-1)).toMatchObject({
      depositId: booked.deposit_id,
      accountId: account,
      credits: 900_719_925_474_099n,
      status: DepositStatus.COMPLETED,
      source: "operator",
    });
  });

  test("change their status when the id is given again", async () => {
    const id = randomUUID();
    const add = (status: string) =>
      router.cli("deposit", "add", "--account", "a", "--usd", "5", "--id", id, "--status", status);
    expect((await add("pending")).out).toContain(
      `Booked 5.0000 USD (pending) to account a as deposit ${id}.`,
    );
    await add("refunded");
    const statuses = router.peers.deposits.filter(({ depositId }) => depositId === id).map((d) => d.status);
    expect(statuses).toEqual([DepositStatus.PENDING, DepositStatus.REFUNDED]);
  });

  test("whose fate is unknown name the id to try again with", async () => {
    const unknown = /may be booked or not; repeat the command with --id [0-9a-f-]{36}\.\n$/;
    const nobody = await runWith(
      { BILLING_RPC_URL: `http://127.0.0.1:${await freePort()}`, INTERNAL_AUTH_SECRET: SECRET },
      ...["deposit", "add", "--account", "a", "--usd", "5"],
    );
    expect(nobody).toMatchObject({ code: 1, err: expect.stringMatching(unknown) });
    for (const failure of [new Error("lost the commit"), new ServiceError("billing_unavailable", "Down.")]) {
      router.peers.beforePutDeposit = async () => {
        throw failure;
      };
      await expectFailure(unknown, "deposit", "add", "--account", "a", "--usd", "5");
    }
  });

  test("that billing refuses are reported with its sentence", async () => {
    router.peers.beforePutDeposit = async () => {
      throw new ServiceError("account_not_found", "There is no account with this id.", {
        param: "account_id",
      });
    };
    const err = await expectFailure(
      /no account with this id/,
      ...["deposit", "add", "--account", "a", "--usd", "5"],
    );
    expect(err).not.toContain("--id");
  });
});

describe("adjustments", () => {
  const add = ["adjustment", "add", "--account", "a", "--reason", "goodwill, ticket 812"] as const;

  test.each([
    ["-12.3456", -123_456n, /^Took 12\.3456 USD from account a as adjustment /],
    ["0.0001", 1n, /^Gave 0\.0001 USD to account a as adjustment /],
  ])("of %s USD are booked exactly as written", async (usd, credits, sentence) => {
    const id = randomUUID();
    const { code, out } = await router.cli(...add, "--usd", usd, "--id", id);
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(sentence) });
    expect(out).toContain(id);
    expect(router.peers.adjustments.at(-1)).toMatchObject({
      ...{ adjustmentId: id, accountId: "a", credits, reason: "goodwill, ticket 812" },
    });
    expect(await router.json(...add, `--usd=${usd}`)).toEqual({
      adjustment_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      account_id: "a",
      usd,
      reason: "goodwill, ticket 812",
    });
  });

  test("whose fate is unknown name the id to try again with, and those refused do not", async () => {
    for (const failure of [new Error("lost the commit"), new ServiceError("billing_unavailable", "Down.")]) {
      router.peers.beforePutAdjustment = async () => {
        throw failure;
      };
      await expectFailure(
        /The adjustment may be booked or not; repeat the command with --id [0-9a-f-]{36}\.\n$/,
        ...[...add, "--usd", "-5"],
      );
    }
    router.peers.beforePutAdjustment = async () => {
      throw new ServiceError("account_not_found", "There is no account with this id.");
    };
    expect(await expectFailure(/no account with this id/, ...add, "--usd", "-5")).not.toContain("--id");
  });
});

test("credits are shown exactly, by key", async () => {
  router.peers.credits = {
    depositedCredits: 100_000n,
    remainingCredits: -25n,
    heldCredits: 7n,
    usage: [
      {
        spender: {
          spenderId: "s1",
          name: "CI",
          active: true,
          capCredits: 50_000n,
          period: SpendPeriod.DAY,
        },
        usedCredits: 100_025n,
        requests: 12n,
        windowUsedCredits: 25n,
      },
    ],
  };
  expect(await router.json("credits", "show", "--account", "a")).toEqual({
    account_id: "a",
    total_deposits: "10.0000",
    credit_usage: "10.0025",
    remaining_credits: "-0.0025",
    held_credits: "0.0007",
    usage_by_api_key: [
      {
        api_key_id: "s1",
        api_key_name: "CI",
        is_active: true,
        credit_usage: "10.0025",
        total_requests: 12,
        spend_limit: "5.0000",
        spend_limit_period: "day",
        period_spend: "0.0025",
        expires_at: null,
      },
    ],
  });
  const { out } = await router.cli("credits", "show", "--account", "a");
  expect(out).toMatch(/remaining +-0\.0025/);
  expect(out).toMatch(/s1 +CI +yes +10\.0025 +12 +5\.0000 +day +0\.0025 +never/);
});

test("requests of all kinds are listed as asked, and one is shown with its price", async () => {
  const [imageId, textId] = [randomUUID(), randomUUID()];
  const common = { keyId: "s1", status: GenerationStatus.SUCCEEDED, createdAt: 1_000n, provider: "fal" };
  router.peers.log = {
    generations: [
      {
        ...{ ...common, id: imageId, kind: GenerationKind.IMAGE, model: "sandbox/image", finishedAt: 3_500n },
        ...{ chargedCredits: 100n, urls: ["https://x/a.webp"], parameters: { prompt: "a kite", count: 1 } },
      },
      { ...{ ...common, id: textId, kind: GenerationKind.TEXT, model: "sandbox/chat" }, text: {} },
    ],
    hasMore: true,
  };
  const before = randomUUID();
  const { requests, has_more } = await router.json(
    ...["request", "list", "--account", "a", "--kind", "image", "--limit", "5", "--after", before],
  );
  expect(has_more).toBe(true);
  expect(requests).toMatchObject([
    { id: imageId, kind: "image", cost: 0.01, latency: 2_500, data: [{ url: "https://x/a.webp" }] },
    { id: textId, kind: "text", request: {}, data: [] },
  ]);
  const asked = { accountId: "a", kind: GenerationKind.IMAGE, texts: false, limit: 5, after: before };
  expect(router.peers.logRequests.at(-1)).toMatchObject(asked);
  expect((await router.cli("request", "list", "--account", "a")).out).toMatch(
    new RegExp(`${imageId} .*image +succeeded +sandbox/image +fal +2500 +0\\.01[\\s\\S]*--after ${textId}`),
  );
  expect(router.peers.logRequests.at(-1)).toMatchObject({ kind: 0, texts: true, provider: "" });
  await router.cli("request", "list", "--account", "a", "--provider", "fal");
  expect(router.peers.logRequests.at(-1)).toMatchObject({ provider: "fal" });
  expect(await router.json("request", "show", imageId, "--account", "a")).toMatchObject({
    id: imageId,
    price: { charged: "0.0100" },
  });
  expect((await router.cli("request", "show", randomUUID(), "--account", "a")).code).toBe(1);
});

test("holds are listed as asked", async () => {
  const id = randomUUID();
  router.peers.holds = {
    holds: [
      {
        holdId: id,
        accountId: "a",
        spenderId: "s1",
        credits: 100n,
        state: HoldState.OPEN,
        provider: "fal",
        attempt: 2,
        model: "sandbox/image",
        upstreamModel: "fal-ai/image",
        placedAt: 1_000n,
        deadlineAt: 2_000n,
      },
    ],
    hasMore: true,
  };
  const before = randomUUID();
  const { holds, has_more } = await router.json(
    ...["hold", "list", "--account", "a", "--open", "--limit", "5", "--after", before],
  );
  expect(has_more).toBe(true);
  expect(holds).toMatchObject([
    {
      ...{ id, state: "open", credits: "0.0100", charged: "0.0000", placed_at: "1970-01-01T00:00:01.000Z" },
      ...{ provider: "fal", attempt: 2, model: "sandbox/image", upstream_model: "fal-ai/image" },
    },
  ]);
  expect(router.peers.holdRequests.at(-1)).toMatchObject({
    accountId: "a",
    state: HoldState.OPEN,
    limit: 5,
    after: before,
  });
  expect((await router.cli("hold", "list")).out).toMatch(
    new RegExp(`${id} +open +0\\.0100.* fal +2 +sandbox/image[\\s\\S]*There are more: --after ${id}\n`),
  );
  expect(router.peers.holdRequests.at(-1)).toMatchObject({
    accountId: "",
    state: HoldState.UNSPECIFIED,
    limit: 100,
  });
});

test("ledger verify ends with 0 when the books are right and with 1 when they are not", async () => {
  const books = {
    accounts: 2n,
    holds: 3n,
    openHolds: 1n,
    chargedCredits: 15_000n,
    chargedCostPicoUsd: "123456789012345678901234567890",
    lostCostPicoUsd: "5",
  };
  router.peers.ledger = books;
  const right = await router.cli("ledger", "verify");
  expect(right.code).toBe(0);
  expect(right.out).toMatch(/^The ledger is right: accounts 2, holds 3 \(open 1\), charged 1\.5000 USD/);
  expect(right.out).toContain("123456789012345678.90123456789 USD");
  const difference = {
    invariant: "account.held = sum of open holds",
    subject: "a1",
    expected: "7",
    actual: "8",
  };
  router.peers.ledger = { ...books, differences: [difference] };
  const wrong = await router.cli("ledger", "verify", "--json");
  expect(wrong.code).toBe(1);
  expect(JSON.parse(wrong.out).differences).toEqual([difference]);
  expect((await router.cli("ledger", "verify")).out).toMatch(/differences: 1\).*\n\nINVARIANT/s);
  await router.cli("ledger", "verify", "--all");
  expect(router.peers.provedAll).toEqual([false, false, false, true]);
});

test("the catalogue is listed with prices in words", async () => {
  router.peers.catalog = {
    version: "v1",
    models: [
      {
        id: "x/image",
        kind: ModelKind.IMAGE,
        price: {
          version: "p1",
          rule: {
            case: "image",
            value: { tiers: [{ picoUsd: 40_000_000_000n }, { picoUsd: 9_000_000_000n }] },
          },
        },
        routes: [{ provider: "openai" }, { provider: "fal" }, { provider: "openai" }],
      },
      {
        id: "x/chat",
        kind: ModelKind.TEXT,
        price: { rule: { case: "token", value: { inputPicoUsd: 500_000n, outputPicoUsd: 1_500_000n } } },
        routes: [{ provider: "openrouter" }],
      },
    ],
  };
  expect(await router.json("catalog", "list", "--kind", "image")).toMatchObject({
    version: "v1",
    models: [{ id: "x/image", price: "from 0.009 USD an image", providers: ["openai", "fal"] }],
  });
  const { out } = await router.cli("catalog", "list");
  expect(out).toMatch(/x\/chat +text +0\.5 \/ 1\.5 USD a million tokens in \/ out +openrouter/);
});

describe("doctor", () => {
  test("says that all is well, and what is configured", async () => {
    const { code, out } = await router.cli("doctor");
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("Everything answers.") });
    expect(out).toContain(join(router.dataDir, "runtime.json"));
    expect(out).toMatch(/catalog +\S+ +yes +yes +yes +models: 1 image, 1 text; providers: fal, openai/);
  });

  test("says why the text models could not be imported: something is wrong, although all answer", async () => {
    const problem = "the upstream was not reached (ENOTFOUND)";
    router.peers.textImport = { state: TextImportState.FAILED, problem };
    const { code, out } = await router.cli("doctor");
    expect({ code, out }).toEqual({ code: 1, out: expect.stringContaining("Something is wrong.") });
    expect(out).toMatch(
      /yes +yes +yes +the text models could not be imported: .* \(ENOTFOUND\)\. models: 1 image/,
    );
  });

  test("tells unready from unreachable, and names what is not set", async () => {
    router.peers.catalogReady = "no models yet";
    const { code, out } = await runWith(
      {
        KEYS_RPC_URL: router.rpcUrl,
        BILLING_RPC_URL: `http://127.0.0.1:${await freePort()}`,
        INTERNAL_AUTH_SECRET: SECRET,
      },
      ...["doctor", "--json"],
    );
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      source: "the environment",
      services: [
        { service: "keys", reachable: true, ready: false, answers: true },
        { service: "billing", reachable: false, note: expect.stringMatching(/did not answer.*running\?/) },
        { service: "catalog", url: null, note: "CATALOG_RPC_URL is not set" },
      ],
    });
  });

  test("says that the secret is wrong", async () => {
    const { code, out } = await runWith(
      { KEYS_RPC_URL: router.rpcUrl, INTERNAL_AUTH_SECRET: "another-secret-of-more-than-32-characters" },
      ...["doctor", "--json"],
    );
    expect(code).toBe(1);
    expect(JSON.parse(out).services[0]).toMatchObject({
      reachable: true,
      ready: true,
      answers: false,
      note: expect.stringContaining("INTERNAL_AUTH_SECRET"),
    });
  });
});

describe("finding the router", () => {
  test("without one, the sentence says where it looked", async () => {
    const { code, err } = await runWith({ DATA_DIR: scratch }, "ledger", "verify");
    expect(code).toBe(1);
    expect(err).toBe(
      `No router has run on ${scratch} (there is no ${join(scratch, "runtime.json")}); start one, or name its folder with --data-dir.\n`,
    );
  });

  test("a stopped one is named by its file", async () => {
    const dataDir = join(scratch, "stopped");
    await mkdir(dataDir);
    await writeRuntimeFile(dataDir, `http://127.0.0.1:${await freePort()}`, SECRET);
    const { code, err } = await runWith({}, "account", "create", "--name", "x", "--data-dir", dataDir);
    expect(code).toBe(1);
    expect(err).toBe(
      `The keys service did not answer (its address is from ${join(dataDir, "runtime.json")}); is the router running?\n`,
    );
  });

  test("a file that is not ours is refused", async () => {
    const dataDir = join(scratch, "broken");
    await mkdir(dataDir);
    for (const content of ["{", "{}", '{"rpc_urls":{"keys":"x"}}']) {
      await writeFile(join(dataDir, "runtime.json"), content);
      const { code, err } = await runWith({}, "--data-dir", dataDir, "doctor");
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("restart it") });
    }
  });

  test("a named folder wins over the environment", async () => {
    const env = { KEYS_RPC_URL: "http://127.0.0.1:1", INTERNAL_AUTH_SECRET: SECRET };
    const { code } = await runWith(env, "account", "create", "--name", "x", "--data-dir", router.dataDir);
    expect(code).toBe(0);
  });

  test("addresses without a secret are refused", async () => {
    const { err } = await runWith({ KEYS_RPC_URL: router.rpcUrl }, "doctor");
    expect(err).toMatch(/INTERNAL_AUTH_SECRET must be set/);
  });
});

test("the command itself ends with its exit code and leaves no connection behind", async () => {
  const run = (...args: string[]) => runMain({ DATA_DIR: router.dataDir }, ...args);
  expect(await run("account", "create", "--name", "x")).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Created account [0-9a-f-]{36}\.\n$/),
    err: "",
  });
  expect(await run("account", "create", "--name", "")).toMatchObject({ code: 1, out: "" });
});
