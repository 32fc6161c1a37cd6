// The seed files, one per vendor. One mistake refuses them all; the message names file, model, field and rule of each.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Model } from "@gr/proto/catalog";
import { z } from "zod";
import { modelOfSeed, seedModel } from "./seed-model.ts";
import { nameOfRow, parseFile, problemsOf, refuseProblems } from "./seed-problems.ts";
import { problemsAcross, problemsOfModel } from "./seed-rules.ts";

export { SEED_DIRECTORY } from "../shipped-folders.ts";

/** Vendor of models that only a simulator serves. */
const SANDBOX_VENDOR = "sandbox";

export const vendorName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9-]*$/);
const seedFile = z.strictObject({ vendor: vendorName, models: z.array(z.unknown()).min(1) });

export interface SeedFile {
  /** Name within the folder: "openai.json". */
  readonly name: string;
  readonly content: string;
}

export interface SeedRow {
  readonly vendor: string;
  /** The row in its file's format. */
  readonly row: Readonly<Record<string, unknown>>;
}

/** All models of the files, including those of the sandbox, and their rows by id. */
export interface Seed {
  readonly models: readonly Model[];
  readonly rows: ReadonlyMap<string, SeedRow>;
}

interface ReadFile {
  readonly models: readonly Model[];
  readonly rows: readonly (readonly [string, SeedRow])[];
  readonly problems: readonly string[];
}

/** The models of every file of a folder. @throws OperatorError as readSeed. */
export async function loadSeed(directory: string, options: { sandbox: boolean }): Promise<Model[]> {
  const { models } = readSeed(await readSeedFiles(directory));
  return models.filter((model) => options.sandbox || !isOfSandbox(model));
}

/** True if only a simulator serves it. */
export function isOfSandbox({ ownedBy }: Pick<Model, "ownedBy">): boolean {
  return ownedBy === SANDBOX_VENDOR;
}

/** Reads the files of a folder by name. Files that are not JSON, or hidden like those of editors, are ignored. */
export async function readSeedFiles(directory: string): Promise<SeedFile[]> {
  const names = (await readdir(directory)).filter((name) => /^[^.].*\.json$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => ({ name, content: await readFile(join(directory, name), "utf8") })),
  );
}

/** @throws OperatorError that names file, model, field and rule of each fault */
export function readSeed(seedFiles: readonly SeedFile[]): Seed {
  const files = seedFiles.map(readSeedFile);
  const models = files.flatMap((file) => file.models);
  refuseProblems("The catalogue seed", [
    ...files.flatMap((file) => file.problems),
    ...problemsAcross(models),
  ]);
  return { models, rows: new Map(files.flatMap(({ rows }) => rows)) };
}

function readSeedFile(file: SeedFile): ReadFile {
  const parsed = parseFile(seedFile, file);
  if ("problems" in parsed) return { models: [], rows: [], problems: parsed.problems };
  const { name } = file;
  const { vendor, models } = parsed.data;
  const read = models.map((row, index) => readModel(row, `${name}: ${nameOfRow(row, index)}`, vendor));
  const problems = read.flatMap((model) => model.problems);
  if (name !== `${vendor}.json`) problems.push(`${name}: must be named after its vendor, ${vendor}.json`);
  return {
    models: read.flatMap(({ model }) => model ?? []),
    rows: models.flatMap((row) => {
      const { data } = z.looseObject({ id: z.string() }).safeParse(row);
      return data === undefined ? [] : [[data.id, { vendor, row: data }] as const];
    }),
    problems,
  };
}

/** @param at position for the sentences: "acme.json: acme/film" */
export function readModel(row: unknown, at: string, vendor: string): { model?: Model; problems: string[] } {
  const seed = seedModel.safeParse(row);
  if (!seed.success) return { problems: problemsOf(seed.error, at) };
  const model = modelOfSeed(vendor, seed.data);
  return { model, problems: problemsOfModel(model, vendor).map((problem) => `${at}: ${problem}`) };
}
