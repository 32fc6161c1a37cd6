// Request routes serve the account's log: pages of requests of all kinds, their sums and their file, one request with the
// explanation of its charge, and the removal of its files. Media generation owns the log.
import { Readable } from "node:stream";
import { explainedRecord, GENERATION_KIND, GENERATION_STATUS, requestRecord } from "@gr/clients";
import type { QueryOf } from "@gr/console-api";
import { formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import type { Generation } from "@gr/proto/media";
import { csvLine, isUuid } from "@gr/runtime";
import type { ConsoleDeps } from "../../console-deps.ts";
import { accountOf, type ConsoleCall, type Handlers } from "../../door/console-call.ts";
import { DAY_MS, startOfDay } from "../../requests/days.ts";
import { invalidAfter, pageLimit } from "../../requests/pages.ts";
import { barsOf, summarize } from "../../requests/request-summary.ts";
import { spenderIdOf, spenderOf } from "../../requests/spenders.ts";
import { recordAudit } from "../audit.ts";
import { sendCsv } from "./csv.ts";

type Query = QueryOf<"listRequests">;

type RequestRoutes = Handlers<
  "listRequests" | "summarizeRequests" | "exportRequests" | "readRequest" | "removeMedia"
>;

/** Requests of one call of media generation. */
const READ_PAGE = 100;
const EXPORT_LINES = 10_000;
/** Keys of one filter of the log. */
const MOST_KEYS = 1_000;
/** Id of no key. */
const NO_KEY = "00000000-0000-4000-8000-000000000000";
const COLUMNS = [
  ...["id", "time", "kind", "model", "provider", "attempts", "key_id", "status", "latency_ms", "cost_usd"],
  ...["input_tokens", "output_tokens", "error", "prompt"],
];

export function requestRoutes(deps: ConsoleDeps): RequestRoutes {
  const { media, catalogOperator, clock } = deps;
  const filterOf = async (accountId: string, query: QueryOf<"summarizeRequests">): Promise<Filter> => {
    const filter = plainFilter(accountId, query);
    if (query.member === undefined) return filter;
    const keyIds = (await deps.keyMembers.keysOf(accountId, query.member)).slice(0, MOST_KEYS);
    // An empty list means all keys.
    return { ...filter, keyIds: keyIds.length === 0 ? [NO_KEY] : keyIds };
  };
  return {
    listRequests: async (call) => {
      const filter = await filterOf(accountOf(call), call.query);
      const { generations, hasMore } = await media.listGenerations({ ...filter, ...pageOf(call) });
      return {
        data: generations.map(requestRecord),
        next: hasMore ? (generations.at(-1)?.id ?? null) : null,
      };
    },
    summarizeRequests: async (call) => {
      const filter = await filterOf(accountOf(call), call.query);
      const { createdAfter: after, createdBefore: before } = filter;
      const now = clock.now();
      const to = before === undefined ? now : Math.min(now, Number(before) - 1);
      const bars =
        after === undefined
          ? barsOf(numberOf((await media.sumGenerations({ filter })).oldestAt), to, false)
          : barsOf(Number(after) + 1, to, true);
      const { start, width } = bars;
      return summarize(
        bars,
        await media.sumGenerations({ filter, barsFrom: BigInt(start), barMs: BigInt(width) }),
      );
    },
    exportRequests: async (call) => {
      // Read before the answer begins, so that a bad filter is an error and not a broken file.
      const filter = await filterOf(accountOf(call), call.query);
      return sendCsv(call.reply, "requests.csv", Readable.from(requestsCsv(deps, filter)));
    },
    readRequest: async (call) => {
      const found = await media.findGeneration({ accountId: accountOf(call), id: idOf(call), texts: true });
      if (found.generation === undefined) throw unknown();
      return explainedRecord(found.generation, catalogOperator);
    },
    removeMedia: async (call) => {
      const id = idOf(call);
      // A service of the release before sends the former name alone.
      const { isCancelling, givenUp } = await media.removeGeneration({ accountId: accountOf(call), id });
      await recordAudit(deps, call, { action: "media.removed", subject: id });
      return { is_cancelling: isCancelling || givenUp };
    },
  };
}

/** @throws ServiceError invalid_value */
function pageOf({ query }: Pick<ConsoleCall<"listRequests">, "query">) {
  const { after } = query;
  if (after !== undefined && !isUuid(after)) throw invalidAfter();
  return { limit: pageLimit(query), ...(after === undefined ? {} : { after }) };
}

/** @throws ServiceError invalid_value */
function plainFilter(accountId: string, query: QueryOf<"summarizeRequests">) {
  const { kind, model, provider, status, key_id: keyId } = query;
  return {
    ...{ accountId, texts: kind === undefined },
    ...(kind === undefined || kind === "media" ? {} : { kind: GENERATION_KIND[kind] }),
    ...(status === undefined ? {} : { status: GENERATION_STATUS[status] }),
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
    ...(keyId === undefined ? {} : { keyId: spenderOf(keyId, accountId) }),
    ...timesOf(query),
  };
}

type Filter = ReturnType<typeof plainFilter> & { readonly keyIds?: string[] };

/** Reads pages, the newest first, up to this number of requests. */
async function* pagesOf({ listGenerations }: ConsoleDeps["media"], filter: Filter, most: number) {
  let after = "";
  for (let count = 0; count < most; count += READ_PAGE) {
    const page = await listGenerations({ ...filter, limit: READ_PAGE, after });
    yield page;
    after = page.generations.at(-1)?.id ?? "";
    if (!page.hasMore) return;
  }
}

async function* requestsCsv({ media }: ConsoleDeps, filter: Filter): AsyncGenerator<string> {
  yield csvLine(COLUMNS);
  for await (const { generations } of pagesOf(media, filter, EXPORT_LINES)) {
    yield generations.map((one) => csvLine(cellsOf(one, filter.accountId))).join("");
  }
}

function cellsOf(generation: Generation, accountId: string): (string | number | null)[] {
  const record = requestRecord(generation);
  const usage = record.kind === "text" ? record.usage : null;
  const { chargedCredits: charged } = generation;
  return [
    ...[record.id, record.created_at, record.kind, record.model, record.provider, record.attempts.length],
    ...[spenderIdOf(record.api_key_id, accountId), record.status, record.latency],
    charged === undefined ? null : formatCredits(charged),
    ...[usage?.input_tokens ?? null, usage?.output_tokens ?? null, record.error?.message ?? null],
    record.kind === "text" ? null : (record.request.prompt ?? null),
  ];
}

const numberOf = (value: bigint | undefined) => (value === undefined ? undefined : Number(value));

/** Days are whole days in UTC; other values are moments. */
function timesOf({ from, to }: Pick<Query, "from" | "to">) {
  const isDay = (value: string) => !value.includes("T");
  const later = (value: string) => (isDay(value) ? startOfDay("from", value) - 1 : Date.parse(value));
  const earlier = (value: string) => (isDay(value) ? startOfDay("to", value) + DAY_MS : Date.parse(value));
  return {
    ...(from === undefined ? {} : { createdAfter: BigInt(later(from)) }),
    ...(to === undefined ? {} : { createdBefore: BigInt(earlier(to)) }),
  };
}

/** @throws ServiceError generation_not_found */
function idOf({ params: { id = "" } }: { readonly params: Readonly<Record<string, string>> }): string {
  if (!isUuid(id)) throw unknown();
  return id.toLowerCase();
}

function unknown(): ServiceError {
  const message = "The account has no request with this id.";
  return new ServiceError("generation_not_found", message, { param: "id" });
}
