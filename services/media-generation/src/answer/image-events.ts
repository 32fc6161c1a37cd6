// ImageEvents are the events of an image request with `stream`, in OpenAI's format: partial images, and one final event for
// each picture. Final events are sent after the charge. Like the plain answer they depend on the row and the files alone.
import { z } from "zod";
import type { CountedTokens, MediaOrder } from "../generation/generation.ts";
import { type AnswerFile, base64Length, base64Of, memoryFile } from "./answer-files.ts";
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

/** Fields that all events have, besides their picture. */
interface EventFields {
  /** Unix seconds. */
  readonly created_at: number;
  readonly size: string;
  readonly quality: string;
  readonly background: "auto";
  readonly output_format: string;
}

interface PartialEvent extends EventFields {
  readonly type: `${ImageEventName}.partial_image`;
  /** From 0. */
  readonly partial_image_index: number;
}

interface FinalEvent extends EventFields {
  readonly type: `${ImageEventName}.completed`;
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
        "With stream: true. With partial_images, a model that sends them, and n = 1, the stream begins with events " +
          "`image_generation.partial_image`, each with `partial_image_index`; a failure after them is an event `error`. " +
          "Each image is an event `image_generation.completed`, at the path of edits `image_edit.completed`. " +
          "Its `data:` is JSON with `type`, `b64_json`, `created_at`, `size`, `quality`, `background`, `output_format` and " +
          "`usage`, and with `url` if the response_format is url. `usage` has `cost`, the USD charged, and tokens as the " +
          "provider counted them, else 0. The last event has the usage of the whole request, the others have zeros. The " +
          "final events are sent after the charge; until the first event an error is an answer with its own status.",
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
    const event: FinalEvent = {
      type: `${name}.completed`,
      ...fieldsOf(request, created),
      ...(output === undefined ? {} : { url: mediaUrl(publicBaseUrl, output) }),
      usage: { ...usageOf(isLast ? finished.tokens : undefined), cost: isLast ? cost : 0 },
    };
    return textOf(event, file);
  });
  return {
    type: "text/event-stream",
    length: events.reduce((sum, { length }) => sum + length, 0),
    pieces: async function* () {
      for (const event of events) yield* event.pieces();
    },
  };
}

/** @param index from 0. @param picture in the format of the order. @param now Unix milliseconds */
export function partialEvent(
  name: ImageEventName,
  { request }: Pick<MediaOrder, "request">,
  index: number,
  picture: Buffer,
  now: number,
): Pick<MediaAnswerText, "pieces"> {
  const event: PartialEvent = {
    type: `${name}.partial_image`,
    ...fieldsOf(request, Math.floor(now / 1_000)),
    partial_image_index: index,
  };
  return textOf(event, memoryFile(picture));
}

function fieldsOf(request: MediaOrder["request"], createdAt: number): EventFields {
  return {
    created_at: createdAt,
    size: request.size ?? "auto",
    quality: request.quality ?? "auto",
    background: "auto",
    output_format: request.output_format,
  };
}

/** Returns the text of an event with its picture. */
function textOf(
  event: PartialEvent | FinalEvent,
  file: AnswerFile,
): Pick<MediaAnswerText, "length" | "pieces"> {
  const opening = `event: ${event.type}\ndata: ${JSON.stringify(event).slice(0, -1)},"b64_json":"`;
  const closing = '"}\n\n';
  return {
    length: Buffer.byteLength(opening) + base64Length(file.size) + closing.length,
    pieces: async function* () {
      yield opening;
      yield* base64Of(file);
      yield closing;
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
