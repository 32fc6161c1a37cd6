// What a request may cost at most, before it runs: strict bounds of its input and output tokens at the dearest
// price that can apply to them. Without a limit of the client's, long output is bounded by a usual length.
import { type Credits, chargeOf } from "@gr/money";
import type { TokenPrice } from "@gr/proto/catalog";
import type { TextRequest } from "./text-request.ts";

/** What a model can take and give, in tokens; 0 = not known. */
export interface ModelLimits {
  readonly contextTokens: bigint;
  readonly maxOutputTokens: bigint;
}

/** Output that is held for when the client sets no limit. */
const USUAL_OUTPUT_TOKENS = 4_096n;
/** What chat templates add around a request and around each message. */
const TOKENS_PER_REQUEST = 64;
const MOST_TOKENS_PER_MESSAGE = 8;
/** What providers add once to explain tools to a model. */
const TOKENS_FOR_TOOLS = 1_024;
/** The most that providers count for one image, except where image tokens are priced next to nothing. */
const MOST_TOKENS_PER_IMAGE = 16_384;
/** The largest context that is common, for models whose own is not known. */
const LARGEST_CONTEXT = 1_048_576n;

export function holdFor(request: TextRequest, limits: ModelLimits, price: TokenPrice): Credits {
  const input = inputBound(request, limits);
  const output = outputBound(request, limits);
  return chargeOf(
    input * dearestInput(request, price) +
      output * dearer(price.outputPicoUsd, price.reasoningPicoUsd) +
      price.requestPicoUsd,
  );
}

/** Tokens that the upstream can count for the input; no request is larger than the model's context. */
export function inputBound({ input }: TextRequest, { contextTokens }: ModelLimits): bigint {
  if (input.remote) return contextTokens > 0n ? contextTokens : LARGEST_CONTEXT;
  const tokens = BigInt(
    input.textBytes +
      TOKENS_PER_REQUEST +
      MOST_TOKENS_PER_MESSAGE * input.messages +
      MOST_TOKENS_PER_IMAGE * input.images +
      (input.tools ? TOKENS_FOR_TOOLS : 0),
  );
  return contextTokens > 0n && tokens > contextTokens ? contextTokens : tokens;
}

export function outputBound(request: TextRequest, { maxOutputTokens }: ModelLimits): bigint {
  const asked = request.outputLimit === undefined ? USUAL_OUTPUT_TOKENS : BigInt(request.outputLimit);
  const one = maxOutputTokens > 0n && asked > maxOutputTokens ? maxOutputTokens : asked;
  const predicted = request.predicts ? BigInt(request.bytes.length) : 0n;
  return (one + predicted) * BigInt(request.choices);
}

function dearestInput({ input }: TextRequest, price: TokenPrice): bigint {
  const text = dearer(price.inputPicoUsd, price.cacheWritePicoUsd);
  const withImages = input.images > 0 ? dearer(text, price.imageInputPicoUsd) : text;
  return input.audio ? dearer(withImages, price.audioInputPicoUsd) : withImages;
}

function dearer(price: bigint, other: bigint | undefined): bigint {
  return other !== undefined && other > price ? other : price;
}
