// The Replicate adapter: a prediction produces one picture or video and is polled by its id.
// Replicate describes a failure in words. The adapter relies only on the codes within those words.
import { z } from "zod";
import type { Phase } from "../answer-failure.ts";
import { readDetail } from "../detail-message.ts";
import type { Outbound, OutboundAnswer } from "../outbound.ts";
import type { MediaJob, MediaProvider, Operation, Progress } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import { createProviderHttp, type ProviderHttp } from "../provider-http.ts";
import { inputOf } from "./replicate-request.ts";

export const REPLICATE = "replicate";
const POLL_AFTER_MS = 500;

const link = z.string().min(1);
const predictionSchema = z.object({
  id: z.string().min(1),
  status: z.string(),
  error: z.unknown().optional(),
  /** A link, a list of links, or another value, by model. */
  output: z.unknown().optional(),
});
const outputSchema = z.union([link.transform((one) => [one]), z.array(link)]);

/** Final statuses without a result. Any other status but "succeeded" means a running prediction. */
const ENDED = new Set(["failed", "canceled", "aborted"]);
/** Messages of Replicate's models for a refused input or output. */
const FLAGGED = /\(E005\)|\bNSFW content detected\b/;
const pauseSchema = z.object({ retry_after: z.number().positive() });
/** Ids have letters and digits only. Other characters could change the path. */
const ID = /^[A-Za-z0-9_-]+$/;

export interface ReplicateOptions {
  readonly apiKey: string;
  /** API address, up to and with the version: https://api.replicate.com/v1 */
  readonly baseUrl: string;
  readonly outbound: Outbound;
}

export function createReplicateProvider(options: ReplicateOptions): MediaProvider {
  const { apiKey: secret, baseUrl, outbound } = options;
  const credentials = { authorization: `Bearer ${secret}` };
  const http = createProviderHttp({ name: REPLICATE, baseUrl, secret, credentials, outbound });

  async function submit(job: MediaJob, signal: AbortSignal): Promise<Progress> {
    const input = await inputOf(job);
    // A model with a version is requested by version. A model without is one of Replicate's official models.
    const [name = "", version] = job.model.split(":");
    const to = version === undefined ? `/models/${name}/predictions` : "/predictions";
    const json = version === undefined ? { input } : { version, input };
    const headers = { "x-request-id": job.requestId };
    const answer = await http.send("submit", { method: "POST", to, headers, json }, signal);
    if (answer.status !== 200 && answer.status !== 201 && answer.status !== 202) {
      throw failureOf("submit", answer, http);
    }
    return progressOf(answer, job.kind);
  }

  async function poll({ id, kind }: Operation, signal: AbortSignal): Promise<Progress> {
    const answer = await http.send("follow", { method: "GET", to: `/predictions/${id}` }, signal);
    if (answer.status !== 200) throw failureOf("follow", answer, http);
    return progressOf(answer, kind === "video" ? "video" : "image");
  }

  return {
    name: REPLICATE,
    kinds: { image: { mostAtOnce: 1, submit }, video: { mostAtOnce: 1, submit } },
    poll,
    cancel: async ({ id }, signal) => {
      await http.send("follow", { method: "POST", to: `/predictions/${id}/cancel` }, signal);
    },
  };
}

/** Seconds to wait are in the body of a 429. */
function failureOf(phase: Phase, answer: OutboundAnswer, http: ProviderHttp): ProviderError {
  const seconds = pauseSchema.safeParse(answer.json()).data?.retry_after;
  const retryAfterMs = seconds === undefined ? undefined : Math.ceil(seconds * 1_000);
  return http.failure(phase, answer, readDetail(answer)?.message, retryAfterMs);
}

/** @throws ProviderError */
function progressOf(answer: OutboundAnswer, kind: MediaJob["kind"]): Progress {
  const parsed = predictionSchema.safeParse(answer.json());
  if (!parsed.success || !ID.test(parsed.data.id)) throw failed("an answer of another shape");
  const { id, status, error, output } = parsed.data;
  if (ENDED.has(status)) {
    if (FLAGGED.test(String(error))) {
      throw new ProviderError("blocked", "replicate: flagged", { accepted: true });
    }
    throw failed(`the prediction ${status}`);
  }
  if (status !== "succeeded") {
    return { state: "pending", operation: { id, kind }, pollAfterMs: POLL_AFTER_MS };
  }
  const links = outputSchema.safeParse(output);
  // Some models answer an empty list for a flagged output, others for a failure.
  if (!links.success || links.data.length !== 1) throw failed("not one file as its output");
  const type = kind === "video" ? "video/mp4" : "image/png";
  return { state: "succeeded", artifacts: links.data.map((url) => ({ url, type })) };
}

const failed = (what: string) => new ProviderError("failed", `replicate: ${what}`, { accepted: true });
