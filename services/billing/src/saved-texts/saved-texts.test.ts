// Guarantees of saved prompts and answers: an entry is stored once, in its account and of its key only. The bytes of an account are
// the sum over its entries and have a bound. Deletions are final. The retention is never longer than that of the log.
import { randomUUID } from "node:crypto";
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, startBillingOn, THURSDAY } from "../test/start-billing.ts";
import { openWallet, place, postOne } from "../test/wallet.ts";
import { createSavedTextStore } from "./saved-text-store.ts";

const DAY_MS = 86_400_000;
const MEGABYTE = 1024 * 1024;

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling({ TEXT_SAVED_ACCOUNT_MB: "2" });
});
afterAll(() => ledger?.stopSound());

interface Owner {
  readonly accountId: string;
  readonly spenderId: string;
}
const newOwner = (): Owner => ({ accountId: randomUUID(), spenderId: randomUUID() });
const json = (value: unknown) => new Uint8Array(Buffer.from(JSON.stringify(value)));

const textOf = (owner: Owner, fields: object = {}) => ({
  ...{ ...owner, requestId: randomUUID(), beganAt: BigInt(THURSDAY) },
  ...{ prompt: json({ messages: ['a "quoted" \\ text, ü'] }), answer: json({ choices: [] }) },
  ...{ promptBytes: 40n, answerBytes: 14n },
  ...fields,
});

async function save(owner: Owner, fields: object = {}): Promise<string> {
  const text = textOf(owner, fields);
  await ledger.savedTexts.saveTexts({ texts: [text] });
  return text.requestId;
}

const find = async (owner: Owner, requestId: string, spenderId = "") =>
  (await ledger.savedTexts.findSavedText({ accountId: owner.accountId, spenderId, requestId })).text;
const useOf = ({ accountId }: Owner) => ledger.savedTexts.getSavedTextUse({ accountId });

/** Bytes and entries of an account, summed anew. */
async function summed({ accountId }: Owner) {
  const { rows } = await ledger.db.query(
    "SELECT count(*) AS entries, coalesce(sum(stored_bytes), 0)::bigint AS bytes FROM saved_text WHERE account_id = $1 AND stored_bytes > 0",
    [accountId],
  );
  return rows[0];
}

async function expectCounted(owner: Owner, entries: bigint) {
  const { entries: counted, bytes } = await useOf(owner);
  expect({ entries: counted, bytes }).toEqual(await summed(owner));
  expect(counted).toBe(entries);
}

test("an entry is found with its bytes, and a second one of the same request changes nothing", async () => {
  const owner = newOwner();
  const text = textOf(owner);
  await ledger.savedTexts.saveTexts({ texts: [text] });
  const found = await find(owner, text.requestId);
  expect(found).toMatchObject(text);
  await ledger.savedTexts.saveTexts({ texts: [{ ...text, prompt: json("other") }, textOf(owner)] });
  expect(await find(owner, text.requestId)).toEqual(found);
  await expectCounted(owner, 2n);
});

test("an entry keeps the sizes of parts that are too long", async () => {
  const owner = newOwner();
  const id = await save(owner, {
    prompt: undefined,
    answer: undefined,
    promptBytes: 3_000_000n,
    answerBytes: 0n,
  });
  const found = await find(owner, id);
  expect([found?.prompt, found?.answer, found?.promptBytes, found?.answerBytes]).toEqual([
    ...[undefined, undefined],
    ...[3_000_000n, 0n],
  ]);
});

test("an entry is not found for another account or for another key", async () => {
  const [mine, other] = [newOwner(), newOwner()];
  const id = await save(mine);
  expect(await find(mine, id, mine.spenderId)).toBeDefined();
  expect(await find(mine, id, other.spenderId)).toBeUndefined();
  expect(await find(other, id)).toBeUndefined();
  await ledger.savedTexts.deleteSavedTexts({ accountId: other.accountId });
  await ledger.savedTexts.deleteSavedTexts({
    accountId: mine.accountId,
    spenderId: other.spenderId,
    requestId: id,
  });
  expect(await find(mine, id)).toBeDefined();
});

describe("a deletion", () => {
  test("removes one entry, those of a key, or all, and their bytes", async () => {
    const owner = newOwner();
    const second = { ...owner, spenderId: randomUUID() };
    const [one, two, three] = [await save(owner), await save(owner), await save(second)];
    const remove = async (fields: object) => {
      const request = { accountId: owner.accountId, ...fields };
      return (await ledger.savedTexts.deleteSavedTexts(request)).deleted;
    };
    expect(await remove({ requestId: one })).toBe(1n);
    expect(await find(owner, one)).toBeUndefined();
    await expectCounted(owner, 2n);
    expect(await remove({ spenderId: owner.spenderId })).toBe(1n);
    expect([await find(owner, two), (await find(owner, three))?.requestId]).toEqual([undefined, three]);
    expect(await remove({})).toBe(1n);
    expect(await remove({})).toBe(0n);
    await expectCounted(owner, 0n);
  });

  test("of one request is final: no entry comes back, neither of a running request nor of a repeated call", async () => {
    const wallet = await openWallet(ledger.inProcess, 100n);
    const running = randomUUID();
    await postOne(ledger.inProcess, place(wallet, 1n, { holdId: running }));
    const late = textOf(wallet, { requestId: running });
    const remove = async ({ requestId }: { requestId: string }) =>
      (await ledger.savedTexts.deleteSavedTexts({ ...wallet, requestId })).deleted;
    expect(await remove(late)).toBe(0n);
    const repeated = textOf(wallet);
    await ledger.savedTexts.saveTexts({ texts: [repeated] });
    expect([await remove(repeated), await remove(repeated)]).toEqual([1n, 0n]);
    await ledger.savedTexts.saveTexts({ texts: [late, repeated] });
    expect([await find(wallet, running), await find(wallet, repeated.requestId)]).toEqual([
      undefined,
      undefined,
    ]);
    await expectCounted(wallet, 0n);
    const terms = { days: 0, logDays: 0, mostBytes: 0n };
    const later = new Date(ledger.clock.now() + DAY_MS);
    await createSavedTextStore(ledger.db, terms).removeOld(later, new AbortController().signal);
    const { rows } = await ledger.db.query("SELECT FROM saved_text WHERE account_id = $1", [
      wallet.accountId,
    ]);
    expect(rows).toEqual([]);
    await expectCounted(wallet, 0n);
  });

  test("removes more entries than one statement does", async () => {
    const owner = newOwner();
    const texts = Array.from({ length: 500 }, () => textOf(owner));
    const more = Array.from({ length: 500 }, () => textOf(owner));
    const rest = [textOf(owner)];
    for (const batch of [texts, more, rest]) await ledger.savedTexts.saveTexts({ texts: batch });
    await expectCounted(owner, 1_001n);
    expect((await ledger.savedTexts.deleteSavedTexts({ accountId: owner.accountId })).deleted).toBe(1_001n);
    await expectCounted(owner, 0n);
  });
});

test("a full account saves no more, also within one call, and others are not affected", async () => {
  const [full, other] = [newOwner(), newOwner()];
  const large = { prompt: new Uint8Array(MEGABYTE - 1_000) };
  // In the order of their times: of three, the last one has no room.
  const at = (ms: number) => textOf(full, { ...large, beganAt: BigInt(THURSDAY + ms) });
  const texts = [at(1), at(2), at(3), textOf(other)];
  expect(await ledger.savedTexts.saveTexts({ texts })).toMatchObject({ refused: 1 });
  await expectCounted(full, 2n);
  await expectCounted(other, 1n);
  expect((await useOf(full)).bytes).toBeLessThanOrEqual((await useOf(full)).mostBytes);
  expect(await ledger.savedTexts.saveTexts({ texts: [textOf(full, large)] })).toMatchObject({ refused: 1 });
  expect(await ledger.metrics()).toMatch(/billing_saved_texts_refused_total 2/);
  // A deletion makes room.
  await ledger.savedTexts.deleteSavedTexts({
    accountId: full.accountId,
    requestId: texts[0]?.requestId ?? "",
  });
  expect(await ledger.savedTexts.saveTexts({ texts: [textOf(full, large)] })).toMatchObject({ refused: 0 });
  await expectCounted(full, 2n);
});

test("calls at the same time count each entry once", async () => {
  const owner = newOwner();
  const shared = textOf(owner);
  const calls = Array.from({ length: 8 }, () =>
    ledger.savedTexts.saveTexts({ texts: [shared, textOf(owner), textOf(owner)] }),
  );
  await Promise.all([...calls, ledger.savedTexts.deleteSavedTexts({ accountId: owner.accountId })]);
  const { entries, bytes } = await useOf(owner);
  expect({ entries, bytes }).toEqual(await summed(owner));
});

describe("the retention", () => {
  const terms = { days: 30, logDays: 90, mostBytes: BigInt(MEGABYTE) };
  const round = () =>
    createSavedTextStore(ledger.db, terms).removeOld(
      new Date(ledger.clock.now()),
      new AbortController().signal,
    );
  const daysAgo = (days: number) => ({ beganAt: BigInt(THURSDAY - days * DAY_MS) });

  test("ends with the days of the installation, and a shorter log of the account ends it earlier", async () => {
    const usual = newOwner();
    const short = await openWallet(ledger.inProcess, 1n);
    await ledger.texts.setTextRetention({ accountId: short.accountId, days: 5 });
    const ids = [await save(usual, daysAgo(31)), await save(usual, daysAgo(29))];
    const shortIds = [await save(short, daysAgo(6)), await save(short, daysAgo(4))];
    expect([(await useOf(usual)).days, (await useOf(short)).days]).toEqual([30, 5]);
    await round();
    const kept = async (owner: Owner, all: string[]) =>
      Promise.all(all.map(async (id) => (await find(owner, id)) !== undefined));
    expect(await kept(usual, ids)).toEqual([false, true]);
    expect(await kept(short, shortIds)).toEqual([false, true]);
    await expectCounted(usual, 1n);
    await expectCounted(short, 1n);
  });

  test("runs with the process", async () => {
    const owner = newOwner();
    const id = await save(owner, daysAgo(31));
    const process = await startBillingOn(ledger.url, ledger.clock);
    await until(async () => (await find(owner, id)) === undefined, { timeoutMs: 60_000 });
    await process.stop();
  });

  test("of 0 days saves nothing: of an account whose log has none, and of an installation without", async () => {
    const mine = await openWallet(ledger.inProcess, 1n);
    await ledger.texts.setTextRetention({ accountId: mine.accountId, days: 0 });
    const id = await save(mine);
    expect(await find(mine, id)).toBeUndefined();
    const process = await startBillingOn(ledger.url, ledger.clock, { TEXT_SAVED_DAYS: "0" });
    const other = newOwner();
    const text = textOf(other);
    expect(await process.savedTexts.saveTexts({ texts: [text] })).toMatchObject({ refused: 0 });
    expect(await find(other, text.requestId)).toBeUndefined();
    await process.stop();
  });
});

test.each([
  ["texts[0].request_id", { requestId: "x" }],
  ["texts[0].account_id", { accountId: "x" }],
  ["texts[0].spender_id", { spenderId: "x" }],
  ["texts[0].began_at", { beganAt: 0n }],
  ["texts[0].prompt", { prompt: new Uint8Array(MEGABYTE + 1) }],
  ["texts[0].answer", { answer: new Uint8Array(MEGABYTE + 1) }],
])("an entry with a wrong %s is refused, and so are its neighbours", async (param, fields) => {
  const owner = newOwner();
  const texts = [textOf(owner, fields), textOf(owner)];
  await expect(ledger.savedTexts.saveTexts({ texts })).rejects.toMatchObject({
    reason: "invalid_value",
    param,
  });
  await expectCounted(owner, 0n);
});
