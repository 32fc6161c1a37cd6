// Reads OpenAI's answers to image requests. The schemas name only the fields that we use, so additions break nothing.
import { z } from "zod";
import { decodedPieces } from "../../storage/base64-text.ts";
import type { Phase } from "../answer-failure.ts";
import { deliveredPictures } from "../delivered-pictures.ts";
import type { OutboundAnswer } from "../outbound.ts";
import type { Artifact, ReportedUsage } from "../provider.ts";
import type { ProviderError } from "../provider-error.ts";
import type { ProviderHttp } from "../provider-http.ts";
import { readTokenUsage } from "../token-usage.ts";

const imagesSchema = z.object({
  data: z.array(z.object({ b64_json: z.string().min(1) })),
});

const errorSchema = z.object({
  error: z.object({ message: z.string().nullish(), code: z.string().nullish(), type: z.string().nullish() }),
});

/** Codes with which OpenAI's moderation refuses a prompt or a picture. */
const BLOCKED = new Set(["moderation_blocked", "content_policy_violation"]);
/** Codes and types about our account. OpenAI also sends them with statuses of other meanings. */
const ACCOUNT: ReadonlySet<string> = new Set([
  "billing_hard_limit_reached",
  "billing_not_active",
  "credit_balance_exhausted",
  "insufficient_quota",
  "organization_spend_limit_exceeded",
  "organization_usage_limit_exceeded",
  "project_spend_limit_exceeded",
  "unsupported_country_region_territory",
]);

export interface Images {
  readonly artifacts: readonly Artifact[];
  readonly usage?: ReportedUsage;
}

/** @throws ProviderError failed, if there is no picture, or more than requested */
export function readImages(answer: OutboundAnswer, wanted: number): Images {
  const body = answer.json();
  const usage = readTokenUsage(body);
  const images = imagesSchema.safeParse(body);
  const artifacts = deliveredPictures("openai", images.data?.data, wanted, { usage }).map(({ b64_json }) => ({
    stream: decodedPieces(b64_json),
    type: "image/png",
  }));
  return { artifacts, ...(usage === undefined ? {} : { usage }) };
}

/** Maps an answer other than 200, or the error of a stream, to a ProviderError. */
export function readFailure(
  answer: Pick<OutboundAnswer, "status" | "header" | "json">,
  http: ProviderHttp,
  phase: Phase = "submit",
): ProviderError {
  const parsed = errorSchema.safeParse(answer.json());
  const { message, code, type } = parsed.success ? parsed.data.error : {};
  if (code != null && BLOCKED.has(code)) return http.failureAs("blocked", phase, answer, code);
  const account = [code, type].find((word) => word != null && ACCOUNT.has(word));
  if (account != null) return http.failureAs("misconfigured", phase, answer, account);
  if (phase === "follow") return http.failureAs("failed", phase, answer, "the stream ended with an error");
  return http.failure(phase, answer, message);
}
