// What the catalogue would be after a restart with other seed files and a fresh import. Looks, and changes nothing.
import { type Catalog, type Model, ModelKind } from "@gr/proto/catalog";
import { type Clock, sentenceOf } from "@gr/runtime";
import type { LiveCatalog } from "./live-catalog.ts";
import { readSeedFiles, SEED_DIRECTORY, type SeedFile } from "./seed.ts";
import { isoDay } from "./shutdown.ts";
import { takeSnapshot } from "./snapshot.ts";
import type { TextImport } from "./text-import.ts";

export interface Preview {
  readonly catalog: Catalog;
  /** What could not be looked at; the preview has it as it is now. */
  readonly notes: readonly string[];
}

/** @param files none = those on the disk. @throws OperatorError that says what is wrong with them */
export type TakePreview = (files: readonly SeedFile[]) => Promise<Preview>;

export function createPreview(options: {
  /** The models of these files that can be asked for here. @throws OperatorError */
  offer: (files: readonly SeedFile[]) => Model[];
  live: Pick<LiveCatalog, "current">;
  textImport: Pick<TextImport, "preview"> | undefined;
  clock: Clock;
}): TakePreview {
  const { offer, live, textImport, clock } = options;

  /** Without imported models that a seed model of the same id hides: only an import shows those. */
  function textNow(): Model[] {
    return live.current().catalog.models.filter(({ kind }) => kind === ModelKind.TEXT);
  }

  return async (files) => {
    const seed = offer(files.length > 0 ? files : await readSeedFiles(SEED_DIRECTORY));
    const notes: string[] = [];
    let text = textNow();
    try {
      text = (await textImport?.preview()) ?? text;
    } catch (error) {
      notes.push(`The text models are shown as they are now: ${sentenceOf(error)}`);
    }
    return { catalog: takeSnapshot([seed, text], isoDay(clock)).catalog, notes };
  };
}
