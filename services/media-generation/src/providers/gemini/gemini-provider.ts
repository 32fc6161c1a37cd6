// The adapter of Google's Gemini API. Images use generateContent, which answers immediately.
// Videos use a background interaction, which is polled. Each job produces one picture or video.
import { base64 } from "../input-picture.ts";
import { readJobFields } from "../job-fields.ts";
import { createFileReader } from "../keyed-file.ts";
import type { Outbound } from "../outbound.ts";
import type { ImageJob, MediaProvider, Operation, Progress, VideoJob } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import { createProviderHttp } from "../provider-http.ts";
import { contentUsage, readContent } from "./read-content.ts";
import { readFailure } from "./read-failure.ts";
import { interactionUsage, readInteraction } from "./read-interaction.ts";

export const GEMINI = "gemini";
const MOST_AT_ONCE = 1;

export interface GeminiOptions {
  readonly apiKey: string;
  /** API address, up to and with the version: https://generativelanguage.googleapis.com/v1beta */
  readonly baseUrl: string;
  readonly outbound: Outbound;
}

export function createGeminiProvider({ apiKey, baseUrl, outbound }: GeminiOptions): MediaProvider {
  const credentials = { "x-goog-api-key": apiKey };
  const http = createProviderHttp({
    name: GEMINI,
    baseUrl,
    secret: apiKey,
    credentials,
    outbound,
    usageOf: (body) => contentUsage(body) ?? interactionUsage(body),
  });
  const readFile = createFileReader(http, outbound);

  async function submitImage(job: ImageJob, signal: AbortSignal): Promise<Progress> {
    const to = `/models/${encodeURIComponent(job.model)}:generateContent`;
    const headers = { "x-request-id": job.requestId };
    const answer = await http.send("submit", { method: "POST", to, headers, json: contentOf(job) }, signal);
    if (answer.status !== 200) throw readFailure("submit", answer, http);
    return readContent(answer);
  }

  async function submitVideo(job: VideoJob, signal: AbortSignal): Promise<Progress> {
    const headers = { "x-request-id": job.requestId };
    const request = { method: "POST", to: "/interactions", headers, json: interactionOf(job) } as const;
    const answer = await http.send("submit", request, signal);
    if (answer.status !== 200) throw readFailure("submit", answer, http);
    return readInteraction(answer, (uri) => readFile(contentAddress(uri), signal));
  }

  async function poll({ interaction }: Operation, signal: AbortSignal): Promise<Progress> {
    const to = `/interactions/${encodeURIComponent(String(interaction))}`;
    const answer = await http.send("follow", { method: "GET", to }, signal);
    if (answer.status !== 200) throw readFailure("follow", answer, http);
    return readInteraction(answer, (uri) => readFile(contentAddress(uri), signal));
  }

  return {
    name: GEMINI,
    kinds: {
      image: { mostAtOnce: MOST_AT_ONCE, submit: submitImage },
      video: { mostAtOnce: MOST_AT_ONCE, submit: submitVideo },
    },
    poll,
    cancel: async ({ interaction }, signal) => {
      const to = `/interactions/${encodeURIComponent(String(interaction))}/cancel`;
      await http.send("follow", { method: "POST", to }, signal);
    },
  };
}

/** The catalogue names shape and class of the picture as imageConfig does. */
function contentOf({ prompt, inputs, fields }: ImageJob): object {
  const pictures = inputs.map((picture) => ({
    inlineData: { mimeType: picture.type, data: base64(picture) },
  }));
  return {
    contents: [{ role: "user", parts: [{ text: prompt }, ...pictures] }],
    generationConfig: {
      responseModalities: ["IMAGE"],
      ...(Object.keys(fields).length === 0 ? {} : { imageConfig: fields }),
    },
  };
}

/** Videos always have sound, so no field requests it. */
function interactionOf({ model, prompt, inputs, fields }: VideoJob): object {
  const { seconds, others } = readJobFields(fields);
  const pictures = inputs.map((picture) => ({
    type: "image",
    data: base64(picture),
    mime_type: picture.type,
  }));
  return {
    model,
    input: [...pictures, { type: "text", text: prompt }],
    // A foreground interaction would not answer before the video is finished.
    background: true,
    response_format: {
      type: "video",
      delivery: "uri",
      ...others,
      // A bare number is refused.
      ...(seconds === undefined ? {} : { duration: `${seconds}s` }),
    },
  };
}

/** Without `alt` the file's address returns metadata instead of the file. */
function contentAddress(uri: string): string {
  const url = URL.parse(uri);
  if (url === null)
    throw new ProviderError("failed", "gemini: a file without an address", { accepted: true });
  if (!url.searchParams.has("alt")) url.searchParams.set("alt", "media");
  return url.href;
}
