// Reads OpenAI's answers to image requests. Schemas name only what we use, so that additions break nothing.
import { z } from "zod";
import { madePictures } from "../made-pictures.ts";
import type { OutboundAnswer } from "../outbound.ts";
import type { Artifact, ReportedUsage } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import type { ProviderHttp } from "../provider-http.ts";
import { readTokenUsage } from "../token-usage.ts";

const imagesSchema = z.object({
  data: z.array(z.object({ b64_json: z.string().min(1) })),
});

const errorSchema = z.object({
  error: z.object({ message: z.string().nullish(), code: z.string().nullish() }),
});

/** Codes with which OpenAI's moderation refuses a prompt or a picture. */
const BLOCKED = new Set(["moderation_blocked", "content_policy_violation"]);
/** A 429 with this code is about our account, not about the pace. */
const NO_QUOTA = "insufficient_quota";

export interface Images {
  readonly artifacts: readonly Artifact[];
  readonly usage?: ReportedUsage;
}

/** @throws ProviderError failed, when there is no picture, or more than were asked for */
export function readImages(answer: OutboundAnswer, wanted: number): Images {
  const body = answer.json();
  const usage = readTokenUsage(body);
  const images = imagesSchema.safeParse(body);
  const artifacts = madePictures("openai", images.data?.data, wanted, { usage }).map(({ b64_json }) => ({
    stream: [Buffer.from(b64_json, "base64")],
    type: "image/png",
  }));
  return { artifacts, ...(usage === undefined ? {} : { usage }) };
}

/** What an answer other than 200 means. */
export function readFailure(answer: OutboundAnswer, http: ProviderHttp): ProviderError {
  const parsed = errorSchema.safeParse(answer.json());
  const { message, code } = parsed.success ? parsed.data.error : {};
  if (code != null && BLOCKED.has(code)) {
    return new ProviderError("blocked", `openai: ${code}`, { accepted: false });
  }
  if (code === NO_QUOTA) {
    return new ProviderError("misconfigured", `openai: ${NO_QUOTA}`, { accepted: false });
  }
  return http.failure("submit", answer, message);
}
