// The record of the clients is of the programs of docs/clients.md, in the versions of clients.ts, within the limit of their
// keys.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { creditsOf } from "@gr/money";
import { expect, test } from "@jest/globals";
import { samplesOf } from "../guides/samples.ts";
import { CLIENTS, NOT_RUN } from "./clients.ts";
import { KEY_SECTION } from "./run-client.ts";
import { COVERED, compare, coveredState, lastVerified, type Verified } from "./verified.ts";

test("each program of docs/clients.md runs, or has a reason", async () => {
  const samples = await samplesOf("docs/clients.md");
  const sections = samples.filter(({ language }) => language === "sh").map(({ section }) => section);
  const known = [KEY_SECTION, ...CLIENTS.map(({ section }) => section), ...Object.keys(NOT_RUN)];
  expect([...new Set(sections)].sort()).toEqual(known.sort());
});

test("the record has each program in its version, with its charge", async () => {
  const verified = await lastVerified();
  const versions = Object.fromEntries(CLIENTS.map(({ section, source }) => [section, source.version]));
  const runs = Object.entries(verified?.clients ?? {});
  expect(Object.fromEntries(runs.map(([section, { version }]) => [section, version]))).toEqual(versions);
  for (const [, { charged }] of runs) {
    expect(creditsOf(charged)).toBeGreaterThan(0n);
    expect(creditsOf(charged)).toBeLessThanOrEqual(5_000n);
  }
  expect(verified?.notRun).toEqual(NOT_RUN);
});

test("each Python program is pinned with its digests", () => {
  for (const { source } of CLIENTS) {
    if (!("requirements" in source)) continue;
    const text = readFileSync(join(import.meta.dirname, source.requirements), "utf8");
    expect(text).toContain(`\n${source.name}==${source.version} \\\n    --hash=sha256:`);
    expect(text.match(/^\S+==/gm)?.length).toBe(text.match(/^\S+==\S+ \\\n +--hash=/gm)?.length);
  }
});

test("changed samples or changed wire code ask for a run", () => {
  const clients = {};
  const verified: Verified = {
    ...{ passed: "", date: "2026-11-26", node: "26", clients, notRun: {} },
    ...{ samples: "a", wire: "b" },
  };
  expect(compare({ samples: "a", wire: "b" }, verified).isSame).toBe(true);
  expect(compare({ samples: "x", wire: "b" }, verified)).toMatchObject({
    isSame: false,
    sentence: expect.stringMatching(/: samples$/),
  });
  expect(compare({ samples: "x", wire: "y" }, verified).sentence).toMatch(/: samples and wire$/);
  expect(compare({ samples: "a", wire: "b" }, undefined).isSame).toBe(false);
});

test("the digests are of the document, the programs, and the code of the wire", async () => {
  const { samples, wire } = await coveredState();
  expect(samples.paths).toEqual(
    expect.arrayContaining(["docs/clients.md", "test/clients/clients.ts", "test/clients/python/aider.txt"]),
  );
  expect(samples.paths).not.toContain("test/clients/verified.json");
  for (const folder of COVERED.wire.filter((path) => !path.startsWith(":")))
    expect([folder, wire.paths.some((path) => path.startsWith(`${folder}/`))]).toEqual([folder, true]);
});
