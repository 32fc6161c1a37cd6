// Log query reads filters and cursors of the log, from HTTP and from RPC, and returns the page.
import { ServiceError } from "@gr/proto";
import { KIND_FILTERS, REQUEST_STATUSES } from "@gr/request-record";
import { isUuid, UUID, wholeNumber } from "@gr/runtime";
import { z } from "zod";
import type { LogEntry } from "./log-entry.ts";
import type { LogFilter, LogOwner, LogStore } from "./log-store.ts";

export const MOST = 100;
export const USUAL_PAGE = 20;
const LONGEST_NAME = 200;

const once = (name: string) => ({ error: `${name} must occur once` });

const instantField = (name: string) =>
  z
    .string(once(name))
    .pipe(
      z.iso.datetime({
        offset: true,
        error: `${name} must be an ISO 8601 time with its zone, for example 2027-01-31T18:00:00Z; a + is written %2B`,
      }),
    )
    .transform((text) => Date.parse(text))
    .optional();

/** A name of a model or of a provider. */
export const nameField = (name: string) =>
  z
    .string(once(name))
    .min(1, `${name} must not be empty`)
    .max(LONGEST_NAME, `${name} must have at most ${LONGEST_NAME} characters`)
    // No pattern of the description: generators of clients and of requests cannot read this one.
    .refine((value) => /^\P{Cc}*$/u.test(value), `${name} must have no control characters`);

export const idField = (name: string) =>
  z
    .string(once(name))
    .regex(UUID, `${name} must be a UUID`)
    .transform((id) => id.toLowerCase());

export const limitField = z
  .string(once("limit"))
  .regex(/^0*([1-9]\d?|100)$/, `limit must be a whole number from 1 to ${MOST}`)
  .transform(Number)
  .optional()
  .meta({ ...wholeNumber(MOST), description: `maximum number of entries; ${USUAL_PAGE} if absent` });

const kindField = (name: string) =>
  z.enum(KIND_FILTERS, { error: `${name} must be one of ${KIND_FILTERS.join(", ")}` }).optional();

export const logQuerySchema = z.object({
  limit: limitField,
  after: idField("after").optional().describe("id of the last entry of the previous page"),
  model: nameField("model").optional(),
  provider: nameField("provider").optional().describe("provider of the last attempt, or of the running one"),
  status: z
    .enum(REQUEST_STATUSES, { error: `status must be one of ${REQUEST_STATUSES.join(", ")}` })
    .optional(),
  kind: kindField("kind").describe("media: images and videos; all if absent"),
  type: kindField("type").describe("the same as kind: the name that the list of models uses"),
  created_after: instantField("created_after").describe(
    "only requests after this time; ISO 8601 with a zone",
  ),
  created_before: instantField("created_before").describe(
    "only requests before this time; ISO 8601 with a zone",
  ),
});

/** @throws ServiceError invalid_value if both names are present with different values */
export function kindOf({ kind, type }: Pick<z.infer<typeof logQuerySchema>, "kind" | "type">) {
  if (kind !== undefined && type !== undefined && kind !== type) {
    const message = `type and kind name the same field: kind is ${kind}, type is ${type}. Send one of them.`;
    throw new ServiceError("invalid_value", message, { param: "type" });
  }
  return kind ?? type;
}

export interface LogPage {
  readonly entries: readonly LogEntry[];
  readonly hasMore: boolean;
}

/**
 * @param after id of an entry of the owner's log; the filter does not apply to it. @throws
 * ServiceError invalid_value of after
 */
export async function readPage(
  store: LogStore,
  owner: LogOwner,
  filter: LogFilter,
  after: string | undefined,
  limit = USUAL_PAGE,
): Promise<LogPage> {
  const before = after === undefined ? undefined : await store.find(owner, after);
  if (after !== undefined && before === undefined) throw invalidAfter();
  const found = await store.list(owner, filter, before, limit + 1);
  return { entries: found.slice(0, limit), hasMore: found.length > limit };
}

/** @throws ServiceError generation_not_found, with the same message for an unknown id and another account's id */
export async function readEntry(
  store: Pick<LogStore, "find">,
  owner: LogOwner,
  id: string,
): Promise<LogEntry> {
  return (isUuid(id) ? await store.find(owner, id) : undefined) ?? refuseUnknown();
}

export function invalidAfter(): ServiceError {
  const message = "after must be the id of a generation in this log.";
  return new ServiceError("invalid_value", message, { param: "after" });
}

/** @throws ServiceError generation_not_found */
export function refuseUnknown(): never {
  throw new ServiceError("generation_not_found", "There is no generation with this id in the log.", {
    param: "id",
  });
}
