// The seed files, one per vendor: read once at start, and refused as a whole when anything in them is wrong.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Model } from "@gr/proto/catalog";
import { OperatorError, sentenceOf } from "@gr/runtime";
import { core, z } from "zod";
import { modelOfSeed, seedModel } from "./seed-model.ts";
import { problemsAcross, problemsOfModel } from "./seed-rules.ts";

export const SEED_DIRECTORY = join(import.meta.dirname, "../seed");

/** Vendor of the models that only a simulator serves. */
const SANDBOX_VENDOR = "sandbox";

const MOST_PROBLEMS_SHOWN = 5;

const seedFile = z.strictObject({
  vendor: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9-]*$/),
  models: z.array(seedModel).min(1),
});

interface ReadFile {
  readonly vendor: string;
  readonly models: readonly Model[];
  readonly problems: readonly string[];
}

/**
 * The models of every file, by id. All files are checked, also one that is left out.
 * @throws OperatorError that names file and field of what is wrong.
 */
export async function loadSeed(directory: string, options: { sandbox: boolean }): Promise<Model[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".json")).sort();
  const files = await Promise.all(names.map((name) => readSeedFile(directory, name)));
  const all = files.flatMap(({ models }) => models);
  const problems = [...files.flatMap((file) => file.problems), ...problemsAcross(all)];
  if (problems.length > 0) {
    const more = problems.length - MOST_PROBLEMS_SHOWN;
    const shown = problems.slice(0, MOST_PROBLEMS_SHOWN).join("; ");
    throw new OperatorError(
      `The catalogue seed is not usable: ${shown}${more > 0 ? `; and ${more} more` : ""}.`,
    );
  }
  return files.flatMap(({ vendor, models }) => (vendor === SANDBOX_VENDOR && !options.sandbox ? [] : models));
}

async function readSeedFile(directory: string, name: string): Promise<ReadFile> {
  let content: unknown;
  try {
    content = JSON.parse(await readFile(join(directory, name), "utf8"));
  } catch (error) {
    return { vendor: "", models: [], problems: [`${name}: ${sentenceOf(error)}`] };
  }
  const result = seedFile.safeParse(content);
  if (!result.success) {
    const problems = result.error.issues.map(
      ({ path, message }) => `${name}: ${core.toDotPath(path)}: ${message}`,
    );
    return { vendor: "", models: [], problems };
  }
  const { vendor, models: seeds } = result.data;
  const models = seeds.map((seed) => modelOfSeed(vendor, seed));
  const problems = models.flatMap((model) =>
    problemsOfModel(model, vendor).map((problem) => `${name}: ${model.id}: ${problem}`),
  );
  if (name !== `${vendor}.json`) problems.push(`${name}: must be named after its vendor, ${vendor}.json`);
  return { vendor, models, problems };
}
