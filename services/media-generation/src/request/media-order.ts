// MediaOrder is a valid request for a model of the catalogue. Every "auto" is resolved, so the
// price is fixed before the call.
import type { ResponseFormat } from "@gr/identity";
import {
  acceptedInputs,
  acceptsSize,
  acceptsTogether,
  charactersOf,
  type DefaultValues,
  defaultsOf,
  needsImage,
  priceOf,
} from "@gr/models";
import { type Credits, chargeOf, type PicoUsd } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { type Model, ModelKind } from "@gr/proto/catalog";
import { metersOf, type Shape } from "../generation/meters.ts";
import type { CleanPicture } from "../inputs/clean-picture.ts";
import type { InputSource } from "../inputs/input-sources.ts";
import { type FileFormat, VIDEO_FORMAT } from "../storage/media-name.ts";
import type { MediaRoute } from "./choose-routes.ts";
import { imageRequests } from "./image-request.ts";
import type { Quality } from "./media-fields.ts";
import type { MediaRequest, RequestKind } from "./request-kind.ts";
import { videoRequests } from "./video-request.ts";

/** All facts about a request except the contents of its pictures. */
export interface WantedMedia {
  readonly model: Model;
  readonly prompt: string;
  readonly count: number;
  /** The model's values of size, quality, seconds and audio. */
  readonly shape: Shape;
  readonly format: FileFormat;
  readonly responseFormat: ResponseFormat;
}

export interface PricedMedia {
  readonly shape: Shape;
  /** List price of the whole order; the upper bound of a price by use. */
  readonly price: PicoUsd;
  readonly charge: Credits;
  readonly priceVersion: string;
}

/** Validates a request without any download or decoding. @throws ServiceError that names the field at fault */
export function createMediaOrder(
  asked: RequestKind,
  request: MediaRequest,
  sources: readonly Pick<InputSource, "role">[],
  model: Model,
): WantedMedia {
  if (model.kind !== asked.modelKind) throw wrongEndpoint(asked, model);
  const inputImages = checkInputs(model, sources);
  const prompt = request.prompt ?? "";
  if (prompt.trim() === "" && acceptsPrompt(model)) {
    throw refused("prompt", `The model "${model.id}" needs a prompt.`);
  }
  const longest = model.limits?.promptCharacters ?? 0;
  if (longest > 0 && charactersOf(prompt) > longest) {
    throw refused("prompt", `The model "${model.id}" accepts a prompt of at most ${longest} characters.`);
  }
  return {
    model,
    prompt,
    count: request.n ?? 1,
    shape: shapeOf(asked, request, model, inputImages),
    format: request.output_format ?? VIDEO_FORMAT,
    responseFormat: request.response_format ?? "url",
  };
}

/**
 * Adds the partial images of a stream, if the model and one of the routes have them. A stream of several pictures has none:
 * OpenAI streams single pictures only.
 */
export function withPartialImages(
  wanted: WantedMedia,
  { stream, partial_images: most }: MediaRequest,
  routes: readonly Pick<MediaRoute, "adapter">[],
): WantedMedia {
  const { model, count, shape } = wanted;
  const isStream = stream === true && count === 1 && model.supportedParameters.includes("partial_images");
  const isSent = routes.some(({ adapter }) => adapter.kinds.image?.sendsPartials === true);
  return isStream && isSent && most ? { ...wanted, shape: { ...shape, partial_images: most } } : wanted;
}

/** Pixels of each image, in their order; masks do not count for the price. */
export function pixelsOfImages(
  pictures: readonly Pick<CleanPicture, "role" | "width" | "height">[],
): number[] {
  return pictures.flatMap(({ role, width, height }) => (role === "image" ? [width * height] : []));
}

/**
 * @param pixels of each image; any number if the price does not depend on them
 * @throws Error for a listed model without a price
 */
export function priceMediaOrder(
  { kind }: RequestKind,
  { model, count, prompt, shape: wanted }: WantedMedia,
  pixels: readonly number[],
): PricedMedia {
  const shape = { ...wanted, ...(pixels.length === 0 ? {} : { input_pixels: pixels }) };
  const meters = { ...metersOf(kind, count, shape), promptBytes: Buffer.byteLength(prompt) };
  const price = priceOf(model, meters)?.most;
  if (price === undefined)
    throw new Error(`the catalogue has no price for ${model.id} ${JSON.stringify(meters)}`);
  return { shape, price, charge: chargeOf(price), priceVersion: model.price?.version ?? "" };
}

/** A model without listed parameters is assumed to accept a prompt, as most do. */
function acceptsPrompt({ supportedParameters }: Model): boolean {
  return supportedParameters.length === 0 || supportedParameters.includes("prompt");
}

/** @returns the number of input images */
function checkInputs(model: Model, sources: readonly Pick<InputSource, "role">[]): number {
  const accepted = acceptedInputs(model);
  const [images, masks] = (["image", "mask"] as const).map((role) => {
    const sent = sources.filter((source) => source.role === role).length;
    const most = accepted[role];
    if (sent <= most) return sent;
    const accepts =
      accepted.image === 0
        ? "accepts no input images"
        : most === 0
          ? "accepts no mask"
          : `takes ${most === 1 ? `one ${role}` : `at most ${most} ${role}s`}, not ${sent}`;
    throw refused(role, `The model "${model.id}" ${accepts}.`);
  });
  if (images === 0 && masks !== 0) throw refused("image", "A mask needs the image that it belongs to.");
  if (images === 0 && accepted.image > 0 && needsImage(model)) {
    throw refused("image", `The model "${model.id}" needs an input image.`);
  }
  return images ?? 0;
}

function shapeOf(
  { kind, things }: RequestKind,
  request: MediaRequest,
  model: Model,
  inputImages: number,
): Shape {
  const defaults = defaultsOf(model, inputImages);
  const size = resolveSize(request.size, model, defaults);
  const quality = resolveQuality(request.quality, model, defaults);
  const seconds = kind === "video" ? resolveSeconds(request.seconds ?? "auto", model, defaults) : undefined;
  const audio = kind === "video" ? resolveAudio(request.audio, model) : undefined;
  const shape = { size, quality, seconds, audio };
  if (!acceptsTogether(model, { ...shape, inputImages })) {
    throw notTogether(things, request, model, shape, inputImages);
  }
  return shape;
}

/** A model without a default size ignores the parameter. */
function resolveSize(asked: string, model: Model, defaults: DefaultValues): string | undefined {
  if (defaults.size === "") return undefined;
  if (asked === "auto") return defaults.size;
  if (acceptsSize(model, asked)) return asked;
  const more = model.customSize === undefined ? "" : ", and other sizes within its limits";
  throw notAccepted(model, "size", asked, model.sizes, more);
}

function resolveQuality(asked: Quality | "auto", model: Model, defaults: DefaultValues): Quality | undefined {
  const accepted = model.qualities.filter((quality): quality is Quality => QUALITY.has(quality));
  if (accepted.length === 0) return undefined;
  if (asked === "auto") return accepted.find((quality) => quality === defaults.quality) ?? accepted[0];
  if (accepted.includes(asked)) return asked;
  throw notAccepted(model, "quality", asked, accepted);
}

const QUALITY = new Set<string>(["low", "medium", "high"] satisfies Quality[]);

/** A model without a list of lengths has one fixed length. */
function resolveSeconds(asked: number | "auto", model: Model, defaults: DefaultValues): number | undefined {
  if (asked === "auto" || model.seconds.length === 0) return defaults.seconds || model.seconds[0];
  if (model.seconds.includes(asked)) return asked;
  throw notAccepted(model, "seconds", asked, rangeOf(model.seconds));
}

/** A parameter without a choice is not sent to the model. A request for its fixed value is valid. */
function resolveAudio(asked: boolean | undefined, model: Model): boolean | undefined {
  if (model.supportedParameters.includes("audio")) return asked ?? false;
  const always = model.capabilities.includes("audio");
  if (asked === undefined || asked === always) return undefined;
  const what = always ? "generates no videos without sound" : "generates no sound";
  throw refused("audio", `The model "${model.id}" ${what}.`);
}

/** Shortens a complete range of whole numbers to three words. */
function rangeOf(seconds: readonly number[]): readonly (string | number)[] {
  const [first = 0, last = 0] = [seconds[0], seconds.at(-1)];
  const whole = seconds.length > 3 && seconds.every((each, index) => each === first + index);
  return whole ? [`whole numbers from ${first} to ${last}`] : seconds;
}

function notAccepted(
  model: Model,
  field: string,
  asked: string | number,
  accepted: readonly (string | number)[],
  more = "",
): ServiceError {
  const list = ["auto", ...accepted.filter((value) => value !== "auto")].join(", ");
  return refused(
    field,
    `The model "${model.id}" does not accept the ${field} ${asked}; it accepts ${list}${more}.`,
  );
}

/** Names the field at fault: the first of seconds, quality and size that the request sets itself, else the model. */
function notTogether(
  things: string,
  request: MediaRequest,
  model: Model,
  { size, quality, seconds }: Shape,
  inputImages: number,
): ServiceError {
  const field =
    (["seconds", "quality", "size"] as const).find((name) => (request[name] ?? "auto") !== "auto") ?? "model";
  const parts = [
    ...(size === undefined ? [] : [`the size ${size}`]),
    ...(quality === undefined ? [] : [`the quality ${quality}`]),
    ...(seconds === undefined ? [] : [`${seconds} seconds`]),
  ];
  const from =
    inputImages === 0 ? "" : inputImages === 1 ? " from an input image" : ` from ${inputImages} input images`;
  return refused(
    field,
    `The model "${model.id}" does not generate ${things} of ${parts.join(" and ")}${from}.`,
  );
}

function refused(param: string, message: string): ServiceError {
  return new ServiceError("invalid_value", message, { param });
}

function wrongEndpoint({ things }: RequestKind, model: Model): ServiceError {
  const right = [imageRequests, videoRequests].find(({ modelKind }) => modelKind === model.kind);
  const instead =
    right === undefined || model.kind === ModelKind.TEXT
      ? "it generates text: use /v1/compat/chat/completions or /v1/compat/responses"
      : `it generates ${right.things}: use ${right.paths[0]}`;
  const message = `The model "${model.id}" does not generate ${things}; ${instead}.`;
  return new ServiceError("wrong_endpoint", message, { param: "model" });
}
