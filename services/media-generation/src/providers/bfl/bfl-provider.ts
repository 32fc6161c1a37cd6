// The Black Forest Labs adapter: each model has its own path, and a job produces one picture or video.
// Polling uses the address from the submission's answer, because only the job's own region has the job.
import { type PicoUsd, parseDecimal } from "@gr/money";
import { z } from "zod";
import { readDetail } from "../detail-message.ts";
import { base64, sortPictures, whiteMask } from "../input-picture.ts";
import { readJobFields } from "../job-fields.ts";
import type { JsonFields } from "../json-body.ts";
import type { Outbound, OutboundAnswer } from "../outbound.ts";
import { percentOf } from "../percent.ts";
import type {
  ImageJob,
  MediaJob,
  MediaProvider,
  Operation,
  Progress,
  ReportedUsage,
  VideoJob,
} from "../provider.ts";
import { ProviderError, type ProviderFailure } from "../provider-error.ts";
import { createProviderHttp } from "../provider-http.ts";

export const BFL = "bfl";

/** Regions change: api.eu.bfl.ai, api.us1.bfl.ai. The hosts that deliver results are not among them. */
const REGIONS = /^https:\/\/api(\.[a-z0-9-]+)?\.bfl\.ai$/;
const POLL_AFTER_MS = 500;
/** Decimal digits of a credit in units of 1e-12 USD. A credit is a cent. */
const CREDIT_SCALE = 10;

const submittedSchema = z.object({ polling_url: z.string().min(1), cost: z.number().nullish() });
const resultSchema = z.object({
  status: z.string(),
  /** Cost in credits, present when the job is done. */
  cost: z.number().nullish(),
  /** Progress, from 0 to 1. */
  progress: z.unknown().optional(),
  result: z.object({ sample: z.string().min(1) }).nullish(),
});

/** Field of the first input picture, if it is not `input_image`. Further pictures are numbered from 2. */
const PICTURE_FIELDS: Readonly<Record<string, string>> = {
  "flux-pro-1.0-fill": "image",
  "flux-pro-1.1": "image_prompt",
  "flux-pro-1.1-ultra": "image_prompt",
};

const TYPES = { image: "image/png", video: "video/mp4" } as const;

/** Final statuses without a result. Any other status but "Ready" means a running job. */
const ENDED: Readonly<Record<string, ProviderFailure>> = {
  "Request Moderated": "blocked",
  "Content Moderated": "blocked",
  Error: "failed",
  Failed: "failed",
  "Task not found": "failed",
};

export interface BflOptions {
  readonly apiKey: string;
  /** API address, up to and with the version: https://api.bfl.ai/v1 */
  readonly baseUrl: string;
  readonly outbound: Outbound;
}

export function createBflProvider({ apiKey: secret, baseUrl, outbound }: BflOptions): MediaProvider {
  const credentials = { "x-key": secret };
  const http = createProviderHttp({
    name: BFL,
    baseUrl,
    secret,
    credentials,
    moreOrigins: REGIONS,
    outbound,
    usageOf,
  });

  async function submit(job: MediaJob, json: JsonFields, signal: AbortSignal): Promise<Progress> {
    const headers = { "x-request-id": job.requestId };
    const request = { method: "POST", to: `/${job.model}`, headers, json } as const;
    const answer = await http.send("submit", request, signal);
    if (answer.status !== 200) throw http.failure("submit", answer, readDetail(answer)?.message);
    const submitted = submittedSchema.safeParse(answer.json());
    if (!submitted.success) throw unreadable();
    const { polling_url: poll, cost } = submitted.data;
    return pending({ poll, billed: billedOf(cost)?.toString() ?? null, type: TYPES[job.kind] });
  }

  async function poll(operation: Operation, signal: AbortSignal): Promise<Progress> {
    const answer = await http.send("follow", { method: "GET", to: String(operation["poll"]) }, signal);
    if (answer.status !== 200) throw http.failure("follow", answer, readDetail(answer)?.message);
    return progressOf(answer, operation);
  }

  return {
    name: BFL,
    kinds: {
      image: { mostAtOnce: 1, submit: async (job, signal) => submit(job, await pictureOf(job), signal) },
      video: { mostAtOnce: 1, submit: (job, signal) => submit(job, videoOf(job), signal) },
    },
    poll,
    cancel: async () => undefined,
  };
}

/** PNG loses nothing; the picture is encoded once, by us, in the format that the caller wants. */
async function pictureOf({ model, prompt, fields, inputs }: ImageJob): Promise<JsonFields> {
  const { size, others } = readJobFields(fields);
  const { images, mask } = sortPictures(inputs);
  const field = PICTURE_FIELDS[model] ?? "input_image";
  const pictures = images.map((image, index) => [
    index === 0 ? field : `${field}_${index + 1}`,
    base64(image),
  ]);
  return {
    prompt,
    ...(size === undefined ? {} : { width: size.width, height: size.height }),
    ...others,
    output_format: "png",
    ...Object.fromEntries(pictures),
    ...(mask === undefined ? {} : { mask: base64(await whiteMask(mask)) }),
  };
}

/** The first picture is the first frame, a second one the last. */
function videoOf({ prompt, fields, inputs }: VideoJob): JsonFields {
  const { seconds, audio, others } = readJobFields(fields);
  return {
    mode: inputs.length === 0 ? "t2v" : "i2v",
    prompt,
    ...(seconds === undefined ? {} : { duration: seconds }),
    ...(audio === undefined ? {} : { generate_audio: audio }),
    ...others,
    ...(inputs.length === 0 ? {} : { keyframes: inputs.map(base64) }),
  };
}

function progressOf(answer: OutboundAnswer, operation: Operation): Progress {
  const parsed = resultSchema.safeParse(answer.json());
  if (!parsed.success) throw unreadable();
  const { status, result, cost, progress } = parsed.data;
  const announced = operation["billed"];
  const billed = billedOf(cost) ?? (typeof announced === "string" ? BigInt(announced) : undefined);
  const usage: ReportedUsage | undefined = billed === undefined ? undefined : { billed };
  const kind = ENDED[status];
  // The submission announced a cost, which is no bill of a job with this end.
  if (kind !== undefined) {
    throw new ProviderError(kind, `bfl: ${status}`, { accepted: true, ...usedIn(answer.json()) });
  }
  if (status !== "Ready") return { ...pending(operation), percent: percentOf(progress, 1) };
  if (result == null) throw unreadable(usage);
  const artifacts = [{ url: result.sample, type: String(operation["type"] ?? TYPES.image) }];
  return { state: "succeeded", artifacts, ...(usage === undefined ? {} : { usage }) };
}

function usageOf(body: unknown): ReportedUsage | undefined {
  const billed = billedOf(z.object({ cost: z.number() }).safeParse(body).data?.cost);
  return billed === undefined ? undefined : { billed };
}

function usedIn(body: unknown): { usage?: ReportedUsage } {
  const usage = usageOf(body);
  return usage === undefined ? {} : { usage };
}

/** @returns undefined for a bill that is missing or invalid: the output is valid all the same */
function billedOf(credits: number | null | undefined): PicoUsd | undefined {
  const billed = credits == null ? undefined : parseDecimal(credits, CREDIT_SCALE, "up");
  return billed === undefined || billed < 0n ? undefined : billed;
}

const pending = (operation: Operation) =>
  ({ state: "pending", operation, pollAfterMs: POLL_AFTER_MS }) as const;

const unreadable = (usage?: ReportedUsage) =>
  new ProviderError("failed", "bfl: an answer of another shape", {
    accepted: true,
    ...(usage === undefined ? {} : { usage }),
  });
