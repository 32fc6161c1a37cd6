// A checker without any code of billing proves a dump of open and sealed chains, and reports each changed row.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { sealUntil } from "../seals/seal-months.ts";
import { ChainRig } from "../test/chain/chain-rig.ts";
import { dumpLines } from "../test/chain/dump-store.ts";
import { writeSealedBook } from "../test/chain/sealed-book.ts";

const PROGRAM = join(import.meta.dirname, "../../../../scripts/ledger/check-dump.mjs");

let rig: ChainRig;
let folder: string;
let sealedSeq: number;
beforeAll(async () => {
  rig = await ChainRig.start();
  ({ sealedSeq } = await writeSealedBook(rig));
  await sealUntil(rig.pool, Date.UTC(2026, 2, 1), new AbortController().signal);
  folder = await mkdtemp(join(tmpdir(), "dump-"));
});
afterAll(async () => {
  await rig.stop();
  await rm(folder, { recursive: true, force: true });
});

/** @returns the output of the checker after a change that is not committed */
async function checkAfter(change: string): Promise<string> {
  return await rig.withClient(async (client) => {
    await client.query("BEGIN; ALTER TABLE step DROP CONSTRAINT step_is_sound; DROP INDEX step_beginning");
    await client.query(change);
    const files: string[] = [];
    for (const table of ["step", "seal"] as const) {
      const file = join(folder, `${table}.jsonl`);
      await writeFile(file, (await dumpLines(client, table)).map((line) => `${line}\n`).join(""));
      files.push(file);
    }
    await client.query("ROLLBACK");
    return await new Promise<string>((resolve) => {
      execFile(process.execPath, [PROGRAM, ...files], (_error, stdout, stderr) => resolve(stdout + stderr));
    });
  });
}

test("sound chains are sound", async () => {
  expect(await checkAfter("SELECT 1")).toBe("The dump is sound.\n");
});

const CHANGES: readonly (readonly [problem: string, change: string])[] = [
  ["a step is missing before it", "DELETE FROM step WHERE seq = 20"],
  ["it is earlier than the step before", "UPDATE step SET at = 1 WHERE seq = 20"],
  ["its totals do not follow", "UPDATE step SET debited = debited + 1 WHERE seq = 20"],
  ["its totals of budget 1 do not follow", "UPDATE step SET used1 = used1 + 1 WHERE kind = 5"],
  ["its hold is above the balance", "UPDATE step SET credited = 1 WHERE kind = 2"],
  ["its hold is not open", "UPDATE step SET place_seq = 2 WHERE kind = 6"],
  ["it ends another size, or charges more than the hold", "UPDATE step SET charge = 5000 WHERE kind = 5"],
  [
    "its id has begun before",
    "UPDATE step SET id = (SELECT id FROM step WHERE kind = 11 LIMIT 1) WHERE kind = 11; UPDATE step SET id = account_id WHERE kind = 2",
  ],
  [
    "the open holds are not the total",
    "UPDATE step SET held = held + 1 WHERE seq = (SELECT max(seq) FROM step)",
  ],
  ["the steps of its month are not those of the seal", "UPDATE step SET cost = cost + 1 WHERE kind = 5"],
  ["the steps of its month are not those of the seal", "UPDATE step SET model = 'another' WHERE kind = 2"],
  ["its seal has another hash than the chain", "UPDATE seal SET content = replace(content, 'day', 'week')"],
  ["its seal has another hash than the chain", "UPDATE seal SET hash = sha256('x')"],
  [
    "its seal has other open holds than the chain",
    "UPDATE seal SET content = replace(content, '\"10\"', '\"11\"')",
  ],
];

test.each(CHANGES)("reports: %s", async (problem, change) => {
  expect(sealedSeq).toBeGreaterThan(0);
  expect(await checkAfter(change)).toContain(problem);
});
