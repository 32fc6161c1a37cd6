// A text model as an upstream lists it, read and checked: exact prices, known limits. What the upstream does not say is null.
import { create } from "@bufbuild/protobuf";
import type { PicoUsd } from "@gr/money";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";
import { versioned } from "./price-version.ts";

/** USD per token, in units of 1e-12. Null = billed as input, `reasoning` as output. */
export interface TextPrices {
  readonly input: PicoUsd;
  readonly output: PicoUsd;
  readonly cachedInput: PicoUsd | null;
  readonly cacheWrite: PicoUsd | null;
  readonly audioInput: PicoUsd | null;
  readonly reasoning: PicoUsd | null;
  /** Per request. */
  readonly request: PicoUsd;
}

export interface TextModel {
  /** Ours, and the upstream's where nothing else says what it calls the model. */
  readonly id: string;
  readonly name: string;
  readonly ownedBy: string;
  readonly capabilities: readonly string[];
  readonly supportedParameters: readonly string[];
  /** Tokens; null = unknown. */
  readonly contextTokens: number | null;
  readonly maxOutputTokens: number | null;
  /** ISO dates; null = unknown. */
  readonly releaseDate: string | null;
  readonly shutdownDate: string | null;
  readonly prices: TextPrices;
}

/**
 * @param upstream the name that routes call the upstream by.
 * @param upstreamModel what the upstream calls the model, where that is not its id.
 */
export function modelOfText(text: TextModel, upstream: string, upstreamModel = text.id): Model {
  const { prices } = text;
  return create(ModelSchema, {
    id: text.id,
    kind: ModelKind.TEXT,
    name: text.name,
    ownedBy: text.ownedBy,
    capabilities: [...text.capabilities],
    supportedParameters: [...text.supportedParameters],
    contextTokens: BigInt(text.contextTokens ?? 0),
    maxOutputTokens: BigInt(text.maxOutputTokens ?? 0),
    releaseDate: text.releaseDate ?? "",
    shutdownDate: text.shutdownDate ?? "",
    price: versioned({
      case: "token",
      value: {
        inputPicoUsd: prices.input,
        outputPicoUsd: prices.output,
        requestPicoUsd: prices.request,
        ...(prices.cachedInput === null ? {} : { cachedInputPicoUsd: prices.cachedInput }),
        ...(prices.cacheWrite === null ? {} : { cacheWritePicoUsd: prices.cacheWrite }),
        ...(prices.audioInput === null ? {} : { audioInputPicoUsd: prices.audioInput }),
        ...(prices.reasoning === null ? {} : { reasoningPicoUsd: prices.reasoning }),
      },
    }),
    routes: [{ provider: upstream, upstreamModel }],
  });
}
