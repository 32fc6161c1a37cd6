// HoldSize is the cost of a request before it runs: strict bounds of its input and of its output, at the dearest price.
// A stream, and a request without a limit on output, begin with a slice of output; their holds grow while they run.
// Other requests reserve their whole limit, because their upstream cannot be stopped in time.
import { type Credits, chargeOf, larger, PICO_PER_CREDIT, type PicoUsd, smaller } from "@gr/money";
import type { Model, TokenPrice } from "@gr/proto/catalog";
import type { TextRequest } from "./text-request.ts";

/** Facts about a model. Tokens; 0 = unknown. */
export type SizedModel = Pick<
  Model,
  "contextTokens" | "maxOutputTokens" | "capabilities" | "supportedParameters"
>;

export interface HoldSize {
  /** The amount of the hold; with `mostCredits` the smallest one. */
  readonly credits: Credits;
  /** Cost of the longest output, for a request that begins with a slice; undefined if `credits` covers it. */
  readonly mostCredits: Credits | undefined;
  /** A slice: the smallest growth of a hold. */
  readonly stepCredits: Credits;
  /** Largest cost of all but the output: the input, the request itself, its extras. */
  readonly inputCost: PicoUsd;
  readonly inputTokens: bigint;
  /** Cost of one token of output. */
  readonly tokenCost: PicoUsd;
  /** Output tokens of one answer: the client's limit, else the model's maximum. */
  readonly mostTokens: bigint;
  /** Output that the context surely has room for; a larger limit is refused by some servers. */
  readonly roomTokens: bigint;
  /** Tools and plugins may cost more than tokens. */
  readonly hasExtras: boolean;
  /** Fees of tools and plugins, at most. */
  readonly extrasCost: PicoUsd;
  /** The upstream bills output that a stream does not show. */
  readonly thinks: boolean;
}

/** Smallest output, in tokens, that a request must be able to pay for before it starts. Fewer if it requests fewer. */
export const SLICE_TOKENS = 512n;
/** Tokens that chat templates add around a request and around each message. */
const TOKENS_PER_REQUEST = 64;
const MOST_TOKENS_PER_MESSAGE = 8;
/** Tokens that providers add once to explain tools to a model. */
const TOKENS_FOR_TOOLS = 1_024;
/** The most that providers count for one image, except models with nearly free image tokens. */
const MOST_TOKENS_PER_IMAGE = 16_384;
/** The largest common context, for models without a documented one. */
const LARGEST_CONTEXT = 1_048_576n;
/** The longest common output, for models without a documented one. */
const LONGEST_OUTPUT = 131_072n;
/** Cost of searches and other tools of a provider within one request: 0.20 USD. Their fees are not listed. */
export const EXTRAS_COST: PicoUsd = 200_000_000_000n;
/** Parameter of models that search the web, also without a request for it. */
const SEARCHES = "web_search_options";

/** @param price the highest that can apply. @param extrasCost fees of tools that the provider runs, at most */
export function holdSizeOf(
  request: TextRequest,
  model: SizedModel,
  price: TokenPrice,
  extrasCost: PicoUsd = EXTRAS_COST,
): HoldSize {
  const hasExtras = request.input.extras || model.supportedParameters.includes(SEARCHES);
  const answers = BigInt(request.choices);
  const tokenCost = dearestOutput(price);
  const inputTokens = inputBound(request, model);
  const predicted = request.predicts ? BigInt(request.bytes.length) * answers : 0n;
  const inputCost =
    inputTokens * dearestInput(request, price) +
    predicted * tokenCost +
    price.requestPicoUsd +
    (hasExtras ? extrasCost : 0n);
  const mostTokens = outputBound(request, model);
  const creditsFor = (tokens: bigint) => chargeOf(inputCost + tokens * answers * tokenCost);
  const whole = creditsFor(mostTokens);
  const least = growsFromSlice(request) ? creditsFor(smaller(SLICE_TOKENS, mostTokens)) : whole;
  return {
    credits: least,
    mostCredits: least < whole ? whole : undefined,
    stepCredits: chargeOf(SLICE_TOKENS * answers * tokenCost),
    inputCost,
    inputTokens,
    tokenCost,
    mostTokens,
    roomTokens: roomFor(inputTokens, model),
    hasExtras,
    extrasCost,
    thinks: model.capabilities.includes("reasoning"),
  };
}

/** A limit on thoughts can be above a slice, and an upstream refuses a limit on output below it. */
function growsFromSlice({ outputLimit, stream, thinkingTokens }: TextRequest): boolean {
  return outputLimit === undefined || (stream && thinkingTokens === 0);
}

/**
 * Returns the limit on output that the upstream needs so that the hold covers the answer. Undefined if the hold covers the
 * longest output, and for a stream that shows all its output, because the stream is metered while it passes.
 */
export function limitToAdd(request: TextRequest, size: HoldSize, held: Credits): bigint | undefined {
  const { tokenCost, inputCost, mostTokens, roomTokens, thinks } = size;
  if (!growsFromSlice(request) || tokenCost === 0n || (request.stream && !thinks)) return undefined;
  const covered = (held * PICO_PER_CREDIT - inputCost) / (tokenCost * BigInt(request.choices));
  return covered < mostTokens ? smaller(covered, roomTokens) : undefined;
}

/** Largest number of input tokens that the upstream can count: no tokenizer creates more tokens than bytes. */
export function inputBound({ input }: TextRequest, { contextTokens }: SizedModel): bigint {
  const tokens = BigInt(
    input.textBytes +
      TOKENS_PER_REQUEST +
      MOST_TOKENS_PER_MESSAGE * input.messages +
      MOST_TOKENS_PER_IMAGE * input.images +
      (input.tools ? TOKENS_FOR_TOOLS : 0),
  );
  const fetched = input.remote ? (contextTokens > 0n ? contextTokens : LARGEST_CONTEXT) : 0n;
  return larger(fetched, tokens);
}

/** Output tokens of one answer. */
export function outputBound(
  { outputLimit, thinkingTokens }: TextRequest,
  { maxOutputTokens, contextTokens }: SizedModel,
): bigint {
  if (outputLimit !== undefined) {
    const asked = BigInt(outputLimit);
    return (maxOutputTokens > 0n ? smaller(asked, maxOutputTokens) : asked) + BigInt(thinkingTokens);
  }
  if (maxOutputTokens > 0n) return maxOutputTokens;
  return contextTokens > 0n ? smaller(contextTokens, LONGEST_OUTPUT) : LONGEST_OUTPUT;
}

function roomFor(inputTokens: bigint, { contextTokens }: SizedModel): bigint {
  return larger((contextTokens > 0n ? contextTokens : LARGEST_CONTEXT) - inputTokens, SLICE_TOKENS);
}

export function dearestInput({ input }: TextRequest, price: TokenPrice): PicoUsd {
  const written = dearer(price.inputPicoUsd, price.cacheWritePicoUsd);
  const text = input.longCache ? dearer(written, price.longCacheWritePicoUsd) : written;
  const withImages = input.images > 0 ? dearer(text, price.imageInputPicoUsd) : text;
  return input.audio ? dearer(withImages, price.audioInputPicoUsd) : withImages;
}

export function dearestOutput(price: TokenPrice): PicoUsd {
  const text = dearer(price.outputPicoUsd, price.reasoningPicoUsd);
  return dearer(dearer(text, price.imageOutputPicoUsd), price.audioOutputPicoUsd);
}

function dearer(price: PicoUsd, other: PicoUsd | undefined): PicoUsd {
  return other !== undefined && other > price ? other : price;
}
