// The models that the simulator serves, with their prices and faults.

import {
  CHAT_PRICE,
  FREE_IMAGE_PRICE,
  GPT_IMAGE_1_5_PRICE,
  GPT_IMAGE_1_MINI_PRICE,
  GPT_IMAGE_2_PRICE,
  type ImagePrice,
  SANDBOX_EDIT_PRICE,
  SANDBOX_IMAGE_PRICE,
  type TokenPrice,
  VISION_PRICE,
} from "../bill/prices.ts";
import { type CountTokens, gptImage1Tokens, gptImage2Tokens, gptImage25Tokens } from "../media/image-size.ts";

/** Fault of a model instead of an answer. README.md lists their bills. */
export type TextFault = "error" | "hang" | "reset" | "no-usage";
export type ImageFault = "error" | "blocked" | "hang";

export interface TextModel {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly price: TokenPrice;
  readonly vision: boolean;
  readonly fault: TextFault | undefined;
  /** Long inputs and cache writes have rates of their own. */
  readonly tiered?: boolean;
}

export interface ImageModel {
  readonly id: string;
  readonly price: ImagePrice;
  readonly fault: ImageFault | undefined;
  readonly tokensOf: CountTokens;
  /** True if it accepts input pictures. */
  readonly edits: boolean;
}

/** Largest number of tokens of an answer, regardless of the client's limit. */
export const MOST_OUTPUT_TOKENS = 16_000;
/** Reported, not enforced: load tests need large inputs. */
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

function sandboxImage(name: string, price: ImagePrice, fault?: ImageFault): ImageModel {
  const edits = name === "image-edit";
  return { id: `sandbox/${name}`, price, fault, edits, tokensOf: gptImage2Tokens };
}

function gptImage(name: string, price: ImagePrice, tokensOf: CountTokens): ImageModel {
  return { id: `gpt-image-${name}`, price, fault: undefined, edits: true, tokensOf };
}

const IMAGES: readonly ImageModel[] = [
  sandboxImage("image", SANDBOX_IMAGE_PRICE),
  sandboxImage("image-edit", SANDBOX_EDIT_PRICE),
  sandboxImage("image-free", FREE_IMAGE_PRICE),
  sandboxImage("image-error", SANDBOX_IMAGE_PRICE, "error"),
  sandboxImage("image-blocked", SANDBOX_IMAGE_PRICE, "blocked"),
  sandboxImage("image-hang", SANDBOX_IMAGE_PRICE, "hang"),
  gptImage("2", GPT_IMAGE_2_PRICE, gptImage2Tokens),
  ...["2.5-flare", "2.5-sunburst", "2.6-flare", "2.6-sunburst"].map((name) =>
    gptImage(name, GPT_IMAGE_2_PRICE, gptImage25Tokens),
  ),
  gptImage("1.5", GPT_IMAGE_1_5_PRICE, gptImage1Tokens),
  gptImage("1-mini", GPT_IMAGE_1_MINI_PRICE, gptImage1Tokens),
];

/** Served but not listed: its long inputs and cache writes are billed like those of the most expensive real models. */
export const TIERED_MODEL: TextModel = {
  id: "sandbox/chat-tiered",
  name: "Sandbox: Chat with tiers",
  description: "Like Sandbox: Chat; bills long inputs and cache writes as providers do.",
  price: CHAT_PRICE,
  vision: false,
  fault: undefined,
  tiered: true,
};

export const TEXT_MODELS: ReadonlyMap<string, TextModel> = new Map(TEXT.map((model) => [model.id, model]));
export const IMAGE_MODELS: ReadonlyMap<string, ImageModel> = new Map(
  IMAGES.map((model) => [model.id, model]),
);
