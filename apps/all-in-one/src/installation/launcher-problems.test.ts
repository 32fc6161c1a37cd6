// A start reports all unusable settings at once, and names that are nearly those of settings.
import { expect, test } from "@jest/globals";
import { problemsOf, strayNamesIn } from "./launcher-problems.ts";

test("all settings with an unusable value are named at once, whichever module reads them", () => {
  const env = { PORT: "no", KEY_PEPPER: "short", RATE_LIMIT_TEXT_PER_SECOND: "fast", STOP_GRACE_MS: "-1" };
  const problems = problemsOf(env);
  expect(problems.map((problem) => problem.split(":")[0]).sort()).toEqual(Object.keys(env).sort());
  expect(problems.every((problem) => / \([a-z-]+\)$/.test(problem))).toBe(true);
});

test("missing settings are no problem: the launcher supplies them", () => {
  expect(problemsOf({})).toEqual([]);
  expect(problemsOf({ PORT: "8080", LOG_LEVEL: "" })).toEqual([]);
});

test.each([
  ["OPENAI_APIKEY", "OPENAI_API_KEY"],
  ["TEXT_UPSTREAM_APIKEY", "TEXT_UPSTREAM_API_KEY"],
  ["DATABASE_URI", "DATABASE_URL"],
  ["replicate_api_key", "REPLICATE_API_KEY"],
])("%s is reported as nearly %s", (name, setting) => {
  expect(strayNamesIn({ [name]: "x" })).toEqual([
    `${name} is no setting and has no effect; did you mean ${setting}?`,
  ]);
  expect(strayNamesIn({ [name]: "" })).toEqual([]);
});

test("settings, vendors' names of them, and names of other programs are not reported", () => {
  const others = [
    "HOME",
    "HOSTNAME",
    "POSTGRES_URL_X",
    "FAL_KEY",
    "REPLICATE_API_TOKEN",
    "NODE_OPTIONS",
    "SHELL",
  ];
  const kubernetes = ["KUBERNETES_SERVICE_HOST", "REDIS_PORT_6379_TCP", "BILLING_SERVICE_PORT"];
  const settings = ["OPENAI_API_KEY", "DATABASE_URL", "KEY_PEPPER", "SIMULATOR_PORT"];
  for (const name of [...others, ...kubernetes, ...settings])
    expect(strayNamesIn({ [name]: "x" })).toEqual([]);
});
