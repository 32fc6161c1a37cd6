// The fal adapter: a queued job produces one picture or video. Polling uses the addresses from the
// submission's answer, because they omit the last part of the model's name. A "COMPLETED" job may have
// failed: only its result shows that.
import { z } from "zod";
import { readDetail } from "../detail-message.ts";
import type { Outbound, OutboundAnswer } from "../outbound.ts";
import type { Artifact, MediaJob, MediaProvider, Operation, Progress } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import { createProviderHttp, type ProviderHttp } from "../provider-http.ts";
import { readTokenUsage } from "../token-usage.ts";
import { requestOf } from "./fal-request.ts";

export const FAL = "fal";
const POLL_AFTER_MS = 500;
const POLICY = "content_policy_violation";

const address = z.string().min(1);
const submittedSchema = z.object({ status_url: address, response_url: address, cancel_url: address });
const statusSchema = z.object({ status: z.string(), error_type: z.string().nullish() });
const file = z.object({ url: z.string().min(1), content_type: z.string().nullish() });
const resultSchema = z.object({
  images: z.array(file).nullish(),
  video: file.nullish(),
  has_nsfw_concepts: z.array(z.boolean()).nullish(),
});

export interface FalOptions {
  readonly apiKey: string;
  /** Address of the queue: https://queue.fal.run */
  readonly baseUrl: string;
  readonly outbound: Outbound;
}

export function createFalProvider({ apiKey: secret, baseUrl, outbound }: FalOptions): MediaProvider {
  const credentials = { authorization: `Key ${secret}` };
  const http = createProviderHttp({
    name: FAL,
    baseUrl,
    secret,
    credentials,
    outbound,
    usageOf: readTokenUsage,
  });

  async function submit(job: MediaJob, signal: AbortSignal): Promise<Progress> {
    const { path, body } = requestOf(job);
    // fal must not retry a failed job: the retry would cost time and perhaps a second charge.
    const headers = { "x-request-id": job.requestId, "x-fal-no-retry": "1" };
    const answer = await http.send("submit", { method: "POST", to: `/${path}`, headers, json: body }, signal);
    if (answer.status !== 200) throw failureOf(answer, http, "submit");
    const submitted = submittedSchema.safeParse(answer.json());
    if (!submitted.success) throw failed("an answer of another shape");
    const { status_url: status, response_url: response, cancel_url: cancel } = submitted.data;
    return pending({ status, response, cancel });
  }

  async function poll(operation: Operation, signal: AbortSignal): Promise<Progress> {
    const get = (to: unknown) => http.send("follow", { method: "GET", to: String(to) }, signal);
    const answer = await get(operation["status"]);
    if (answer.status !== 200 && answer.status !== 202) throw failureOf(answer, http, "follow");
    const now = statusSchema.safeParse(answer.json());
    if (!now.success) throw failed("an answer of another shape");
    if (now.data.status !== "COMPLETED") return pending(operation);
    if (now.data.error_type === POLICY) throw http.failureAs("blocked", "follow", answer, POLICY);
    const result = await get(operation["response"]);
    if (result.status !== 200) throw endOf(result, now.data.error_type, http);
    // Models with a price per token report their usage.
    const usage = readTokenUsage(result.json());
    return { state: "succeeded", artifacts: artifactsOf(result), ...(usage === undefined ? {} : { usage }) };
  }

  return {
    name: FAL,
    kinds: { image: { mostAtOnce: 1, submit }, video: { mostAtOnce: 1, submit } },
    poll,
    cancel: async ({ cancel }, signal) => {
      await http.send("follow", { method: "PUT", to: String(cancel) }, signal);
    },
  };
}

/** @throws ProviderError */
function artifactsOf(answer: OutboundAnswer): readonly Artifact[] {
  const result = resultSchema.safeParse(answer.json());
  if (!result.success) throw failed("a result of another shape");
  const { images, video, has_nsfw_concepts: flagged } = result.data;
  // The picture is there all the same, and black.
  if (flagged?.includes(true)) {
    throw new ProviderError("blocked", "fal: has_nsfw_concepts", { accepted: true });
  }
  const files = video == null ? (images ?? []) : [video];
  if (files.length !== 1) throw failed(`${files.length} files instead of 1`);
  const usual = video == null ? "image/png" : "video/mp4";
  return files.map(({ url, content_type }) => ({ url, type: content_type ?? usual }));
}

function failureOf(answer: OutboundAnswer, http: ProviderHttp, phase: "submit" | "follow"): ProviderError {
  const detail = readDetail(answer);
  if (detail?.types.includes(POLICY)) return http.failureAs("blocked", phase, answer, POLICY);
  return http.failure(phase, answer, detail?.message);
}

/**
 * Returns the failure of a completed job without a result. A server error with a type is the job's end and is not
 * billed. A server error without a type is no evidence about the job.
 */
function endOf(
  answer: OutboundAnswer,
  reported: string | null | undefined,
  http: ProviderHttp,
): ProviderError {
  const type = reported ?? answer.header("x-fal-error-type") ?? errorTypeOf(answer);
  if (answer.status < 500 || type === undefined) return failureOf(answer, http, "follow");
  return new ProviderError("failed", `fal: the job ended with ${answer.status} ${type.slice(0, 40)}`, {
    accepted: true,
    usage: { billed: 0n },
  });
}

function errorTypeOf(answer: OutboundAnswer): string | undefined {
  const body = z.object({ error_type: z.string() }).safeParse(answer.json());
  return body.success ? body.data.error_type : undefined;
}

const pending = (operation: Operation): Progress => ({
  state: "pending",
  operation,
  pollAfterMs: POLL_AFTER_MS,
});

const failed = (what: string) => new ProviderError("failed", `fal: ${what}`, { accepted: true });
