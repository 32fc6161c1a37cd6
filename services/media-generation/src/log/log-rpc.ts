// The log of a whole account, or of one of its keys, over RPC, for services that act for the account's owner.
import { create } from "@bufbuild/protobuf";
import { GENERATION_KIND, GENERATION_STATUS, nameOf } from "@gr/clients";
import {
  type FindGenerationRequest,
  type ListGenerationsRequest,
  ListGenerationsRequestSchema,
  type RemoveGenerationRequest,
  type SumGenerationsRequest,
} from "@gr/proto/media";
import type { KindFilter } from "@gr/request-record";
import { FairGate, parseRequest } from "@gr/runtime";
import { z } from "zod";
import { messageOf } from "./log-message.ts";
import { idField, MOST, nameField } from "./log-query.ts";
import type { LogStore } from "./log-store.ts";
import { findRequest, type ReadLogDeps, readLog, sumLog } from "./read-log.ts";
import { type RemovalDeps, removeContent } from "./remove-content.ts";

const MOST_KEYS = 1_000;
/** The last millisecond of the year 9999. */
const LATEST = 253_402_300_799_999;

const instant = z
  .bigint()
  .transform(Number)
  .pipe(z.number().min(0, "It must not be negative").max(LATEST, "It must be before the year 10000"))
  .optional();
const oneOf = (names: Readonly<Record<string, number>>, what: string) =>
  z.literal(Object.values(names), `It must be a ${what} of this contract`).optional();

const requestFields = z.object({
  account_id: idField("account_id"),
  key_id: idField("key_id").optional(),
  kind: oneOf(GENERATION_KIND, "kind"),
  model: nameField("model").optional(),
  provider: nameField("provider").optional(),
  key_ids: z.array(idField("key_ids")).max(MOST_KEYS, `At most ${MOST_KEYS} keys fit in one call`),
  status: oneOf(GENERATION_STATUS, "status"),
  created_after: instant,
  created_before: instant,
  after: idField("after").optional(),
  limit: z.number().int().min(1).max(MOST, `It must be from 1 to ${MOST}, or 0 for the default`).optional(),
});

/** At least a minute wide, so that a read has few bars. */
const LEAST_BAR_MS = 60_000;
const barFields = z.object({
  bars_from: z.bigint().transform(Number).pipe(z.number().min(1).max(LATEST)),
  bar_ms: z
    .bigint()
    .transform(Number)
    .pipe(z.number().min(LEAST_BAR_MS, `It must be 0, or at least ${LEAST_BAR_MS}`).max(LATEST)),
});

const entryFields = z.object({ account_id: idField("account_id"), id: idField("id") });

export interface LogCallsDeps extends RemovalDeps, ReadLogDeps {
  readonly generationLog: LogStore;
}

/** A sum reads all rows of its filter, so sums wait for each other, and an account has one at a time. A sum without a caller never begins. */
const sumGate = () =>
  new FairGate({
    places: 2,
    perOwner: 1,
    waitingPerOwner: Number.POSITIVE_INFINITY,
    waiting: Number.POSITIVE_INFINITY,
    name: "sums of the log",
  });

export function logCalls(deps: LogCallsDeps) {
  const gate = sumGate();
  return {
    async findGeneration(request: FindGenerationRequest) {
      const { account_id: accountId, id } = entryOf(request);
      if (request.texts) return optional(await findRequest(deps, { accountId }, id));
      const entry = await deps.generationLog.find({ accountId }, id);
      return optional(entry && messageOf(entry, deps.publicBaseUrl));
    },
    async removeGeneration(request: RemoveGenerationRequest) {
      const { account_id: accountId, id } = entryOf(request);
      const { removed } = await removeContent(deps, { accountId }, id);
      const isCancelling = removed === "running";
      return { isCancelling, givenUp: isCancelling };
    },
    async listGenerations(request: ListGenerationsRequest) {
      const { after, limit, owner, filter } = readFilter(request);
      const { generations, hasMore } = await readLog(deps, owner, filter, after, limit);
      return { generations: [...generations], hasMore };
    },
    async sumGenerations(
      { filter: wanted, barsFrom, barMs }: SumGenerationsRequest,
      { signal }: { readonly signal: AbortSignal },
    ) {
      const { owner, filter } = readFilter(wanted ?? create(ListGenerationsRequestSchema));
      const sum = (bars: Parameters<typeof sumLog>[3]) =>
        gate.run({ owner: owner.accountId, signal }, () => sumLog(deps, owner, filter, bars));
      if (barMs === 0n) return sum(undefined);
      const { bars_from: from, bar_ms: widthMs } = parseRequest(barFields, {
        bars_from: barsFrom,
        bar_ms: barMs,
      });
      return sum({ from, widthMs });
    },
  };
}

const optional = <Message>(generation: Message | undefined) =>
  generation === undefined ? {} : { generation };

/** @throws ServiceError invalid_value */
function readFilter(request: ListGenerationsRequest) {
  const { account_id: accountId, key_id: keyId, after, limit, ...fields } = fieldsOf(request);
  const { model, provider, key_ids: keys } = fields;
  const { created_after: createdAfter, created_before: createdBefore } = fields;
  const status = fields.status === undefined ? undefined : nameOf(GENERATION_STATUS, fields.status);
  const keyIds = keys.length === 0 ? undefined : keys;
  const filter = { kind: kindOf(request), model, provider, keyIds, status, createdAfter, createdBefore };
  return { after, limit, owner: { accountId, keyId }, filter };
}

function kindOf({ kind, texts }: ListGenerationsRequest): KindFilter | undefined {
  if (kind !== 0) return nameOf(GENERATION_KIND, kind);
  return texts ? undefined : "media";
}

/** @throws ServiceError invalid_value */
function entryOf({ accountId, id }: FindGenerationRequest | RemoveGenerationRequest) {
  return parseRequest(entryFields, { account_id: accountId, id });
}

/** @throws ServiceError invalid_value */
function fieldsOf(request: ListGenerationsRequest): z.infer<typeof requestFields> {
  const { createdAfter, createdBefore } = request;
  return parseRequest(requestFields, {
    account_id: request.accountId,
    key_id: request.keyId || undefined,
    kind: request.kind || undefined,
    model: request.model || undefined,
    provider: request.provider || undefined,
    key_ids: request.keyIds,
    status: request.status || undefined,
    created_after: createdAfter,
    created_before: createdBefore,
    after: request.after || undefined,
    limit: request.limit || undefined,
  });
}
