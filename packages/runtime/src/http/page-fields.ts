// Page fields are the query parameters of paged lists: a limit, and the last entry of the page before.
import { z } from "zod";

/** Most entries of one answer, also without parameters. */
export const LONGEST_PAGE = 1_000;

const NO_LIMIT = `It must be a whole number from 1 to ${LONGEST_PAGE}`;

export interface Page {
  readonly limit: number;
  /** Id of an entry; undefined for the first page. */
  readonly after: string | undefined;
}

/** Describes a whole number that is read from text, without its pattern, which informs only us. */
export const wholeNumber = (most?: number) => ({
  type: "integer",
  minimum: 1,
  ...(most === undefined ? {} : { maximum: most }),
  pattern: undefined,
});

/** Query parameters of a list. */
export const pageFields = {
  limit: z
    .string()
    .regex(/^[1-9]\d{0,3}$/, NO_LIMIT)
    .transform(Number)
    .refine((limit) => limit <= LONGEST_PAGE, NO_LIMIT)
    .optional()
    .meta({
      ...wholeNumber(LONGEST_PAGE),
      description: `maximum number of entries; ${LONGEST_PAGE} if absent`,
    }),
  after: z.string().min(1).optional().describe("id of the last entry of the previous page"),
};

/** The first entries of a list that was read with one more than the page has. */
export function pageOf<T>(found: readonly T[], limit: number): { entries: readonly T[]; hasMore: boolean } {
  return { entries: found.slice(0, limit), hasMore: found.length > limit };
}
