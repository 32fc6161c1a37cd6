// Guarantees of config: all problems of the environment are reported at once, each variable with its module.
import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { defineModule, type Module } from "../module.ts";
import { startProcess } from "../run.ts";
import { milliseconds, port, postgresConfig, readConfig, vendorName } from "./config.ts";

const valid = {
  SERVICE_HTTP_PORT: "0",
  SERVICE_RPC_PORT: "0",
  INTERNAL_AUTH_SECRET: "a secret for tests that is long enough",
  LOG_LEVEL: "silent",
};

function problemsOf(shape: z.ZodObject, env: Record<string, string>): string[] {
  const result = readConfig("billing", shape, env);
  return "problems" in result ? result.problems : [];
}

describe("one schema", () => {
  const shape = z.object({
    ...postgresConfig.shape,
    PORT: port(8080),
    WAIT_MS: milliseconds(100),
    NAME: z.string().min(3, "must have at least 3 characters"),
  });

  test("values are converted and defaults filled in", () => {
    const url = "postgres://user@host/name";
    expect(readConfig("billing", shape, { DATABASE_URL: url, NAME: "abc", PORT: "0", OTHER: "x" })).toEqual({
      config: { DATABASE_URL: url, DATABASE_POOL_SIZE: 10, PORT: 0, WAIT_MS: 100, NAME: "abc" },
    });
  });

  test("what is missing and what is wrong is named, with its owner", () => {
    expect(problemsOf(shape, { DATABASE_URL: "mysql://host/name", WAIT_MS: "soon" })).toEqual([
      "DATABASE_URL: must be a postgres:// URL (billing)",
      "WAIT_MS: must be milliseconds, a whole number above 0 (billing)",
      "NAME is required (billing)",
    ]);
  });

  test("an empty variable is one that is not set", () => {
    expect(problemsOf(shape, { DATABASE_URL: "", NAME: "abc" })).toEqual([
      "DATABASE_URL is required (billing)",
    ]);
  });

  test.each(["-1", "65536", "1.5", "http"])("%p is no port", (value) => {
    expect(problemsOf(z.object({ PORT: port(8080) }), { PORT: value })).toEqual([
      "PORT: must be a port, a whole number from 0 to 65535 (billing)",
    ]);
  });

  test("a secret's value is never part of the problem", () => {
    const problems = problemsOf(z.object({ INTERNAL_AUTH_SECRET: z.string().min(32) }), {
      INTERNAL_AUTH_SECRET: "hunter2",
    });
    expect(problems).toHaveLength(1);
    expect(problems.join()).not.toContain("hunter2");
  });
});

test("a setting is also read from its vendor's variable, after its own", () => {
  const shape = z.object({ FAL_API_KEY: z.string().optional().meta(vendorName("FAL_KEY")) });
  const read = (env: Record<string, string>) => {
    const result = readConfig("media", shape, env);
    return "config" in result ? result.config.FAL_API_KEY : result.problems;
  };
  expect(read({ FAL_KEY: "theirs" })).toBe("theirs");
  expect(read({ FAL_KEY: "theirs", FAL_API_KEY: "ours" })).toBe("ours");
  expect(read({ FAL_KEY: "theirs", FAL_API_KEY: "" })).toBe("theirs");
  expect(read({ FAL_KEY: "" })).toBeUndefined();
});

describe("a process", () => {
  const created: string[] = [];
  const moduleOf = (name: string, config: z.ZodObject, needs: string[] = []): Module =>
    defineModule({
      name,
      needs,
      config,
      create: async () => {
        created.push(name);
        return {};
      },
    });

  test("tells all problems of all modules in one sentence and creates nothing", async () => {
    const modules = [
      moduleOf("first", z.object({ FIRST_KEY: z.string() }), ["elsewhere"]),
      moduleOf("second", z.object({ SECOND_KEY: z.string(), PORT: port(1) })),
    ];
    const env = {
      ...{ ...valid, INTERNAL_AUTH_SECRET: "short", SERVICE_CALL_TIMEOUT_MS: "50001" },
      ...{ PORT: "many", ELSEWHERE_RPC_URL: "nonsense" },
    };
    const error: unknown = await startProcess(modules, { env }).catch((thrown) => thrown);
    expect(error).toMatchObject({ name: "OperatorError" });
    const sentence = (error as Error).message;
    expect(sentence).toMatch(/^The configuration is not usable: .*\.$/);
    expect(sentence.split("; ")).toHaveLength(6);
    for (const part of [
      "INTERNAL_AUTH_SECRET: must have at least 32 characters (process)",
      "SERVICE_CALL_TIMEOUT_MS: must be at most 50000 (process)",
      "FIRST_KEY is required (first)",
      "SECOND_KEY is required (second)",
      "(address of elsewhere)",
    ]) {
      expect(sentence).toContain(part);
    }
    expect(sentence).not.toContain("\n");
    expect(created).toEqual([]);
  });

  test("a variable that two modules share is complained about for each", async () => {
    const shape = z.object({ DATABASE_URL: z.string() });
    const start = startProcess([moduleOf("a", shape), moduleOf("b", shape)], { env: valid });
    await expect(start).rejects.toThrow("DATABASE_URL is required (a); DATABASE_URL is required (b).");
  });
});
