// Preview computes the catalogue with other seed files, with another folder of the operator's own, and after a fresh
// import. It reads only, and changes nothing.
import type { Catalog } from "@gr/proto/catalog";
import { type Clock, sentenceOf } from "@gr/runtime";
import type { SeedFile } from "../files/seed.ts";
import type { LiveCatalog } from "../offer/live-catalog.ts";
import type { Offer } from "../offer/offer.ts";
import { isoDay } from "../offer/shutdown.ts";
import { snapshotOf } from "../offer/snapshot.ts";
import type { TextImports } from "../sources/text-imports.ts";

export interface Preview {
  readonly catalog: Catalog;
  /** Sources that could not be read, with their present state in the preview, and unlisted models with the reason. */
  readonly notes: readonly string[];
}

/** Absent files are read from the disk. */
export interface PreviewFiles {
  readonly seed?: readonly SeedFile[] | undefined;
  readonly own?: readonly SeedFile[] | undefined;
}

/** @throws OperatorError with the faults of the files */
export type ReadPreview = (files: PreviewFiles) => Promise<Preview>;

export function createPreview(options: {
  /** Returns the offer of these files. @throws OperatorError */
  offer: (files: PreviewFiles) => Promise<Offer & { readonly notes: readonly string[] }>;
  live: Pick<LiveCatalog, "imported">;
  textImports: Pick<TextImports, "preview">;
  clock: Clock;
}): ReadPreview {
  const { live, textImports, clock } = options;
  return async (files) => {
    const offer = await options.offer(files);
    const notes = [...offer.notes];
    let text = live.imported();
    try {
      text = (await textImports.preview()) ?? text;
    } catch (error) {
      notes.push(`The text models are shown as they are now: ${sentenceOf(error)}`);
    }
    return { catalog: snapshotOf(offer, text, isoDay(clock)).catalog, notes };
  };
}
