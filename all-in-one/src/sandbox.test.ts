// When the launchers simulate, and what they have the catalogue list.
import { mediaProviders } from "@gr/media-generation";
import { expect, test } from "@jest/globals";
import { readLauncherConfig } from "./launcher-config.ts";
import { sandboxEnvironment, startSandbox } from "./sandbox.ts";

const URL = "http://127.0.0.1:1/v1";
const sandboxOf = async (env: Record<string, string>) => {
  const sandbox = await startSandbox(readLauncherConfig({ SIMULATOR_PORT: "0", ...env }), env);
  await sandbox.close();
  return sandbox;
};
const settingsOfProviders = mediaProviders.flatMap(({ settings }) => Object.keys(settings.shape));

test.each(["TEXT_UPSTREAM_API_KEY", "TEXT_UPSTREAM_BASE_URL", ...settingsOfProviders])(
  "setting %s ends the sandbox",
  async (variable) => {
    expect((await sandboxOf({ [variable]: URL })).url).toBeUndefined();
  },
);

test("what is offered is what the configured providers make, and nothing without one", async () => {
  for (const { name, credential, abilities } of mediaProviders) {
    const { env } = await sandboxOf({ [credential]: "a key" });
    expect(env).toEqual({ MEDIA_PROVIDERS: abilities.map((ability) => `${name}/${ability}`).join(",") });
  }
  expect((await sandboxOf({ TEXT_UPSTREAM_API_KEY: "a key" })).env).toEqual({ MEDIA_PROVIDERS: "" });
});

test("what the operator says is offered stands", async () => {
  const said = { MEDIA_PROVIDERS: "xai/image" };
  expect((await sandboxOf({ TEXT_UPSTREAM_API_KEY: "a key", ...said })).env).toEqual({});
});

test("the sandbox offers what the simulated providers make", () => {
  expect(sandboxEnvironment(URL)).toMatchObject({
    OPENAI_API_KEY: "sandbox",
    MEDIA_PROVIDERS: "openai/image",
  });
});

test("a text upstream that cannot be is refused before anything is started", () => {
  const env = { TEXT_UPSTREAM_KIND: "telegraph" };
  expect(() => readLauncherConfig(env)).toThrow(/^The configuration is not usable: TEXT_UPSTREAM_KIND: /);
});
