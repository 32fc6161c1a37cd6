// Text records are the text requests of the account's log, from billing: their details, and their cost by their holds.
import { usageRecord } from "@gr/clients";
import type { TextRequestRecord } from "@gr/console-api";
import { formatCredits } from "@gr/money";
import { errorRow, isReason } from "@gr/proto";
import { HoldState, type Text, TextApi, type TextLine, type TextLogService } from "@gr/proto/billing";
import type { ServiceClient } from "@gr/runtime";
import type { ReadEntries } from "./merged-page.ts";
import { type LoggedRequest, type RequestFilter, timesOf } from "./request-filter.ts";
import { spenderIdOf } from "./spenders.ts";

const STATES = {
  running: HoldState.OPEN,
  succeeded: HoldState.CAPTURED,
  failed: HoldState.RELEASED,
} as const;

/** Undefined where no text request fits the filter. */
export function textSource(
  texts: Pick<ServiceClient<typeof TextLogService>, "listTexts">,
  filter: RequestFilter,
): ReadEntries<LoggedRequest> | undefined {
  const { accountId, kind, model, status, spenderId } = filter;
  if (kind !== undefined && kind !== "text") return undefined;
  if (status === "blocked" || status === "cancelled") return undefined;
  return async ({ after, until, limit }) => {
    const { later, earlier } = timesOf(filter, until);
    const found = await texts.listTexts({
      ...{ accountId, limit },
      ...(status === undefined ? {} : { state: STATES[status] }),
      ...(model === undefined ? {} : { model }),
      ...(spenderId === undefined ? {} : { spenderId }),
      ...(later === undefined ? {} : { beganAfter: BigInt(later) }),
      ...(earlier === undefined ? {} : { beganBefore: BigInt(earlier) }),
      ...(after === undefined ? {} : { after }),
    });
    const entries = found.texts.map((text) => {
      return { id: text.requestId, at: beganAt(text), record: textRecord(text, accountId) };
    });
    return { entries, hasMore: found.hasMore };
  };
}

const beganAt = ({ line, placedAt }: Text) => Number(line?.beganAt ?? placedAt);

export function textRecord(text: Text, accountId: string): TextRequestRecord {
  const { requestId: id, spenderId, model, state, line, chargedCredits } = text;
  const began = beganAt(text);
  return {
    ...{ id, kind: "text", model },
    key_id: spenderIdOf(spenderId, accountId),
    status: state === HoldState.OPEN ? "running" : state === HoldState.CAPTURED ? "succeeded" : "failed",
    created_at: new Date(began).toISOString(),
    finished_at: line === undefined ? null : new Date(began + Number(line.tookMs)).toISOString(),
    charged: state === HoldState.OPEN ? null : formatCredits(chargedCredits),
    ...detailsOf(line),
  };
}

/** Returns details that only the line of a request has. It exists after the request's end, and may be lost. */
function detailsOf(line: TextLine | undefined) {
  const { attempts = [], usage, firstByteMs } = line ?? {};
  return {
    error: line === undefined ? null : errorOf(line),
    api: line === undefined ? null : line.api === TextApi.CHAT ? ("chat" as const) : ("responses" as const),
    stream: line?.stream ?? null,
    user: line?.userTag || null,
    took_ms: line === undefined ? null : Number(line.tookMs),
    first_byte_ms: firstByteMs === undefined ? null : Number(firstByteMs),
    finish_reason: line?.finishReason || null,
    attempts: attempts.map(({ provider, upstreamModel, outcome, tookMs }) => {
      return { ...{ provider, model: upstreamModel, outcome }, took_ms: Number(tookMs) };
    }),
    usage: usage === undefined ? null : usageRecord(usage),
  };
}

function errorOf({ errorReason, errorMessage: message }: TextLine): TextRequestRecord["error"] {
  if (!isReason(errorReason)) return null;
  const { type, code = null } = errorRow(errorReason);
  return { message, type, code };
}
