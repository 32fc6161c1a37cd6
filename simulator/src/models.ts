// The models that the simulator serves, with their prices and the fault each one stands for.
import { GPT_IMAGE_2_5_GRID, type ImageGrid } from "./openai/image-size.ts";
import {
  CHAT_PRICE,
  FREE_IMAGE_PRICE,
  GPT_IMAGE_1_5_PRICE,
  GPT_IMAGE_1_MINI_PRICE,
  GPT_IMAGE_2_PRICE,
  type ImagePrice,
  SANDBOX_IMAGE_PRICE,
  type TokenPrice,
  VISION_PRICE,
} from "./prices.ts";

/** What a fault model does instead of answering. README.md says what each is billed. */
export type TextFault = "error" | "hang" | "reset" | "no-usage";
export type ImageFault = "error" | "blocked" | "hang";

export interface TextModel {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly price: TokenPrice;
  readonly vision: boolean;
  readonly fault: TextFault | undefined;
}

export interface ImageModel {
  readonly id: string;
  readonly price: ImagePrice;
  readonly fault: ImageFault | undefined;
  /** How fine an image is made by quality, where that is not as in gpt-image-2. */
  readonly grid?: ImageGrid;
}

/** No answer has more tokens than this, whatever the caller asks for. */
export const MOST_OUTPUT_TOKENS = 16_000;
/** Reported, not enforced: large inputs are wanted in load tests. */
export const CONTEXT_TOKENS = 1_048_576;
/** 2026-01-01, the `created` of every model. */
export const MODELS_CREATED = 1_767_225_600;

function faultModel(fault: TextFault, name: string, description: string): TextModel {
  return { id: `sandbox/chat-${fault}`, name, description, price: CHAT_PRICE, vision: false, fault };
}

const TEXT: readonly TextModel[] = [
  {
    id: "sandbox/chat",
    name: "Sandbox: Chat",
    description: "Answers at once with a short friendly text that quotes your message.",
    price: CHAT_PRICE,
    vision: false,
    fault: undefined,
  },
  {
    id: "sandbox/chat-vision",
    name: "Sandbox: Chat with Vision",
    description: "Like Sandbox: Chat, and takes images too.",
    price: VISION_PRICE,
    vision: true,
    fault: undefined,
  },
  faultModel("error", "Sandbox: Chat (error)", "Fails with HTTP 500 before the first byte."),
  faultModel("hang", "Sandbox: Chat (hang)", "Takes the request and never answers."),
  faultModel("reset", "Sandbox: Chat (reset)", "Breaks the connection after a few tokens."),
  faultModel("no-usage", "Sandbox: Chat (no usage)", "Answers without saying what it used."),
];

const IMAGES: readonly ImageModel[] = [
  { id: "sandbox/image", price: SANDBOX_IMAGE_PRICE, fault: undefined },
  { id: "sandbox/image-free", price: FREE_IMAGE_PRICE, fault: undefined },
  { id: "sandbox/image-error", price: SANDBOX_IMAGE_PRICE, fault: "error" },
  { id: "sandbox/image-blocked", price: SANDBOX_IMAGE_PRICE, fault: "blocked" },
  { id: "sandbox/image-hang", price: SANDBOX_IMAGE_PRICE, fault: "hang" },
  { id: "gpt-image-2", price: GPT_IMAGE_2_PRICE, fault: undefined },
  ...["flare", "sunburst"].flatMap((name) => [
    { id: `gpt-image-2.5-${name}`, price: GPT_IMAGE_2_PRICE, fault: undefined, grid: GPT_IMAGE_2_5_GRID },
    { id: `gpt-image-2.6-${name}`, price: GPT_IMAGE_2_PRICE, fault: undefined, grid: GPT_IMAGE_2_5_GRID },
  ]),
  { id: "gpt-image-1.5", price: GPT_IMAGE_1_5_PRICE, fault: undefined },
  { id: "gpt-image-1-mini", price: GPT_IMAGE_1_MINI_PRICE, fault: undefined },
];

export const TEXT_MODELS: ReadonlyMap<string, TextModel> = new Map(TEXT.map((model) => [model.id, model]));
export const IMAGE_MODELS: ReadonlyMap<string, ImageModel> = new Map(
  IMAGES.map((model) => [model.id, model]),
);
