// Guarantees of merged pages: each entry appears once, newest first, for every page size, even while entries arrive.
import { expect, test } from "@jest/globals";
import { type Entry, type ReadEntries, readMerged } from "./merged-page.ts";

const idOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
/** Source with entries that may change between two pages. */
const sourceOf =
  (all: readonly Entry[]): ReadEntries<Entry> =>
  async ({ after, until, limit }) => {
    const sorted = all.toSorted((one, other) => other.at - one.at || (other.id < one.id ? -1 : 1));
    const rest =
      after === undefined
        ? sorted.filter(({ at }) => until === undefined || at <= until)
        : sorted.slice(sorted.findIndex(({ id }) => id === after) + 1);
    return { entries: rest.slice(0, limit), hasMore: rest.length > limit };
  };
const entriesAt = (first: number, ...moments: number[]) =>
  moments.map((at, index) => ({ id: idOf(first + index), at }));

async function readAll(
  sources: readonly ReadEntries<Entry>[],
  limit: number,
  between: () => void = () => undefined,
) {
  const all: Entry[] = [];
  for (let after: string | null | undefined; after !== null; between()) {
    const page = await readMerged(sources, after, limit);
    expect(page.entries.length).toBe(page.next === null ? page.entries.length : limit);
    all.push(...page.entries);
    after = page.next;
  }
  return all;
}

const media = entriesAt(1, 100, 90, 90, 70, 10);
const texts = entriesAt(51, 95, 90, 60, 50, 40, 30, 20);

test.each([1, 2, 3, 5, 11, 12, 13])("pages of %d have each entry once, newest first", async (limit) => {
  const all = await readAll([sourceOf(media), sourceOf(texts)], limit);
  expect(all.map(({ at }) => at)).toEqual([100, 95, 90, 90, 90, 70, 60, 50, 40, 30, 20, 10]);
  expect(new Set(all.map(({ id }) => id)).size).toBe(12);
});

test("one source, or an empty one, makes a list, too", async () => {
  expect(await readAll([sourceOf(media)], 2)).toHaveLength(5);
  expect(await readAll([sourceOf([]), sourceOf(texts)], 3)).toHaveLength(7);
  expect(await readAll([sourceOf([]), sourceOf([])], 3)).toEqual([]);
});

test("what arrives while somebody reads on is on no later page, though its source has had no turn", async () => {
  const late = [...entriesAt(51, 60)];
  const all = await readAll([sourceOf(media), sourceOf(late)], 2, () => late.push(...entriesAt(90, 200)));
  expect(all.map(({ at }) => at)).toEqual([100, 90, 90, 70, 60, 10]);
});

test("a cursor that no page has answered is refused at its field", async () => {
  const sources = [sourceOf(media), sourceOf(texts)];
  for (const after of ["x", "1", idOf(1), `5_${idOf(1)}`, `5_${idOf(1)}__`, "_", `5_x_${idOf(1)}`]) {
    await expect(readMerged(sources, after, 2)).rejects.toMatchObject({
      reason: "invalid_value",
      param: "after",
    });
  }
});
