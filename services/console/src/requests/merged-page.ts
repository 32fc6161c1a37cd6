// Merged pages combine several separate lists into one, newest first. Each list continues after its last entry, and the
// positions of all together are the cursor. Entries of the same moment are in the order of the sources.
import { UUID_PATTERN } from "@gr/runtime";
import { invalidAfter } from "./pages.ts";

export interface Entry {
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** Position at which a source continues. */
export interface Place {
  /** Its last listed entry. */
  readonly after: string | undefined;
  /**
   * If no entry of its own was listed yet: the moment of the last listed one of any source. Its entries are not later.
   */
  readonly until: number | undefined;
  readonly limit: number;
}

/** Newest first. A source that has fewer entries than the limit has no more. */
export type ReadEntries<Each extends Entry> = (place: Place) => Promise<{
  readonly entries: readonly Each[];
  readonly hasMore: boolean;
}>;

/** Form of a cursor: the moment, and an id or nothing for each source: `1795383600000_<id>_`. */
const CURSOR = new RegExp(`^\\d{1,15}(_(${UUID_PATTERN})?)+$`);

/** @param after `next` of the page before. @throws ServiceError invalid_value */
export async function readMerged<Each extends Entry>(
  sources: readonly ReadEntries<Each>[],
  after: string | undefined,
  limit: number,
): Promise<{ readonly entries: readonly Each[]; readonly next: string | null }> {
  const [moment, ...lasts] = placesOf(after, sources.length);
  const pages = await Promise.all(
    sources.map((read, index) => {
      const last = lasts[index] || undefined;
      return read({ after: last, until: last === undefined && moment ? Number(moment) : undefined, limit });
    }),
  );
  const used = pages.map(() => 0);
  const entries: Each[] = [];
  for (let newest = newestOf(pages, used); newest !== undefined && entries.length < limit; ) {
    const { entry, source } = newest;
    entries.push(entry);
    used[source] = (used[source] ?? 0) + 1;
    lasts[source] = entry.id;
    newest = newestOf(pages, used);
  }
  const isMore = pages.some((page, source) => page.hasMore || page.entries.length > (used[source] ?? 0));
  const last = entries.at(-1);
  return { entries, next: isMore && last !== undefined ? [last.at, ...lasts].join("_") : null };
}

/** The moment, and the id of each source; all empty without a cursor. */
function placesOf(after: string | undefined, sources: number): string[] {
  if (after === undefined) return Array.from({ length: sources + 1 }, () => "");
  const parts = after.split("_");
  if (!CURSOR.test(after) || parts.length !== sources + 1) throw invalidAfter();
  return parts;
}

function newestOf<Each extends Entry>(
  pages: readonly { readonly entries: readonly Each[] }[],
  used: readonly number[],
): { entry: Each; source: number } | undefined {
  let newest: { entry: Each; source: number } | undefined;
  for (const [source, { entries }] of pages.entries()) {
    const entry = entries[used[source] ?? 0];
    if (entry !== undefined && (newest === undefined || entry.at > newest.entry.at))
      newest = { entry, source };
  }
  return newest;
}
