// The record of the distributed ledger fails CI if its files differ, and a machine without Citus gets one sentence.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { ROOT } from "../../scripts/tool.ts";
import { coveredFiles } from "../cluster/verified.ts";
import { findCitus } from "./citus.ts";
import { COVERED, compare, type Verified } from "./verified.ts";

const VERIFIED: Verified = {
  passed: "a run",
  date: "2026-11-27",
  node: "26.10.0",
  postgres: "18.6",
  citus: "15.0-1",
  digest: "a",
};

test("files that differ from the record, and an absent record, are reported in one sentence", () => {
  expect(compare("a", VERIFIED)).toMatchObject({ isSame: true });
  expect(compare("b", VERIFIED)).toEqual({
    isSame: false,
    sentence:
      "the statements of the distributed ledger have changed since it passed on 2026-11-27 with Citus 15.0-1",
  });
  expect(compare("a", undefined).isSame).toBe(false);
});

test("the record covers the statements of the chain and of its followers", async () => {
  const { paths } = await coveredFiles(ROOT, COVERED);
  for (const file of ["chain/step-store.ts", "follower/cursor-store.ts", "shards/distribute-store.ts"])
    expect(paths).toContain(`services/billing/src/${file}`);
  expect(paths.filter((path) => path.endsWith(".test.ts"))).toEqual([]);
});

test("a prefix without Citus is answered with the remedy, one with Citus with its version", async () => {
  const prefix = await mkdtemp(join(tmpdir(), "citus-"));
  try {
    expect(await findCitus(prefix)).toMatch(/^Citus is missing: .*CITUS_PREFIX/);
    await mkdir(join(prefix, "bin"));
    await mkdir(join(prefix, "share", "extension"), { recursive: true });
    await writeFile(join(prefix, "bin", "postgres"), "");
    await writeFile(join(prefix, "share", "extension", "citus.control"), "default_version = '15.0-1'\n");
    expect(await findCitus(prefix)).toMatchObject({ version: "15.0-1" });
  } finally {
    await rm(prefix, { recursive: true, force: true });
  }
});
