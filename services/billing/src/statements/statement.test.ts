// A statement of a sealed month is checked offline by a program of scripts/ledger/; each changed copy is refused with one sentence.
import { execFile } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { sealUntil } from "../seals/seal-months.ts";
import { ChainRig } from "../test/chain/chain-rig.ts";
import { writeSealedBook } from "../test/chain/sealed-book.ts";
import { type BillingProcess, startBillingOn } from "../test/start-billing.ts";

const PROGRAM = join(import.meta.dirname, "../../../../scripts/ledger/check-statement.mjs");
const FEBRUARY_ENDS = Date.UTC(2026, 2, 1);

const keys = generateKeyPairSync("ed25519");
const publicKey = keys.publicKey.export({ format: "der", type: "spki" }).toString("base64");
const privateKey = keys.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
const other = generateKeyPairSync("ed25519").publicKey.export({ format: "der", type: "spki" });

let rig: ChainRig;
let accountId: string;
let folder: string;
let signing: BillingProcess;
let unsigned: BillingProcess;
let january: Statement;
let february: Statement;
beforeAll(async () => {
  rig = await ChainRig.start();
  accountId = (await writeSealedBook(rig)).wallet.accountId;
  await sealUntil(rig.pool, FEBRUARY_ENDS, new AbortController().signal);
  folder = await mkdtemp(join(tmpdir(), "statement-"));
  const keyFile = join(folder, "key.pem");
  await writeFile(keyFile, privateKey);
  signing = await startBillingOn(rig.url, rig.clock, { STATEMENT_KEY_FILE: keyFile });
  unsigned = await startBillingOn(rig.url, rig.clock);
  january = await statementOf(signing, "2026-01");
  february = await statementOf(signing, "2026-02");
});
afterAll(async () => {
  await Promise.all([signing.stop(), unsigned.stop()]);
  await rig.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Statement {
  readonly seal: readonly (string | null)[];
  readonly hash: string;
  readonly signing: { readonly signature: string; readonly public_key: string } | null;
  readonly lines: readonly string[];
}

async function statementOf({ statements }: BillingProcess, month: string): Promise<Statement> {
  const first = await statements.readStatement({ accountId, month });
  const lines = [...first.lines];
  for (let more = first.hasMore; more; ) {
    const after = BigInt(JSON.parse(lines.at(-1) ?? "")[0]);
    const page = await statements.readStatement({ accountId, month, after });
    lines.push(...page.lines);
    more = page.hasMore;
  }
  const { seal, hash, signature, publicKey: key } = first;
  return {
    seal: JSON.parse(seal),
    hash,
    signing: signature === "" ? null : { signature, public_key: key },
    lines,
  };
}

async function fileOf(name: string, { lines, ...head }: Statement): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, `${[JSON.stringify(head), ...lines].join("\n")}\n`);
  return file;
}

/** @returns exit code and output of the program */
async function check(statement: Statement, ...args: string[]): Promise<string> {
  const file = await fileOf("statement.jsonl", statement);
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, file, ...args], (error, stdout, stderr) => {
      resolve(`${error?.code ?? 0} ${stdout}${stderr}`);
    });
  });
}

test("the program accepts both months, and names their sums and their trust", async () => {
  expect(await check(january, "--key", publicKey)).toBe(
    `0 The statement of account ${accountId} is sound (signed): 11 steps, credited 0.2000, charged 0.0004, balance 0.1996, reserved 0.0019 USD.\n`,
  );
  const previous = await fileOf("january.jsonl", january);
  const found = await check(february, "--key", publicKey, "--previous", previous);
  expect(found).toMatch(
    /^0 The statement .* is sound \(signed\): 1032 steps, credited -0\.0001, charged 0\.0014, /,
  );
  expect(await check(february)).toContain("is sound (unknown key)");
});

test("without a key of the operator a statement is sound and unsigned", async () => {
  const statement = await statementOf(unsigned, "2026-01");
  expect(statement.signing).toBeNull();
  expect(await check(statement)).toContain("is sound (unsigned)");
  expect(await check(statement, "--key", publicKey)).toBe("1 The statement is not signed.\n");
});

test("no column of a statement has a cost or the name of a provider", () => {
  expect(JSON.stringify(february)).not.toMatch(/openrouter|vendor\/chat|2026-01"/);
});

const edit = (lines: readonly string[], index: number, change: (row: (string | null)[]) => void) =>
  lines.map((line, at) => {
    if (at !== index) return line;
    const row = JSON.parse(line);
    change(row);
    return JSON.stringify(row);
  });

test("each changed copy is refused with one sentence", async () => {
  const { lines, seal } = january;
  const changed = (at: number, value: string | null) =>
    seal.map((each, index) => (index === at ? value : each));
  const refused: Readonly<Record<string, Statement>> = {
    "Step 4 is missing: step 5 follows.": { ...january, lines: lines.filter((_, at) => at !== 3) },
    "The statement lacks steps: its seal ends with step 11.": { ...january, lines: lines.slice(0, -1) },
    "Step 2 has another total (credited) than the steps up to it.": {
      ...january,
      lines: edit(lines, 1, (row) => row.splice(4, 1, "1999")),
    },
    "Step 9 charges more than a hold.": { ...january, lines: edit(lines, 8, (row) => row.splice(5, 1, "6")) },
    "Step 9 has another total of budget 1 than the steps up to it.": {
      ...january,
      lines: edit(lines, 8, (row) => row.splice(13, 1, "5")),
    },
    "The steps were changed: their hash is another.": {
      ...january,
      lines: edit(lines, 3, (row) => row.splice(10, 1, "another model")),
    },
    "The seal was changed: it does not have the hash that the statement names.": {
      ...january,
      seal: changed(8, "5"),
    },
    "The signature is not that of the operator.": { ...february, signing: january.signing },
    "The file is not a statement with a seal of version 1.": { ...january, seal: changed(0, "seal 2") },
  };
  const found = [];
  for (const statement of Object.values(refused)) found.push(await check(statement, "--key", publicKey));
  expect(found).toEqual(Object.keys(refused).map((sentence) => `1 ${sentence}\n`));
});

test("another key, and another month before, are refused", async () => {
  expect(await check(january, "--key", other.toString("base64"))).toBe(
    "1 The signature is not that of the operator.\n",
  );
  const previous = await fileOf("previous.jsonl", february);
  expect(await check(february, "--previous", previous)).toMatch(
    /^1 The other statement is not that of the sealed month/,
  );
});

test("a month without a seal, and a wrong month, are refused by name", async () => {
  for (const [month, problem] of [
    ["2025-12", "no seal of 2025-12"],
    ["2026-13", "YYYY-MM"],
  ] as const) {
    const read = signing.statements.readStatement({ accountId, month });
    await expect(read).rejects.toMatchObject({
      reason: "invalid_value",
      message: expect.stringContaining(problem),
    });
  }
});

test("a file without a key is refused at the start, by the name of the setting", async () => {
  const start = startBillingOn(rig.url, rig.clock, { STATEMENT_KEY_FILE: join(folder, "none.pem") });
  await expect(start).rejects.toThrow(/STATEMENT_KEY_FILE/);
});
