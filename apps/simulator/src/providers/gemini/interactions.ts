// Google's interactions, as far as they generate videos in the background.
import { z } from "zod";
import type { MediaOrder } from "../../media/media-order.ts";
import type { JobState, JobView } from "../../media/media-room.ts";
import { sizeOfShape } from "../../media/ratio-size.ts";
import { readBody } from "../../media/read-body.ts";
import { Refusal, unknownModel } from "../../request/refusal.ts";
import { promptTokens } from "../../text/tokens.ts";
import { INPUT_PICTURE_TOKENS, VIDEO_MODELS, VIDEO_SHAPES } from "./models.ts";

const content = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string().min(1) }),
  z.strictObject({ type: z.literal("image"), data: z.base64(), mime_type: z.string() }),
]);
const bodySchema = z.strictObject({
  model: z.string(),
  input: z.union([
    z
      .string()
      .min(1)
      .transform((text) => [{ type: "text" as const, text }]),
    z.array(content).min(1),
  ]),
  background: z.literal(true, "the simulator makes videos in the background only"),
  response_format: z.strictObject({
    type: z.literal("video"),
    delivery: z.literal("uri").optional(),
    aspect_ratio: z.string().default("16:9"),
    resolution: z.literal("720p").default("720p"),
    duration: z
      .string()
      .regex(/^(?:[3-9]|10)s$/, 'must be "3s" to "10s"')
      .default("8s"),
  }),
});

/** @throws Refusal */
export function readInteraction(body: unknown, requestId: string): MediaOrder {
  const asked = readBody(bodySchema, body);
  const model = VIDEO_MODELS.get(asked.model);
  if (model === undefined) throw unknownModel(asked.model);
  const { aspect_ratio: ratio, duration } = asked.response_format;
  const size = sizeOfShape(VIDEO_SHAPES, ratio);
  if (size === undefined)
    throw new Refusal("invalid", `response_format.aspect_ratio: "${ratio}"`, "aspect_ratio");
  const prompt = asked.input.flatMap((each) => (each.type === "text" ? each.text : [])).join("\n");
  const inputs = asked.input.flatMap((each) =>
    each.type === "image" ? [Buffer.from(each.data, "base64")] : [],
  );
  const seconds = Number.parseInt(duration, 10);
  const inputTokens = promptTokens(prompt) + inputs.length * INPUT_PICTURE_TOKENS;
  const outputTokens = seconds * model.tokensPerSecond;
  const picoUsd = BigInt(inputTokens) * model.input + BigInt(outputTokens) * model.media;
  return {
    model: asked.model,
    requestId,
    prompt,
    size,
    wanted: { kind: "video", seconds },
    inputs,
    bill: () => ({ picoUsd, inputTokens, outputTokens }),
  };
}

/** A refused interaction is completed, like a successful one. */
const STATUS: Readonly<Record<JobState, string>> = {
  queued: "queued",
  running: "in_progress",
  done: "completed",
  failed: "failed",
  blocked: "completed",
  cancelled: "cancelled",
};

export function interactionView(
  { id, state, order, files, billed }: JobView,
  linkOf: (name: string) => string,
): object {
  const output =
    state === "blocked"
      ? [{ type: "text", text: "I cannot make this video." }]
      : files.map(({ name, type }) => ({ type: "video", uri: linkOf(name), mime_type: type }));
  const head = { id, object: "interaction", model: order.model, status: STATUS[state] };
  if (STATUS[state] !== "completed") return head;
  const { inputTokens = 0, outputTokens = 0 } = billed ?? {};
  const textTokens = promptTokens(order.prompt);
  return {
    ...head,
    role: "model",
    steps: [
      { type: "user_input", content: [{ type: "text", text: order.prompt }] },
      { type: "model_output", content: output },
    ],
    usage: {
      total_tokens: inputTokens + outputTokens,
      total_input_tokens: inputTokens,
      input_tokens_by_modality: [
        { modality: "text", tokens: Math.min(textTokens, inputTokens) },
        { modality: "image", tokens: Math.max(inputTokens - textTokens, 0) },
      ],
      total_output_tokens: outputTokens,
      output_tokens_by_modality: [{ modality: "video", tokens: outputTokens }],
      total_thought_tokens: 0,
    },
  };
}
