// Guarantees of the sandbox: the condition of the simulation, and the models that the catalogue lists with it.

import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mediaProviders } from "@gr/media-generation";
import { describe, expect, test } from "@jest/globals";
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

test.each([
  ["FAL_KEY", "fal"],
  ["REPLICATE_API_TOKEN", "replicate"],
])("%s, the vendor's own name, switches its provider on", async (variable, provider) => {
  const { url, env } = await sandboxOf({ [variable]: "a key" });
  expect(url).toBeUndefined();
  expect(env["MEDIA_PROVIDERS"]?.split(",").map((offer) => offer.split("/")[0])).toContain(provider);
});

test("a list of text upstreams ends the sandbox", async () => {
  const upstreams = [{ name: "local", kind: "openai-compatible", base_url: URL }];
  expect((await sandboxOf({ TEXT_UPSTREAMS: JSON.stringify(upstreams) })).url).toBeUndefined();
});

test("what is offered is what the configured providers make, and nothing without one", async () => {
  for (const { name, credential, abilities } of mediaProviders) {
    const { env } = await sandboxOf({ [credential]: "a key" });
    expect(env).toEqual({ MEDIA_PROVIDERS: abilities.map((ability) => `${name}/${ability}`).join(",") });
  }
  expect((await sandboxOf({ TEXT_UPSTREAM_API_KEY: "a key" })).env).toEqual({ MEDIA_PROVIDERS: "" });
});

test("what the operator says is offered stands", async () => {
  const providers = { MEDIA_PROVIDERS: "xai/image" };
  expect((await sandboxOf({ TEXT_UPSTREAM_API_KEY: "a key", ...providers })).env).toEqual({});
});

test("the sandbox offers what the simulated providers make, and leads to the simulator with all their addresses", () => {
  const env = sandboxEnvironment(URL);
  const offered: string[] = [];
  for (const { name, abilities, credential, baseUrls } of mediaProviders) {
    const places = Object.entries(baseUrls).map(([variable, at]) => [variable, at?.simulatedAt] as const);
    const isSimulated = places.every(([, at]) => at !== undefined);
    expect(env[credential]).toBe(isSimulated ? "sandbox" : undefined);
    for (const [variable, at] of places) expect(env[variable]).toBe(isSimulated ? `${URL}${at}` : undefined);
    if (isSimulated) offered.push(...abilities.map((ability) => `${name}/${ability}`));
  }
  expect(env["OPENAI_API_KEY"]).toBe("sandbox");
  expect(env["MEDIA_PROVIDERS"]).toBe(offered.join(","));
});

test("a text upstream that cannot be is refused before anything is started", () => {
  const env = { TEXT_UPSTREAM_KIND: "telegraph" };
  expect(() => readLauncherConfig(env)).toThrow(/^The configuration is not usable: TEXT_UPSTREAM_KIND: /);
});

describe("the simulator's port", () => {
  /** Starts the sandbox while the simulator's port is in use. @param env settings of the operator */
  async function onPortOf(user: "another process" | "our gateway", env: Record<string, string>) {
    const blocker = createServer();
    const port = await new Promise<number>((resolve) => {
      blocker.listen(0, "127.0.0.1", () => resolve((blocker.address() as { port: number }).port));
    });
    // The gateway opens its port after the simulator.
    if (user === "our gateway") await new Promise((resolve) => blocker.close(resolve));
    const dataDir = await mkdtemp(join(tmpdir(), "generation-router-sandbox-"));
    const config = { ...readLauncherConfig({ DATA_DIR: dataDir, ...env }), SIMULATOR_PORT: port };
    try {
      const sandbox = await startSandbox(user === "our gateway" ? { ...config, PORT: port } : config, env);
      await sandbox.close();
      return { port, url: sandbox.url };
    } finally {
      blocker.close();
      await rm(dataDir, { recursive: true });
    }
  }

  test("gives way when it is the default and taken", async () => {
    const { port, url } = await onPortOf("another process", {});
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(url).not.toBe(`http://127.0.0.1:${port}`);
  });

  test("gives way when it is the default and the gateway's", async () => {
    const { port, url } = await onPortOf("our gateway", {});
    expect(url).not.toBe(`http://127.0.0.1:${port}`);
  });

  test("is refused by name when the operator chose it", async () => {
    await expect(onPortOf("another process", { SIMULATOR_PORT: "9" })).rejects.toThrow(
      /in use; set SIMULATOR_PORT to a free port\.$/,
    );
  });
});
