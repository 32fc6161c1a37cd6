// ReadLog merges the two homes of the log, newest first: jobs of images and videos in this service's table, text requests at
// billing. Both are ordered by begin and id, so the id of the last entry of a page is the cursor of both.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { GENERATION_STATUS } from "@gr/clients";
import { ServiceError } from "@gr/proto";
import { HoldState, type TextLogService } from "@gr/proto/billing";
import type { Generation, SumGenerationsResponseSchema } from "@gr/proto/media";
import type { KindFilter } from "@gr/request-record";
import type { ServiceClient } from "@gr/runtime";
import { messageOf, statusOfHold, textMessage } from "./log-message.ts";
import { invalidAfter, USUAL_PAGE } from "./log-query.ts";
import type { LogBars, LogFilter, LogOwner, LogStore, LogSums } from "./log-store.ts";

export interface ReadLogDeps {
  readonly generationLog: Pick<LogStore, "list" | "find" | "sum">;
  readonly texts: Pick<ServiceClient<typeof TextLogService>, "listTexts" | "sumTexts" | "findText">;
  readonly publicBaseUrl: string;
}

export interface RequestFilter
  extends Pick<LogFilter, "model" | "provider" | "keyIds" | "status" | "createdAfter" | "createdBefore"> {
  /** Undefined = all. */
  readonly kind: KindFilter | undefined;
}

/** Place of an entry in the order of the log. */
interface Place {
  readonly id: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

export interface RequestPage {
  readonly generations: readonly Generation[];
  readonly hasMore: boolean;
}

/** States of holds by states of requests. No text request has another one. */
const HOLD_STATES: Readonly<Record<string, HoldState>> = {
  running: HoldState.OPEN,
  succeeded: HoldState.CAPTURED,
  failed: HoldState.RELEASED,
};

/**
 * @param after id of a request of the owner; the filter does not apply to it. @throws ServiceError invalid_value of
 * after; service_unavailable
 */
export async function readLog(
  deps: ReadLogDeps,
  owner: LogOwner,
  filter: RequestFilter,
  after: string | undefined,
  limit = USUAL_PAGE,
): Promise<RequestPage> {
  const place = after === undefined ? undefined : await placeOf(deps, owner, after);
  // One more than the page, of each home: the page is full, and the rest shows that there is more.
  const most = limit + 1;
  const [media, texts] = await Promise.all([
    listMedia(deps, owner, filter, place, most),
    listTexts(deps, owner, filter, place, most),
  ]);
  const all = [...media, ...texts].toSorted(newestFirst);
  return { generations: all.slice(0, limit), hasMore: all.length > limit };
}

/** Returns a request of the owner; undefined if there is none. A text request exists from its hold on. */
export async function findRequest(
  { generationLog, texts, publicBaseUrl }: ReadLogDeps,
  owner: LogOwner,
  id: string,
): Promise<Generation | undefined> {
  const entry = await generationLog.find(owner, id);
  if (entry !== undefined) return messageOf(entry, publicBaseUrl);
  const { text } = await texts.findText({ ...spenderOf(owner), requestId: id });
  return text === undefined ? undefined : textMessage(text);
}

async function placeOf(deps: ReadLogDeps, owner: LogOwner, id: string): Promise<Place> {
  const found = await findRequest(deps, owner, id);
  if (found === undefined) throw invalidAfter();
  return { id: found.id, createdAt: Number(found.createdAt) };
}

async function listMedia(
  { generationLog, publicBaseUrl }: ReadLogDeps,
  owner: LogOwner,
  { kind, ...filter }: RequestFilter,
  place: Place | undefined,
  most: number,
): Promise<Generation[]> {
  const wanted = mediaFilter({ kind, ...filter });
  if (wanted === undefined) return [];
  const entries = await generationLog.list(owner, wanted, place, most);
  return entries.map((entry) => messageOf(entry, publicBaseUrl));
}

async function listTexts(
  { texts }: ReadLogDeps,
  owner: LogOwner,
  filter: RequestFilter,
  place: Place | undefined,
  limit: number,
): Promise<Generation[]> {
  const wanted = textFilter(owner, filter);
  if (wanted === undefined) return [];
  const found = await ofRequests(
    texts.listTexts({
      ...{ ...wanted, limit },
      ...(place === undefined ? {} : { before: { beganAt: BigInt(place.createdAt), requestId: place.id } }),
    }),
  );
  return found.texts.map(textMessage);
}

/** Undefined: no image and no video matches. */
function mediaFilter({ kind, ...filter }: RequestFilter): LogFilter | undefined {
  if (kind === "text") return undefined;
  return { ...filter, ...(kind === "image" || kind === "video" ? { kind } : {}) };
}

/** Undefined: no text matches. */
function textFilter(owner: LogOwner, filter: RequestFilter) {
  const { kind, model, provider, keyIds, status, createdAfter, createdBefore } = filter;
  const state = status === undefined ? HoldState.UNSPECIFIED : HOLD_STATES[status];
  if ((kind !== undefined && kind !== "text") || state === undefined) return undefined;
  return {
    ...{ ...spenderOf(owner), state },
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
    ...(keyIds === undefined ? {} : { spenderIds: [...keyIds] }),
    ...(createdAfter === undefined ? {} : { beganAfter: BigInt(createdAfter) }),
    ...(createdBefore === undefined ? {} : { beganBefore: BigInt(createdBefore) }),
  };
}

const NO_SUMS: LogSums = { oldestAt: undefined, sums: [], latencies: [] };

/** Sums both homes. @param bars undefined: only the oldest request is found */
export async function sumLog(
  { generationLog, texts }: Pick<ReadLogDeps, "generationLog" | "texts">,
  owner: LogOwner,
  filter: RequestFilter,
  bars: LogBars | undefined,
): Promise<MessageInitShape<typeof SumGenerationsResponseSchema>> {
  const [ofMedia, ofTexts] = [mediaFilter(filter), textFilter(owner, filter)];
  const asked = bars && { barsFrom: BigInt(bars.from), barMs: BigInt(bars.widthMs) };
  const [media, text] = await Promise.all([
    ofMedia === undefined ? NO_SUMS : generationLog.sum(owner, ofMedia, bars),
    ofTexts === undefined ? undefined : ofRequests(texts.sumTexts({ filter: ofTexts, ...asked })),
  ]);
  const begins = [media.oldestAt, text?.oldestAt === undefined ? undefined : Number(text.oldestAt)];
  const oldest = begins.filter((at) => at !== undefined);
  return {
    ...(oldest.length > 0 && { oldestAt: BigInt(Math.min(...oldest)) }),
    sums: [
      ...media.sums.map(({ bar, status, requests, charge }) => {
        return { bar, status: GENERATION_STATUS[status], requests, chargedCredits: charge };
      }),
      ...(text?.sums ?? []).map(({ bar, state, requests, chargedCredits }) => {
        return { bar, status: statusOfHold(state), requests, chargedCredits };
      }),
    ],
    latencies: [...media.latencies, ...(text?.latencies ?? [])],
  };
}

/** The owner in the words of billing. */
export const spenderOf = ({ accountId, keyId = "" }: LogOwner) => ({ accountId, spenderId: keyId });

const TIMES: Readonly<Record<string, string>> = {
  began_after: "created_after",
  began_before: "created_before",
};

/** Names the time at fault as the log does. */
async function ofRequests<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return answer.catch((error: unknown) => {
    if (!(error instanceof ServiceError) || error.param === undefined) throw error;
    const param = TIMES[error.param];
    if (param === undefined) throw error;
    throw new ServiceError(error.reason, error.message.replace(error.param, param), { param });
  });
}

/** The greater id first, as UUIDs are ordered in the database. */
function newestFirst(one: Generation, other: Generation): number {
  if (one.createdAt !== other.createdAt) return one.createdAt < other.createdAt ? 1 : -1;
  return one.id < other.id ? 1 : -1;
}
