// Images and videos of the account's log, as the media-generation service keeps them.
import type { GenerationRecord } from "@gr/console-api";
import { formatCredits } from "@gr/money";
import {
  type Generation,
  GenerationKind,
  GenerationStatus,
  type MediaGenerationService,
} from "@gr/proto/media";
import type { ServiceClient } from "@gr/runtime";
import type { ReadEntries } from "./merged-page.ts";
import { type LoggedRequest, type RequestFilter, timesOf } from "./request-filter.ts";
import { spenderIdOf } from "./spenders.ts";

const KINDS = { image: GenerationKind.IMAGE, video: GenerationKind.VIDEO } as const;
const STATUSES = {
  running: GenerationStatus.RUNNING,
  succeeded: GenerationStatus.SUCCEEDED,
  failed: GenerationStatus.FAILED,
  blocked: GenerationStatus.BLOCKED,
  cancelled: GenerationStatus.CANCELLED,
} as const;

/** Undefined where no image and no video fits the filter. */
export function mediaSource(
  media: Pick<ServiceClient<typeof MediaGenerationService>, "listGenerations">,
  filter: RequestFilter,
): ReadEntries<LoggedRequest> | undefined {
  const { accountId, kind, model, status, spenderId } = filter;
  if (kind === "text") return undefined;
  return async ({ after, until, limit }) => {
    const { later, earlier } = timesOf(filter, until);
    const found = await media.listGenerations({
      ...{ accountId, limit },
      ...(kind === undefined || kind === "media" ? {} : { kind: KINDS[kind] }),
      ...(status === undefined ? {} : { status: STATUSES[status] }),
      ...(model === undefined ? {} : { model }),
      ...(spenderId === undefined ? {} : { keyId: spenderId }),
      ...(later === undefined ? {} : { createdAfter: BigInt(later) }),
      ...(earlier === undefined ? {} : { createdBefore: BigInt(earlier) }),
      ...(after === undefined ? {} : { after }),
    });
    const entries = found.generations.map((generation) => {
      const { id, createdAt } = generation;
      return { id, at: Number(createdAt), record: generationRecord(generation, accountId) };
    });
    return { entries, hasMore: found.hasMore };
  };
}

export function generationRecord(generation: Generation, accountId: string): GenerationRecord {
  const { id, keyId, model, parameters, urls, error, createdAt, finishedAt, chargedCredits } = generation;
  return {
    id,
    key_id: spenderIdOf(keyId, accountId),
    kind: nameOf(KINDS, generation.kind),
    model,
    status: nameOf(STATUSES, generation.status),
    parameters: {
      prompt: parameters?.prompt ?? null,
      count: parameters?.count ?? 1,
      size: parameters?.size ?? null,
      quality: parameters?.quality ?? null,
      seconds: parameters?.seconds ?? null,
      audio: parameters?.audio ?? null,
      input_images: parameters?.inputImages ?? 0,
      output_format: parameters?.outputFormat ?? "",
      response_format: parameters?.responseFormat ?? "",
    },
    progress: generation.progress ?? null,
    urls,
    preview_urls: generation.previewUrls.map((url) => url || null),
    error:
      error === undefined ? null : { message: error.message, type: error.type, code: error.code || null },
    created_at: timeOf(createdAt),
    finished_at: finishedAt === undefined ? null : timeOf(finishedAt),
    charged: chargedCredits === undefined ? null : formatCredits(chargedCredits),
    is_deleted: generation.deleted,
    is_expired: generation.expired,
  };
}

function nameOf<Name extends string>(names: Readonly<Record<Name, number>>, value: number): Name {
  const found = (Object.keys(names) as Name[]).find((name) => names[name] === value);
  if (found === undefined) throw new Error(`media-generation has answered an unknown value ${value}`);
  return found;
}

function timeOf(unixMs: bigint): string {
  return new Date(Number(unixMs)).toISOString();
}
