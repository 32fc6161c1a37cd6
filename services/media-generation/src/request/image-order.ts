// A valid request for a model of the catalogue: every "auto" is resolved, so that the price is exact before the call.
import { acceptsSize, priceOfImageRequest } from "@gr/models";
import { type Credits, chargeOf, type PicoUsd } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { type Model, ModelKind } from "@gr/proto/catalog";
import {
  type ImageRequest,
  inputFieldOf,
  type OutputFormat,
  type Quality,
  type ResponseFormat,
} from "./image-request.ts";

export interface ImageOrder {
  readonly model: Model;
  readonly prompt: string;
  readonly count: number;
  /** Absent when the model takes none. */
  readonly size: string | undefined;
  readonly quality: Quality | undefined;
  readonly outputFormat: OutputFormat;
  readonly responseFormat: ResponseFormat;
  /** List price of the whole order. */
  readonly price: PicoUsd;
  readonly charge: Credits;
  readonly priceVersion: string;
}

const MAX_ECHO = 200;

/** @throws ServiceError that names the field at fault */
export function makeImageOrder(request: ImageRequest, model: Model | undefined): ImageOrder {
  if (model === undefined) {
    const message = `The model "${request.model.slice(0, MAX_ECHO)}" does not exist.`;
    throw new ServiceError("model_not_found", message, { param: "model" });
  }
  if (model.kind !== ModelKind.IMAGE) throw wrongEndpoint(model);
  const input = inputFieldOf(request);
  if (input !== undefined) {
    throw new ServiceError("invalid_value", `The model "${model.id}" takes no input images.`, {
      param: input,
    });
  }
  const prompt = request.prompt ?? "";
  if (prompt.trim() === "") {
    throw new ServiceError("invalid_value", `The model "${model.id}" needs a prompt.`, { param: "prompt" });
  }
  const size = resolveSize(request.size, model);
  const quality = resolveQuality(request.quality, model);
  const price = listPrice(model, { count: request.n, size, quality, prompt });
  return {
    model,
    prompt,
    count: request.n,
    size,
    quality,
    outputFormat: request.output_format,
    responseFormat: request.response_format,
    price,
    charge: chargeOf(price),
    priceVersion: model.price?.version ?? "",
  };
}

/** @throws Error when the catalogue lists a model that it has no price for */
function listPrice(model: Model, order: Pick<ImageOrder, "count" | "size" | "quality" | "prompt">): PicoUsd {
  const promptBytes = Buffer.byteLength(order.prompt);
  const meters = {
    images: order.count,
    quality: order.quality ?? "auto",
    size: order.size ?? "auto",
    promptBytes,
  };
  const price = model.price === undefined ? undefined : priceOfImageRequest(model.price, meters);
  if (price === undefined)
    throw new Error(`the catalogue has no price for ${model.id} ${JSON.stringify(meters)}`);
  return price;
}

/** A model without a default size takes none; what it can't take it ignores. */
function resolveSize(asked: string, model: Model): string | undefined {
  if (model.defaultSize === "") return undefined;
  if (asked === "auto") return model.defaultSize;
  if (acceptsSize(model, asked)) return asked;
  const accepted = ["auto", ...model.sizes.filter((size) => size !== "auto")].join(", ");
  const more = model.customSize === undefined ? "" : ", and other sizes within its limits";
  const message = `The model "${model.id}" does not accept the size ${asked}; it accepts ${accepted}${more}.`;
  throw new ServiceError("invalid_value", message, { param: "size" });
}

function resolveQuality(asked: Quality | "auto", model: Model): Quality | undefined {
  const accepted = model.qualities.filter((quality): quality is Quality => QUALITY.has(quality));
  if (accepted.length === 0) return undefined;
  if (asked === "auto") return accepted.find((quality) => quality === model.defaultQuality) ?? accepted[0];
  if (accepted.includes(asked)) return asked;
  const message = `The model "${model.id}" does not accept the quality ${asked}; it accepts auto, ${accepted.join(", ")}.`;
  throw new ServiceError("invalid_value", message, { param: "quality" });
}

const QUALITY = new Set<string>(["low", "medium", "high"] satisfies Quality[]);

function wrongEndpoint(model: Model): ServiceError {
  const right =
    model.kind === ModelKind.TEXT
      ? "it makes text: use /v1/compat/chat/completions or /v1/compat/responses"
      : "it makes videos";
  return new ServiceError("wrong_endpoint", `The model "${model.id}" does not make images; ${right}.`, {
    param: "model",
  });
}
