// LauncherProblems are the faults of the environment that a launcher sees before it starts anything: all settings with an
// unusable value, of all modules at once, and names that are nearly those of a setting.
import { type Environment, processConfig, readConfig, strayNames, vendorNameOf } from "@gr/runtime";
import type { z } from "zod";
import { routerModules } from "../modules.ts";
import { launcherConfig } from "./launcher-config.ts";

const schemas: readonly (readonly [string, z.ZodObject])[] = [
  ["launcher", launcherConfig],
  ["process", processConfig],
  ...routerModules.map(({ name, config }) => [name, config] as const),
];

/** Returns a sentence for each unusable value. Launchers supply the missing settings themselves. */
export function problemsOf(env: Environment): string[] {
  const problems = new Map<string, string>();
  for (const [owner, schema] of schemas) {
    const result = readConfig(owner, schema, env);
    for (const problem of "problems" in result ? result.problems : []) {
      // A setting of several modules has one problem.
      if (!problem.includes(" is required (")) problems.set(problem.replace(/ \([^()]*\)$/, ""), problem);
    }
  }
  return [...problems.values()];
}

/** Returns a sentence for each set variable that is no setting and nearly has the name of one. */
export function strayNamesIn(env: Environment): string[] {
  const settings = schemas.flatMap(([, { shape }]) => Object.entries(shape));
  const names = settings.flatMap(([name, field]) => [name, vendorNameOf(field as z.ZodType) ?? name]);
  return strayNames(names, env);
}
