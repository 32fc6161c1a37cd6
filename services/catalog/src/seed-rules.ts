// Rules between the fields of a seed model and between models. The main one: every request that a model accepts has a finite
// price before it is sent.
import { acceptsSize, priceOfImageRequest, priceOfVideoRequest } from "@gr/models";
import {
  type ClipTier,
  type ImageTier,
  type Model,
  ModelKind,
  type Route,
  type SecondTier,
} from "@gr/proto/catalog";
import { TAKES_IMAGES } from "./offer.ts";

/** Larger than any listed size: it has a price only when the rule prices every size. */
const ANY_SIZE = "99999x99999";

/** Sentences of what is wrong with one model; none = it may be listed. */
export function problemsOfModel(model: Model, vendor: string): string[] {
  return [
    ...(model.id.startsWith(`${vendor}/`) ? [] : [`id must begin with "${vendor}/"`]),
    ...problemsOfDefaults(model),
    ...problemsOfInputs(model),
    ...problemsOfPrice(model),
    ...problemsOfTiers(model),
    ...model.routes.flatMap((route) => problemsOfRoute(model, route)),
  ];
}

/** Sentences of what is wrong between models. */
export function problemsAcross(models: readonly Model[]): string[] {
  const ids = models.map(({ id }) => id);
  const twice = new Set(ids.filter((id, index) => ids.indexOf(id) !== index));
  const boards = [ModelKind.IMAGE, ModelKind.VIDEO].map(
    (kind) =>
      new Set(
        models.flatMap(({ kind: its, arenaScore }) =>
          its === kind && arenaScore !== undefined ? [`${arenaScore.board} of ${arenaScore.asOf}`] : [],
        ),
      ),
  );
  return [
    ...[...twice].map((id) => `the model ${id} is there more than once`),
    // Scores of different boards or days do not compare, and the list sorts by them.
    ...boards
      .filter((used) => used.size > 1)
      .map((used) => `models of one type have scores of different boards: ${[...used].join(", ")}`),
  ];
}

function problemsOfDefaults(model: Model): string[] {
  const problems: string[] = [];
  const takesSize = model.sizes.length > 0 || model.customSize !== undefined;
  const sizeFits = takesSize ? acceptsSize(model, model.defaultSize) : model.defaultSize === "";
  if (!sizeFits) problems.push("default.size must be one of its sizes, and absent when it has none");
  if (model.defaultQuality !== "" || model.qualities.length > 0) {
    if (!model.qualities.includes(model.defaultQuality)) {
      problems.push("default.quality must be one of its qualities, and absent when it has none");
    }
  }
  const isVideo = model.kind === ModelKind.VIDEO;
  if (isVideo !== model.defaultSeconds > 0) {
    problems.push("default.seconds is needed for a video and for nothing else");
  } else if (model.seconds.length > 0 && !model.seconds.includes(model.defaultSeconds)) {
    problems.push("default.seconds must be one of its seconds");
  }
  return problems;
}

/** A model that takes images says so as an ability and as a parameter; one that takes none says neither. */
function problemsOfInputs(model: Model): string[] {
  const able = model.capabilities.some((capability) => TAKES_IMAGES.has(capability));
  const named = model.supportedParameters.includes("image");
  const masks = model.capabilities.includes("mask") === model.supportedParameters.includes("mask");
  return [
    ...(able === named
      ? []
      : ['supported_parameters must have "image" exactly if a capability takes images']),
    ...(masks ? [] : ['supported_parameters must have "mask" exactly if the capabilities have it']),
  ];
}

function problemsOfPrice(model: Model): string[] {
  const { price } = model;
  const sizes = [...sizesOf(model), ...(model.customSize === undefined ? [] : [ANY_SIZE])];
  const qualities = model.qualities.length === 0 ? ["auto"] : model.qualities;
  const lengths = model.seconds.length === 0 ? [model.defaultSeconds] : model.seconds;
  const missing = (sizes.length === 0 ? ["auto"] : sizes).flatMap((size) =>
    qualities.flatMap((quality) =>
      lengths
        .filter((seconds) => {
          if (price === undefined) return true;
          return model.kind === ModelKind.IMAGE
            ? priceOfImageRequest(price, { images: 1, quality, size }) === undefined
            : priceOfVideoRequest(price, { seconds, quality, size }) === undefined;
        })
        .map((seconds) => `${quality} ${size}${seconds === 0 ? "" : ` ${seconds} s`}`),
    ),
  );
  return missing.length === 0 ? [] : [`price has no price for ${missing.slice(0, 3).join(", ")}`];
}

type Tier = ImageTier | SecondTier | ClipTier;

/** A tier that can never apply is a mistake: another tier prices what it was meant for, or none does. */
function problemsOfTiers(model: Model): string[] {
  const rule = model.price?.rule;
  if (rule?.case !== "image" && rule?.case !== "second" && rule?.case !== "clip") return [];
  const tiers: readonly Tier[] = rule.value.tiers;
  const strange = tiers.flatMap((tier) => [
    ...tier.sizes.filter((size) => !acceptsSize(model, size)),
    ...(tier.quality === "" || model.qualities.includes(tier.quality) ? [] : [tier.quality]),
    ...("seconds" in tier ? tier.seconds.filter((length) => !model.seconds.includes(length)) : []),
  ]);
  const forAll = tiers.findIndex(holdsAlways);
  return [
    ...(strange.length === 0
      ? []
      : [`price has a tier for ${strange.slice(0, 3).join(", ")}, which is not accepted`]),
    ...(forAll === -1 || forAll === tiers.length - 1 ? [] : ["price has tiers after one that always holds"]),
  ];
}

function holdsAlways(tier: Tier): boolean {
  return (
    tier.quality === "" &&
    tier.sizes.length === 0 &&
    !("maxPixels" in tier && tier.maxPixels > 0n) &&
    !("seconds" in tier && tier.seconds.length > 0) &&
    !("audio" in tier && tier.audio !== undefined)
  );
}

/** A provider that calls some values differently must call all of them something. */
function problemsOfRoute(model: Model, route: Route): string[] {
  const accepted: [string, readonly string[]][] = [
    ["size", sizesOf(model)],
    ["quality", model.qualities],
    ["seconds", model.seconds.map(String)],
  ];
  return accepted.flatMap(([parameter, values]) => {
    const mapped = route.parameters.filter((row) => row.parameter === parameter).map(({ value }) => value);
    if (mapped.length === 0) return [];
    const at = `routes of ${route.provider}: parameters.${parameter}`;
    const absent = values.filter((value) => !mapped.includes(value));
    const unknown = mapped.filter((value) => !values.includes(value));
    return [
      ...(absent.length === 0 ? [] : [`${at} must map ${absent.slice(0, 3).join(", ")} too`]),
      ...(unknown.length === 0
        ? []
        : [`${at} maps ${unknown.slice(0, 3).join(", ")}, which is not accepted`]),
    ];
  });
}

function sizesOf(model: Model): string[] {
  return model.sizes.filter((size) => size !== "auto");
}
