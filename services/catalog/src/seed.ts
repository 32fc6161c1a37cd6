// The seed files, one per vendor: refused as a whole when anything in them is wrong, each problem in one sentence
// that names file, model, field and rule.
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
  models: z.array(z.unknown()).min(1),
});

export interface SeedFile {
  /** As in the folder: "openai.json". */
  readonly name: string;
  readonly content: string;
}

interface ReadFile {
  readonly vendor: string;
  readonly models: readonly Model[];
  readonly problems: readonly string[];
}

/** The models of every file of a folder. @throws OperatorError as seedModels. */
export async function loadSeed(directory: string, options: { sandbox: boolean }): Promise<Model[]> {
  return seedModels(await readSeedFiles(directory), options);
}

export async function readSeedFiles(directory: string): Promise<SeedFile[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".json")).sort();
  return Promise.all(
    names.map(async (name) => ({ name, content: await readFile(join(directory, name), "utf8") })),
  );
}

/**
 * The models of these files. All are checked, also one that is left out.
 * @throws OperatorError that names file, model, field and rule of what is wrong.
 */
export function seedModels(seedFiles: readonly SeedFile[], options: { sandbox: boolean }): Model[] {
  const files = seedFiles.map(readSeedFile);
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

function readSeedFile({ name, content }: SeedFile): ReadFile {
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch (error) {
    return { vendor: "", models: [], problems: [`${name}: ${sentenceOf(error)}`] };
  }
  const file = seedFile.safeParse(parsed);
  if (!file.success) return { vendor: "", models: [], problems: sentencesOf(file.error, name) };
  const { vendor } = file.data;
  const read = file.data.models.map((row, index) => readModel(row, `${name}: ${nameOf(row, index)}`, vendor));
  const problems = read.flatMap((model) => model.problems);
  if (name !== `${vendor}.json`) problems.push(`${name}: must be named after its vendor, ${vendor}.json`);
  return { vendor, models: read.flatMap(({ model }) => model ?? []), problems };
}

function readModel(row: unknown, at: string, vendor: string): { model?: Model; problems: string[] } {
  const seed = seedModel.safeParse(row);
  if (!seed.success) return { problems: sentencesOf(seed.error, at) };
  const model = modelOfSeed(vendor, seed.data);
  return { model, problems: problemsOfModel(model, vendor).map((problem) => `${at}: ${problem}`) };
}

/** By its id, else by its place in the file. */
function nameOf(row: unknown, index: number): string {
  const { data } = z.looseObject({ id: z.string() }).safeParse(row);
  return data?.id ?? `models[${index}]`;
}

function sentencesOf(error: z.ZodError, at: string): string[] {
  return error.issues.map(({ path, message }) =>
    [at, core.toDotPath(path), message].filter(Boolean).join(": "),
  );
}
