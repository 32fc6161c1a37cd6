// TextLogService converts messages to lines and back. Texts whose length clients decide are cut. A wrong field refuses the whole
// call.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  HoldState,
  type ListTextsRequest,
  ListTextsRequestSchema,
  TextApi,
  type TextLine as TextLineMessage,
  TextLogService,
  type TextPlace,
  type TextSchema,
  type TextUsage as TextUsageMessage,
} from "@gr/proto/billing";
import { type Clock, implement, pageOf, type RpcService } from "@gr/runtime";
import { instant, invalid, limit, text, uuid } from "../rpc/field-rules.ts";
import { HOLD_STATES, nameOf } from "../rpc/message-names.ts";
import { reaching } from "../writer/ledger-error.ts";
import type { TextBars, TextFilter } from "./text-list-store.ts";
import {
  type Days,
  type LoggedText,
  MOST_DAYS,
  type TextLine,
  type TextLogStore,
  type TextUsage,
} from "./text-log-store.ts";

const MOST_LINES = 1_000;
const MOST_MODEL_CHARACTERS = 300;
const MOST_ATTEMPTS = 100;
const MOST_SPENDERS = 1_000;
/** Stored characters of a text whose length clients decide. */
const MOST_CHARACTERS = 500;
/** Nearly every text; all its characters can be stored. */
const PLAIN = /^[\x20-\x7e]*$/;
/** Milliseconds for which the clock of the service that writes lines may be ahead. Later lines would be in the month of no partition. */
const MOST_AHEAD_MS = 86_400_000;
/** The largest 32-bit integer. */
const MOST_MS = 2_147_483_647;

/** @param byDefault term of lines of accounts without a term of their own */
export function textLogRpc(store: TextLogStore, byDefault: Days, clock: Pick<Clock, "now">): RpcService {
  const termOf = async (accountId: string) => {
    const own = await reaching(store.daysOf(accountId));
    return { days: own ?? byDefault, own: own !== undefined };
  };
  return implement(TextLogService, {
    async writeTexts({ lines }) {
      if (lines.length > MOST_LINES) throw invalid("lines", `At most ${MOST_LINES} lines fit in one call`);
      const latest = BigInt(Math.trunc(clock.now()) + MOST_AHEAD_MS);
      const read = lines.map((line, index) => readLine(line, `lines[${index}]`, latest));
      if (read.length > 0) await reaching(store.write(read, byDefault));
      return {};
    },
    async listTexts(request, { signal }) {
      const filter = await readFilter(store, request);
      const { entries, hasMore } = pageOf(await reaching(store.list(filter, signal)), filter.limit);
      return { texts: entries.map(messageOf), hasMore };
    },
    async sumTexts({ filter, barsFrom, barMs }) {
      const read = await readFilter(store, {
        ...(filter ?? create(ListTextsRequestSchema)),
        after: "",
        limit: 1,
      });
      const bars = barMs === 0n ? undefined : readBars(barsFrom, barMs);
      const { oldestAt, sums, latencies } = await reaching(store.sum(read, bars));
      return {
        ...(oldestAt && { oldestAt: BigInt(oldestAt.getTime()) }),
        sums: sums.map(({ bar, state, requests, charge }) => {
          return { bar, state: HOLD_STATES[state], requests, chargedCredits: charge };
        }),
        latencies: [...latencies],
      };
    },
    async findText({ accountId, spenderId, requestId }) {
      const account = uuid("account_id", accountId);
      const spender = optionalUuid("spender_id", spenderId);
      const found = await reaching(store.find(account, uuid("request_id", requestId)));
      if (found === undefined || (spender !== undefined && found.spenderId !== spender)) return {};
      return { text: messageOf(found) };
    },
    getTextRetention: ({ accountId }) => termOf(uuid("account_id", accountId)),
    async setTextRetention({ accountId, days }) {
      const account = uuid("account_id", accountId);
      if (days !== undefined && (days < 0 || days > MOST_DAYS)) {
        throw invalid("days", `It must be from 0 to ${MOST_DAYS}`);
      }
      await reaching(store.setDaysOf(account, days));
      return termOf(account);
    },
  });
}

function optionalUuid(field: string, value: string): string | undefined {
  return value === "" ? undefined : uuid(field, value);
}

async function readFilter(store: TextLogStore, request: ListTextsRequest): Promise<TextFilter> {
  const { accountId, spenderId, spenderIds, model, provider, state } = request;
  const { beganAfter, beganBefore, before, after, limit: most } = request;
  if (spenderIds.length > MOST_SPENDERS) {
    throw invalid("spender_ids", `At most ${MOST_SPENDERS} spenders fit in one call`);
  }
  const account = uuid("account_id", accountId);
  const moment = (field: string, value: bigint | undefined) =>
    value === undefined ? undefined : new Date(Number(instant(field, value)));
  return {
    accountId: account,
    spenderId: optionalUuid("spender_id", spenderId),
    spenderIds:
      spenderIds.length === 0 ? undefined : spenderIds.map((id, at) => uuid(`spender_ids[${at}]`, id)),
    model: model === "" ? undefined : text("model", model, MOST_MODEL_CHARACTERS),
    provider: provider === "" ? undefined : text("provider", provider, MOST_MODEL_CHARACTERS),
    state: state === HoldState.UNSPECIFIED ? undefined : nameOf(HOLD_STATES, "state", state),
    beganAfter: moment("began_after", beganAfter),
    beganBefore: moment("began_before", beganBefore),
    before: before === undefined ? await placeOf(store, account, after) : readPlace(before),
    limit: limit("limit", most),
  };
}

/** At least a minute, so that a read has few bars. */
const LEAST_BAR_MS = 60_000n;

function readBars(from: bigint, widthMs: bigint): TextBars {
  if (widthMs < LEAST_BAR_MS) throw invalid("bar_ms", `It must be 0, or at least ${LEAST_BAR_MS}`);
  return { from: Number(instant("bars_from", from)), widthMs: Number(instant("bar_ms", widthMs)) };
}

function readPlace({ beganAt, requestId }: TextPlace): TextFilter["before"] {
  return {
    beganAt: new Date(Number(instant("before.began_at", beganAt))),
    id: uuid("before.request_id", requestId),
  };
}

async function placeOf(store: TextLogStore, accountId: string, id: string): Promise<TextFilter["before"]> {
  if (id === "") return undefined;
  const found = await reaching(store.find(accountId, uuid("after", id)));
  if (found?.line === undefined) throw invalid("after", "It must be the id of a request of this list");
  return found.line;
}

/** @param latest begin, Unix milliseconds */
function readLine(line: TextLineMessage, at: string, latest: bigint): TextLine {
  if (line.api !== TextApi.CHAT && line.api !== TextApi.RESPONSES) {
    throw invalid(`${at}.api`, "It must be chat or responses");
  }
  if (line.beganAt > latest) throw invalid(`${at}.began_at`, "It must be at most a day ahead");
  if (line.attempts.length > MOST_ATTEMPTS) {
    throw invalid(`${at}.attempts`, `At most ${MOST_ATTEMPTS} attempts fit in a line`);
  }
  return {
    id: uuid(`${at}.request_id`, line.requestId),
    accountId: uuid(`${at}.account_id`, line.accountId),
    spenderId: uuid(`${at}.spender_id`, line.spenderId),
    model: text(`${at}.model`, line.model, MOST_MODEL_CHARACTERS),
    api: line.api === TextApi.CHAT ? "chat" : "responses",
    stream: line.stream,
    beganAt: new Date(Number(instant(`${at}.began_at`, line.beganAt))),
    tookMs: milliseconds(line.tookMs),
    firstByteMs: line.firstByteMs === undefined ? null : milliseconds(line.firstByteMs),
    finishReason: short(line.finishReason),
    userTag: short(line.userTag),
    usage: line.usage === undefined ? null : usageOf(line.usage),
    attempts: line.attempts.map(({ provider, upstreamModel, outcome, tookMs }) => ({
      provider: short(provider),
      upstreamModel: short(upstreamModel),
      outcome: short(outcome),
      tookMs: milliseconds(tookMs),
    })),
    errorReason: short(line.errorReason),
    errorMessage: short(line.errorMessage),
  };
}

function milliseconds(value: bigint): number {
  return Number(value < 0n ? 0n : value > MOST_MS ? BigInt(MOST_MS) : value);
}

/** PostgreSQL and its JSON have no NUL and no half of a character. */
function short(value: string): string {
  const kept = value.slice(0, MOST_CHARACTERS);
  return PLAIN.test(kept) ? kept : kept.replaceAll("\0", "").toWellFormed();
}

/** Without the counts of zero, which are the most. */
function usageOf(usage: TextUsageMessage): TextUsage {
  const kept: Record<string, TextUsage[string]> = {};
  for (const name in usage) {
    const count: unknown = usage[name as keyof TextUsageMessage];
    if (typeof count === "bigint" && count !== 0n) kept[name] = Number(count);
  }
  const calls = Object.entries(usage.toolCalls).map(([name, count]) => [short(name), Number(count)]);
  if (calls.length > 0) kept["toolCalls"] = Object.fromEntries(calls);
  return kept;
}

function messageOf(logged: LoggedText): MessageInitShape<typeof TextSchema> {
  const { id, spenderId, model, state, placedAt, charge, cost, priceVersion, provider, line } = logged;
  return {
    ...{ requestId: id, spenderId, model, priceVersion, provider },
    state: HOLD_STATES[state],
    placedAt: BigInt(placedAt),
    chargedCredits: charge,
    costPicoUsd: cost,
    ...(line === undefined ? {} : { line: lineMessage(line) }),
  };
}

function lineMessage({
  id,
  api,
  usage,
  ...line
}: TextLine): NonNullable<MessageInitShape<typeof TextSchema>["line"]> {
  return {
    requestId: id,
    ...line,
    api: api === "chat" ? TextApi.CHAT : TextApi.RESPONSES,
    beganAt: BigInt(line.beganAt.getTime()),
    tookMs: BigInt(line.tookMs),
    ...(line.firstByteMs === null ? { firstByteMs: undefined } : { firstByteMs: BigInt(line.firstByteMs) }),
    attempts: line.attempts.map((attempt) => ({ ...attempt, tookMs: BigInt(attempt.tookMs) })),
    ...(usage === null ? {} : { usage: usageMessage(usage) }),
  };
}

function usageMessage({ toolCalls = {}, ...counts }: TextUsage) {
  const big = (record: object) =>
    Object.fromEntries(Object.entries(record).map(([name, count]) => [name, BigInt(count)]));
  return { ...big(counts), toolCalls: big(Object(toolCalls)) };
}
