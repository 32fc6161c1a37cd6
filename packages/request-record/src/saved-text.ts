// SavedText is the prompt and the answer of a text request, for keys that save them.
import { z } from "zod";

const time = () => z.string().meta({ format: "date-time" });

export const savedText = z.object({
  id: z.string().describe("x-request-id of the request"),
  object: z.literal("saved_text"),
  created_at: time(),
  expires_at: time().describe("the time of its deletion"),
  prompt: z.unknown().describe("body of the request as JSON; null if it was longer than 1 MiB"),
  prompt_bytes: z.int(),
  answer: z
    .unknown()
    .describe("answer as JSON, also of a stream; null without an answer, or if it was longer than 1 MiB"),
  answer_bytes: z.int().describe("0 without an answer"),
});
export type SavedTextRecord = z.infer<typeof savedText>;
