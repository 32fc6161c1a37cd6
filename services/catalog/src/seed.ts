// The seed files, one per vendor. One mistake refuses them all; the sentence names file, model, field and rule of each.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Model } from "@gr/proto/catalog";
import { z } from "zod";
import { modelOfSeed, seedModel } from "./seed-model.ts";
import { nameOfRow, parseFile, problemsOf, refuseProblems } from "./seed-problems.ts";
import { problemsAcross, problemsOfModel } from "./seed-rules.ts";

export const SEED_DIRECTORY = join(import.meta.dirname, "../seed");

/** Vendor of the models that only a simulator serves. */
const SANDBOX_VENDOR = "sandbox";

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
 * The models of these files. All models are checked, also those that are then left out.
 * @throws OperatorError that names file, model, field and rule of what is wrong.
 */
export function seedModels(seedFiles: readonly SeedFile[], options: { sandbox: boolean }): Model[] {
  const files = seedFiles.map(readSeedFile);
  const all = files.flatMap(({ models }) => models);
  refuseProblems("The catalogue seed", [...files.flatMap((file) => file.problems), ...problemsAcross(all)]);
  return files.flatMap(({ vendor, models }) => (vendor === SANDBOX_VENDOR && !options.sandbox ? [] : models));
}

function readSeedFile(file: SeedFile): ReadFile {
  const parsed = parseFile(seedFile, file);
  if ("problems" in parsed) return { vendor: "", models: [], problems: parsed.problems };
  const { name } = file;
  const { vendor, models } = parsed.data;
  const read = models.map((row, index) => readModel(row, `${name}: ${nameOfRow(row, index)}`, vendor));
  const problems = read.flatMap((model) => model.problems);
  if (name !== `${vendor}.json`) problems.push(`${name}: must be named after its vendor, ${vendor}.json`);
  return { vendor, models: read.flatMap(({ model }) => model ?? []), problems };
}

function readModel(row: unknown, at: string, vendor: string): { model?: Model; problems: string[] } {
  const seed = seedModel.safeParse(row);
  if (!seed.success) return { problems: problemsOf(seed.error, at) };
  const model = modelOfSeed(vendor, seed.data);
  return { model, problems: problemsOfModel(model, vendor).map((problem) => `${at}: ${problem}`) };
}
