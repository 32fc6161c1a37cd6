// The account's log of images and videos, as the media-generation service keeps it.
import type { GenerationRecord } from "@gr/console-api";
import { formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { type Generation, GenerationKind, GenerationStatus } from "@gr/proto/media";
import { accountOf, type Handlers } from "./console-call.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { DAY_MS, startOfDay } from "./days.ts";
import { invalidAfter, pageLimit } from "./pages.ts";
import { spenderIdOf, spenderOf } from "./spenders.ts";

const KINDS = { image: GenerationKind.IMAGE, video: GenerationKind.VIDEO } as const;
const STATUSES = {
  running: GenerationStatus.RUNNING,
  succeeded: GenerationStatus.SUCCEEDED,
  failed: GenerationStatus.FAILED,
  blocked: GenerationStatus.BLOCKED,
  cancelled: GenerationStatus.CANCELLED,
} as const;

export function generationRoutes({ media }: ConsoleDeps): Handlers<"listGenerations"> {
  return {
    listGenerations: async (call) => {
      const accountId = accountOf(call);
      const { kind, status, model, key_id: keyId, from, to, after } = call.query;
      const found = await media
        .listGenerations({
          accountId,
          limit: pageLimit(call.query),
          ...(kind === undefined ? {} : { kind: KINDS[kind] }),
          ...(status === undefined ? {} : { status: STATUSES[status] }),
          ...(model === undefined ? {} : { model }),
          ...(keyId === undefined ? {} : { keyId: spenderOf(keyId, accountId) }),
          // The service takes the moments outside of the days.
          ...(from === undefined ? {} : { createdAfter: BigInt(startOfDay("from", from) - 1) }),
          ...(to === undefined ? {} : { createdBefore: BigInt(startOfDay("to", to) + DAY_MS) }),
          ...(after === undefined ? {} : { after }),
        })
        .catch((error: unknown) => {
          throw error instanceof ServiceError && error.param === "after" ? invalidAfter() : error;
        });
      const data = found.generations.map((generation) => recordOf(generation, accountId));
      return { data, next: found.hasMore ? (data.at(-1)?.id ?? null) : null };
    },
  };
}

function recordOf(generation: Generation, accountId: string): GenerationRecord {
  const { id, keyId, model, parameters, urls, error, createdAt, finishedAt, chargedCredits, deleted } =
    generation;
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
    urls,
    error:
      error === undefined ? null : { message: error.message, type: error.type, code: error.code || null },
    created_at: timeOf(createdAt),
    finished_at: finishedAt === undefined ? null : timeOf(finishedAt),
    charged: chargedCredits === undefined ? null : formatCredits(chargedCredits),
    is_deleted: deleted,
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
