// OwnFolder reads the folder of an operator's own catalogue twice a second. Valid files are put in force. Invalid ones
// are reported once, and the last valid state remains. A change counts after two equal reads in a row, so that no
// half-written file is used.
import { createHash } from "node:crypto";
import { OperatorError, sentenceOf, startRounds, systemClock } from "@gr/runtime";
import type { CatalogEvents } from "../events.ts";
import { readSeedFiles, type SeedFile } from "../files/seed.ts";

const LOOK_MS = 500;

export interface OwnFolder {
  /** True if all files in the folder are in force. */
  usable(): boolean;
  start(): void;
  stop(): Promise<void>;
}

/** @throws OperatorError */
export async function readCatalogFolder(directory: string): Promise<SeedFile[]> {
  try {
    return await readSeedFiles(directory);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? sentenceOf(error);
    throw new OperatorError(`The catalogue folder ${directory} cannot be read (${reason}).`);
  }
}

export function createOwnFolder(options: {
  directory: string;
  /** Files in force at the start. */
  files: readonly SeedFile[];
  /** Puts files in force. @throws OperatorError for invalid files; after any other error they are retried */
  apply: (files: readonly SeedFile[]) => Promise<void>;
  events: Pick<CatalogEvents, "folderApplied" | "folderRefused">;
}): OwnFolder {
  const { directory, apply, events } = options;
  let inForce = printOf(options.files);
  let seen = inForce;
  let trouble: Trouble | undefined;

  async function look(): Promise<void> {
    const found = await readState(directory);
    const { print } = found;
    const settled = print === seen;
    seen = print;
    if (!settled || (trouble?.print === print && trouble.isFinal)) return;
    if (print === inForce && trouble === undefined) return;
    try {
      if ("problem" in found) throw found.problem;
      if (print !== inForce) await apply(found.files);
      inForce = print;
      trouble = undefined;
      events.folderApplied(directory, found.files.length);
    } catch (error) {
      const sentence = sentenceOf(error);
      if (trouble?.sentence !== sentence) events.folderRefused(directory, sentence);
      trouble = { print, sentence, isFinal: error instanceof OperatorError };
    }
  }

  let end: (() => Promise<void>) | undefined;
  return {
    usable: () => trouble === undefined,
    start: () => {
      const failed = (error: unknown) => events.folderRefused(directory, sentenceOf(error));
      end = startRounds({ clock: systemClock, pauseMs: LOOK_MS, round: look, failed });
    },
    stop: async () => end?.(),
  };
}

interface Trouble {
  readonly print: string;
  readonly sentence: string;
  /** True if only a change of the folder can repair it. */
  readonly isFinal: boolean;
}

type State = { readonly print: string } & (
  | { readonly files: readonly SeedFile[] }
  | { readonly problem: unknown }
);

async function readState(directory: string): Promise<State> {
  try {
    const files = await readCatalogFolder(directory);
    return { files, print: printOf(files) };
  } catch (problem) {
    return { problem, print: sentenceOf(problem) };
  }
}

/** Equal for equal files, regardless of their times: a cluster replaces folders as a whole. */
function printOf(files: readonly SeedFile[]): string {
  const content = files.map(({ name, content }) => [name, content]);
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}
