// Guarantees of all providers' definitions, because settings, launchers and catalogue depend on them.
import { readFile } from "node:fs/promises";
import { PARTIAL_IMAGE_PROVIDERS } from "@gr/models";
import { expect, test } from "@jest/globals";
import { mediaGenerationConfig } from "../config.ts";
import { createProviders } from "./configured-providers.ts";
import { mediaProviders } from "./media-providers.ts";
import { createOutbound } from "./outbound.ts";

const REQUIRED = { PUBLIC_BASE_URL: "http://router.test", DATABASE_URL: "postgres://router.test/db" };

test("a provider is there when its credential is set, under the name that routes call it by, and not without", async () => {
  const outbound = createOutbound();
  for (const { name, credential } of mediaProviders) {
    const config = mediaGenerationConfig.parse({ ...REQUIRED, [credential]: "a secret" });
    const providers = createProviders(config, outbound);
    expect([...providers].map(([key, provider]) => [key, provider.name])).toEqual([[name, name]]);
  }
  expect(createProviders(mediaGenerationConfig.parse(REQUIRED), outbound)).toEqual(new Map());
  await outbound.close();
});

test("no two providers share a name or a variable, and each has its credential and addresses among its variables", () => {
  const names = mediaProviders.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const variables = mediaProviders.flatMap(({ settings }) => Object.keys(settings.shape));
  expect(new Set(variables).size).toBe(variables.length);
  for (const { settings, credential, baseUrls } of mediaProviders) {
    expect(Object.keys(settings.shape)).toEqual(
      expect.arrayContaining([credential, ...Object.keys(baseUrls)]),
    );
    expect(Object.keys(baseUrls)).not.toEqual([]);
  }
});

test("every provider makes what its definition says, and something", async () => {
  for (const { name, abilities, reports, kinds } of await created()) {
    const declared = abilities.filter((ability) => ability === "image" || ability === "video");
    expect([name, kinds.image?.sendsPartials === true]).toEqual([name, PARTIAL_IMAGE_PROVIDERS.has(name)]);
    expect([name, declared.length > 0]).toEqual([name, true]);
    expect([name, Object.keys(kinds).sort()]).toEqual([name, [...declared].sort()]);
    expect([name, Object.keys(reports).sort()]).toEqual([name, [...declared].sort()]);
  }
});

test("docs/operations.md says of each provider what it makes and what it reports", async () => {
  const head = ["provider", "images", "videos", "accepts pictures", "partial images", "has a look-up"];
  const rows = (await created()).map(({ name, abilities, reports, kinds, lookUp }) => [
    name,
    kinds.image === undefined ? "–" : `${kinds.image.mostAtOnce} at once; reports ${reports.image}`,
    kinds.video === undefined ? "–" : `reports ${reports.video}`,
    abilities.includes("image-input") ? "yes" : "–",
    PARTIAL_IMAGE_PROVIDERS.has(name) ? "yes" : "–",
    lookUp === undefined ? "–" : "yes",
  ]);
  const lines = [head, ...rows].map((row) => `| ${row.join(" | ")} |`);
  const table = [lines[0], `|${"---|".repeat(head.length)}`, ...lines.slice(1)].join("\n");
  const operations = new URL("../../../../docs/operations.md", import.meta.url);
  expect(await readFile(operations, "utf8")).toContain(table);
});

/** Creates each provider by its definition. */
async function created() {
  const outbound = createOutbound();
  await outbound.close();
  const settings = mediaGenerationConfig.parse(REQUIRED);
  return mediaProviders.map((definition) => ({
    ...definition,
    ...definition.create({ secret: "a secret", settings, outbound }),
  }));
}
