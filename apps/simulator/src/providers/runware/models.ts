// Runware's models, with their fields beyond the common ones and their prices. No source has Runware's own prices,
// so a task costs the list price of the model's vendor.
import { z } from "zod";
import { byArea, byLevel, byPixels, bySecond, each, type PriceRule } from "../../media/price-rules.ts";

const edge = z.int().min(64).max(16_384).optional();
const uri = z.string().min(1);
const inputs = z.strictObject({
  referenceImages: z.array(uri).min(1).optional(),
  seedImage: uri.optional(),
  maskImage: uri.optional(),
  frameImages: z
    .array(z.strictObject({ image: uri, frame: z.enum(["first", "last"]) }))
    .min(1)
    .max(2)
    .optional(),
});

/** Fields of any model. Each model refuses fields that it does not support. */
export const taskSchema = z.strictObject({
  taskType: z.enum(["imageInference", "videoInference"]),
  taskUUID: z.uuidv4(),
  model: z.string(),
  positivePrompt: z.string().min(1),
  numberResults: z.int().min(1).max(20).optional(),
  outputType: z.literal("URL").optional(),
  outputFormat: z.enum(["JPG", "PNG", "WEBP", "MP4"]).optional(),
  includeCost: z.boolean().optional(),
  /** The only delivery that is simulated. */
  deliveryMethod: z.literal("async"),
  width: edge,
  height: edge,
  duration: z.int().min(1).max(60).optional(),
  inputs: inputs.optional(),
  providerSettings: z
    .strictObject({ openai: z.strictObject({ quality: z.enum(["low", "medium", "high"]) }) })
    .optional(),
});
export type RunwareTask = z.infer<typeof taskSchema>;

type Optional = "size" | "duration" | "providerSettings" | keyof z.infer<typeof inputs>;

export interface RunwareModel {
  readonly kind: "image" | "video";
  readonly accepts: ReadonlySet<Optional>;
  readonly price: PriceRule;
}

const image = (price: PriceRule, ...accepts: readonly Optional[]): RunwareModel => ({
  kind: "image",
  accepts: new Set(accepts),
  price,
});
const video = (price: PriceRule): RunwareModel => ({
  kind: "video",
  accepts: new Set(["size", "duration", "frameImages"]),
  price,
});

const [HALF_K, ONE_K, TWO_K] = [524_288, 2_097_152, 8_388_608];
const [FULL_HD, QUAD_HD] = [1_920 * 1_080, 2_560 * 1_440];
const LARGEST = Number.MAX_SAFE_INTEGER;

export const RUNWARE_MODELS: ReadonlyMap<string, RunwareModel> = new Map([
  ["alibaba:qwen-image@2.0", image(each("0.035"), "size", "referenceImages")],
  ["alibaba:qwen-image@2.0-pro", image(each("0.075"), "size", "referenceImages")],
  ["bfl:1@2", image(each("0.05"), "seedImage", "maskImage")],
  ["bfl:2@1", image(each("0.04"), "size")],
  ["bfl:2@2", image(each("0.06"), "size")],
  ["bfl:3@1", image(each("0.04"), "size", "referenceImages")],
  ["bfl:4@1", image(each("0.08"), "size", "referenceImages")],
  ["bfl:5@1", image(byArea("0.03", "0.015"), "size")],
  ["bfl:6@1", image(byArea("0.05", "0.05"), "size")],
  ["bfl:7@1", image(byArea("0.07", "0.03"), "size")],
  ["bytedance:5@0", image(each("0.03"), "size", "referenceImages")],
  ["bytedance:seedream@4.5", image(each("0.04"), "size", "referenceImages")],
  ["bytedance:seedream@5.0-lite", image(each("0.035"), "size", "referenceImages")],
  ["google:4@2", image(byPixels([TWO_K, "0.134"], [LARGEST, "0.24"]), "size", "referenceImages")],
  [
    "google:4@3",
    image(
      byPixels([HALF_K, "0.045"], [ONE_K, "0.067"], [TWO_K, "0.101"], [LARGEST, "0.151"]),
      "size",
      "referenceImages",
    ),
  ],
  ["lightricks:ltx@2.3", video(bySecond(byPixels([FULL_HD, "0.08"], [QUAD_HD, "0.16"], [LARGEST, "0.32"])))],
  [
    "lightricks:ltx@2.3-fast",
    video(bySecond(byPixels([FULL_HD, "0.06"], [QUAD_HD, "0.12"], [LARGEST, "0.24"]))),
  ],
  [
    "openai:gpt-image@2",
    image(
      byLevel({ low: "0.005", medium: "0.041", high: "0.165" }),
      "size",
      "referenceImages",
      "providerSettings",
    ),
  ],
  ["runware:100@1", image(each("0.003"), "size")],
  ["runware:101@1", image(each("0.025"), "size")],
  ["runware:400@1", image(byArea("0.0154", "0.014"), "size")],
  ["runware:400@2", image(byArea("0.015", "0.002"), "size")],
  ["runware:400@4", image(byArea("0.014", "0.001"), "size")],
]);

/** Returns the first field that the model does not support, by Runware's name. */
export function unsupportedField({ accepts, kind }: RunwareModel, task: RunwareTask): string | undefined {
  if (task.taskType !== `${kind}Inference`) return "taskType";
  const isAccepted = (name: Optional) => accepts.has(name);
  if ((task.width ?? task.height) !== undefined && !isAccepted("size")) return "width";
  if (task.duration !== undefined && !isAccepted("duration")) return "duration";
  if (task.providerSettings !== undefined && !isAccepted("providerSettings")) return "providerSettings";
  return inputs.keyof().options.find((name) => task.inputs?.[name] !== undefined && !isAccepted(name));
}
