// ImageEvents are the answer to an image request with `stream`, in OpenAI's format: one final event for each picture.
// The events are sent after the charge, and like the plain answer they depend on the row and the files alone.
import { z } from "zod";
import type { CountedTokens, MediaOrder } from "../generation/generation.ts";
import { type AnswerFile, base64Length, base64Of } from "./answer-files.ts";
import { answerWith, type Finished, type MediaAnswerText, mediaUrl } from "./media-answer.ts";

/** First words of the names of the events. */
export type ImageEventName = "image_generation" | "image_edit";

const NO_TOKENS: CountedTokens = { input: 0, output: 0, image_input: 0 };

interface EventUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly input_tokens_details: { readonly text_tokens: number; readonly image_tokens: number };
  /** USD charged. */
  readonly cost: number;
}

/** An event without its picture. */
interface ImageEvent {
  readonly type: `${ImageEventName}.completed`;
  /** Unix seconds. */
  readonly created_at: number;
  readonly size: string;
  readonly quality: string;
  readonly background: "auto";
  readonly output_format: string;
  /** Present if the response_format is url. */
  readonly url?: string;
  /** Usage of the whole request in the last event, zeros in the others. */
  readonly usage: EventUsage;
}

/** The answer to `stream: true` by its content type, for the API description. */
export const DESCRIBED_EVENTS = {
  "text/event-stream": {
    schema: z
      .string()
      .describe(
        "With stream: true. Each image is an event `image_generation.completed`, at the path of edits `image_edit.completed`. " +
          "Its `data:` is JSON with `type`, `b64_json`, `created_at`, `size`, `quality`, `background`, `output_format` and " +
          "`usage`, and with `url` if the response_format is url. `usage` has `cost`, the USD charged, and tokens as the " +
          "provider counted them, else 0. The last event has the usage of the whole request, the others have zeros. The " +
          "events are sent after the charge; until then an error is an answer with its own status.",
      ),
    example: `event: image_generation.completed\ndata: ${JSON.stringify({
      type: "image_generation.completed",
      created_at: 1_767_225_600,
      size: "1024x1024",
      quality: "low",
      background: "auto",
      output_format: "webp",
      usage: { ...usageOf({ input: 9, output: 196, image_input: 0 }), cost: 0.0059 },
      b64_json: "UklGRg==",
    })}\n\n`,
  },
} as const;

/** @param files one for each picture. @param publicBaseUrl the gateway's address for clients */
export function imageEvents(
  name: ImageEventName,
  order: Pick<MediaOrder, "request" | "createdAt">,
  finished: Finished,
  files: readonly AnswerFile[],
  publicBaseUrl: string,
): MediaAnswerText {
  const { request } = order;
  const { created, cost } = answerWith([], order, finished);
  const events = files.map((file, index) => {
    const isLast = index === files.length - 1;
    const output = request.response_format === "url" ? finished.outputs[index] : undefined;
    const event: ImageEvent = {
      type: `${name}.completed`,
      created_at: created,
      size: request.size ?? "auto",
      quality: request.quality ?? "auto",
      background: "auto",
      output_format: request.output_format,
      ...(output === undefined ? {} : { url: mediaUrl(publicBaseUrl, output) }),
      usage: { ...usageOf(isLast ? finished.tokens : undefined), cost: isLast ? cost : 0 },
    };
    const opening = `event: ${event.type}\ndata: ${JSON.stringify(event).slice(0, -1)},"b64_json":"`;
    return { opening, file, closing: '"}\n\n' };
  });
  return {
    type: "text/event-stream",
    length: events.reduce(
      (sum, { opening, file, closing }) =>
        sum + Buffer.byteLength(opening) + base64Length(file.size) + closing.length,
      0,
    ),
    pieces: async function* () {
      for (const { opening, file, closing } of events) {
        yield opening;
        yield* base64Of(file);
        yield closing;
      }
    },
  };
}

function usageOf(tokens: CountedTokens | undefined): Omit<EventUsage, "cost"> {
  const { input, output, image_input: images } = tokens ?? NO_TOKENS;
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { text_tokens: Math.max(0, input - images), image_tokens: images },
  };
}
