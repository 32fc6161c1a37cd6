// What the definitions of all providers must keep, since settings, launchers and catalogue go by them.
import { expect, test } from "@jest/globals";
import { mediaGenerationConfig } from "../config.ts";
import { createProviders } from "./create-providers.ts";
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

test("no two providers share a name or a variable, and each has its credential among its variables", () => {
  const names = mediaProviders.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const variables = mediaProviders.flatMap(({ settings }) => Object.keys(settings.shape));
  expect(new Set(variables).size).toBe(variables.length);
  for (const { settings, credential } of mediaProviders) {
    expect(Object.keys(settings.shape)).toContain(credential);
  }
});

test("every provider can make something", () => {
  for (const { abilities } of mediaProviders) {
    expect(abilities.some((ability) => ability === "image" || ability === "video")).toBe(true);
  }
});
