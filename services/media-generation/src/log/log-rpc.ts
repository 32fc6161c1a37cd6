// The log of a whole account, or of one of its keys, over RPC, for services that act for the account's owner.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { errorRow } from "@gr/proto";
import {
  type FindGenerationRequest,
  GenerationKind,
  type GenerationSchema,
  GenerationStatus,
  type ListGenerationsRequest,
  type RemoveGenerationRequest,
} from "@gr/proto/media";
import { parseRequest } from "@gr/runtime";
import { z } from "zod";
import { mediaUrl } from "../answer/media-answer.ts";
import { filesOf, KINDS, type LogEntry, previewOf, STATUSES } from "./log-entry.ts";
import { idField, MOST, modelField, readPage } from "./log-query.ts";
import type { LogFilter, LogStore } from "./log-store.ts";
import { type RemovalDeps, removeContent } from "./remove-content.ts";

const STATUS = {
  running: GenerationStatus.RUNNING,
  succeeded: GenerationStatus.SUCCEEDED,
  failed: GenerationStatus.FAILED,
  blocked: GenerationStatus.BLOCKED,
  cancelled: GenerationStatus.CANCELLED,
} satisfies Record<LogEntry["status"], GenerationStatus>;
const KIND = { image: GenerationKind.IMAGE, video: GenerationKind.VIDEO } satisfies Record<
  LogEntry["kind"],
  GenerationKind
>;
/** The last millisecond of the year 9999. */
const LATEST = 253_402_300_799_999;

const instant = z
  .bigint()
  .transform(Number)
  .pipe(z.number().min(0, "It must not be negative").max(LATEST, "It must be before the year 10000"))
  .optional();

const requestFields = z.object({
  account_id: idField("account_id"),
  key_id: idField("key_id").optional(),
  kind: z.literal(Object.values(KIND), "It must be a kind of this contract").optional(),
  model: modelField.optional(),
  status: z.literal(Object.values(STATUS), "It must be a status of this contract").optional(),
  created_after: instant,
  created_before: instant,
  after: idField("after").optional(),
  limit: z.number().int().min(1).max(MOST, `It must be from 1 to ${MOST}, or 0 for the default`).optional(),
});

const entryFields = z.object({ account_id: idField("account_id"), id: idField("id") });

export interface LogCallsDeps extends RemovalDeps {
  readonly generationLog: LogStore;
  readonly publicBaseUrl: string;
}

export function logCalls(deps: LogCallsDeps) {
  const { generationLog, publicBaseUrl } = deps;
  return {
    async findGeneration(request: FindGenerationRequest) {
      const { account_id: accountId, id } = entryOf(request);
      const entry = await generationLog.find({ accountId }, id);
      return entry === undefined ? {} : { generation: messageOf(entry, publicBaseUrl) };
    },
    async removeGeneration(request: RemoveGenerationRequest) {
      const { account_id: accountId, id } = entryOf(request);
      const { removed } = await removeContent(deps, { accountId }, id);
      return { givenUp: removed === "running" };
    },
    async listGenerations(request: ListGenerationsRequest) {
      const { account_id: accountId, key_id: keyId, after, limit, ...rest } = fieldsOf(request);
      const { entries, hasMore } = await readPage(
        generationLog,
        { accountId, keyId },
        filterOf(rest),
        after,
        limit,
      );
      return { generations: entries.map((entry) => messageOf(entry, publicBaseUrl)), hasMore };
    },
  };
}

/** @throws ServiceError invalid_value */
function entryOf({ accountId, id }: FindGenerationRequest | RemoveGenerationRequest) {
  return parseRequest(entryFields, { account_id: accountId, id });
}

type Fields = z.infer<typeof requestFields>;

/** @throws ServiceError invalid_value */
function fieldsOf(request: ListGenerationsRequest): Fields {
  const { createdAfter, createdBefore } = request;
  return parseRequest(requestFields, {
    account_id: request.accountId,
    key_id: request.keyId || undefined,
    kind: request.kind || undefined,
    model: request.model || undefined,
    status: request.status || undefined,
    created_after: createdAfter,
    created_before: createdBefore,
    after: request.after || undefined,
    limit: request.limit || undefined,
  });
}

function filterOf({
  kind,
  status,
  model,
  created_after: createdAfter,
  created_before: createdBefore,
}: Pick<Fields, "kind" | "status" | "model" | "created_after" | "created_before">): LogFilter {
  return {
    kind: KINDS.find((name) => KIND[name] === kind),
    status: STATUSES.find((name) => STATUS[name] === status),
    model,
    createdAfter,
    createdBefore,
  };
}

function messageOf(entry: LogEntry, publicBaseUrl: string): MessageInitShape<typeof GenerationSchema> {
  const { request, error, finishedAt, charge } = entry;
  const { prompt, size, quality, seconds, audio, input_pixels: pixels = [] } = request;
  return {
    id: entry.id,
    keyId: entry.keyId,
    kind: KIND[entry.kind],
    model: entry.model,
    status: STATUS[entry.status],
    parameters: {
      // Half a character of UTF-16 has no place in a message.
      ...(prompt === undefined ? {} : { prompt: prompt.toWellFormed() }),
      count: request.n,
      ...(size === undefined ? {} : { size }),
      ...(quality === undefined ? {} : { quality }),
      ...(seconds === undefined ? {} : { seconds }),
      ...(audio === undefined ? {} : { audio }),
      inputImages: pixels.length,
      outputFormat: request.output_format,
      responseFormat: request.response_format,
    },
    ...(entry.progress === undefined ? {} : { progress: entry.progress }),
    urls: filesOf(entry).map((name) => mediaUrl(publicBaseUrl, name)),
    previewUrls: filesOf(entry).map((name) => {
      const preview = previewOf(entry, name);
      return preview === undefined ? "" : mediaUrl(publicBaseUrl, preview);
    }),
    ...(error === undefined ? {} : { error: errorMessage(error) }),
    createdAt: BigInt(entry.createdAt),
    ...(finishedAt === undefined ? {} : { finishedAt: BigInt(finishedAt) }),
    ...(charge === undefined ? {} : { chargedCredits: charge }),
    priceVersion: entry.priceVersion,
    pricePicoUsd: entry.price,
    inputPixels: pixels.map((each) => BigInt(each)),
    deleted: entry.deleted,
    expired: entry.expired,
  };
}

function errorMessage({ reason, message }: NonNullable<LogEntry["error"]>) {
  const { type, code = "" } = errorRow(reason);
  return { message: message.toWellFormed(), type, code };
}
