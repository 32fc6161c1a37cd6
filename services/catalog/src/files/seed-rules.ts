// Rules between the fields of a seed model and between models. The main rule: every accepted request has a finite
// price before it is sent.
import {
  acceptsSize,
  acceptsTogether,
  defaultsOf,
  type ImageMeters,
  priceOf,
  TAKES_IMAGES,
  type VideoMeters,
} from "@gr/models";
import {
  type ClipTier,
  type ImageTier,
  type MeteredTier,
  type Model,
  ModelKind,
  type Price,
  type Route,
  type SecondTier,
  type TokenPrice,
} from "@gr/proto/catalog";
import { inputCountsOf, listedSizesOf, requestsOf } from "../prices/accepted-requests.ts";
import { meterPricesOf } from "../prices/model-pricing.ts";

/** Larger than any listed size: it has a price only when the rule prices every size. */
const ANY_SIZE = "99999x99999";

/** Sentences for the faults of one model; none = it may be listed. */
export function problemsOfModel(model: Model, vendor: string): string[] {
  return [
    ...(model.id.startsWith(`${vendor}/`) ? [] : [`id must begin with "${vendor}/"`]),
    ...problemsOfDefaults(model),
    ...problemsOfInputs(model),
    ...problemsOfPrice(model),
    ...problemsOfTiers(model),
    ...problemsOfCombinations(model),
    ...model.routes.flatMap((route) => [...problemsOfRoute(model, route), ...problemsOfCost(model, route)]),
  ];
}

/** Sentences for the faults between models. */
export function problemsAcross(models: readonly Model[]): string[] {
  const ids = models.map(({ id }) => id);
  const twice = new Set(ids.filter((id, index) => ids.indexOf(id) !== index));
  const boards = [ModelKind.IMAGE, ModelKind.VIDEO].map(
    (kind) => new Set(models.flatMap((model) => (model.kind === kind ? boardOf(model) : []))),
  );
  return [
    ...[...twice].map((id) => `the model ${id} is there more than once`),
    // Scores of different boards or days are not comparable, and the list sorts by them.
    ...boards
      .filter((used) => used.size > 1)
      .map((used) => `models of one type have scores of different boards: ${[...used].join(", ")}`),
  ];
}

/** The board and day of its score; none when it has no score. */
export function boardOf({ arenaScore }: Model): string[] {
  return arenaScore === undefined ? [] : [`${arenaScore.board} of ${arenaScore.asOf}`];
}

function problemsOfDefaults(model: Model): string[] {
  const problems: string[] = [];
  const acceptsSizes = model.sizes.length > 0 || model.customSize !== undefined;
  const sizeFits = acceptsSizes ? acceptsSize(model, model.defaultSize) : model.defaultSize === "";
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

/** A model with image input has it as an ability and as a parameter; any other model has neither. */
function problemsOfInputs(model: Model): string[] {
  const able = model.capabilities.some((capability) => TAKES_IMAGES.has(capability));
  const named = model.supportedParameters.includes("image");
  const masks = model.capabilities.includes("mask") === model.supportedParameters.includes("mask");
  const partials = model.supportedParameters.includes("partial_images");
  const rule = model.price?.rule;
  return [
    ...(able === named
      ? []
      : ['supported_parameters must have "image" exactly if a capability accepts images']),
    ...(masks ? [] : ['supported_parameters must have "mask" exactly if the capabilities have it']),
    ...(rule?.case === "metered" && partials !== rule.value.partialImageTokens > 0n
      ? ['most_tokens must have partial_image exactly if supported_parameters has "partial_images"']
      : []),
  ];
}

function problemsOfPrice(model: Model): string[] {
  // A rule may price each listed size and no other.
  const ofAnySize =
    model.customSize === undefined
      ? []
      : requestsOf({ ...model, sizes: [ANY_SIZE], customSize: undefined, combinations: [] });
  const missing = [...requestsOf(model), ...ofAnySize]
    .filter((request) => priceOf(model, request) === undefined)
    .map((request) => textOf(request));
  return missing.length === 0 ? [] : [`price has no price for ${missing.slice(0, 3).join(", ")}`];
}

function textOf(request: ImageMeters | VideoMeters): string {
  const { quality, size } = request;
  return `${quality} ${size}${"seconds" in request ? ` ${request.seconds} s` : ""}`;
}

/** Each value of a combination must be accepted on its own, and the defaults must match a combination. */
function problemsOfCombinations(model: Model): string[] {
  const { combinations } = model;
  const strange = combinations.flatMap(({ sizes, qualities, seconds }) => [
    ...sizes.filter((size) => !acceptsSize(model, size)),
    ...qualities.filter((quality) => !model.qualities.includes(quality)),
    ...seconds.filter((length) => !model.seconds.includes(length)).map(String),
  ]);
  const unsold = inputCountsOf(model).filter((inputImages) => {
    const { size, quality, seconds } = defaultsOf(model, inputImages);
    return !acceptsTogether(model, { size, quality, seconds, inputImages });
  });
  const other = model.defaultWithImages;
  const unknown = [
    ...(other === undefined || other.size === "" || acceptsSize(model, other.size) ? [] : [other.size]),
    ...(other === undefined || other.quality === "" || model.qualities.includes(other.quality)
      ? []
      : [other.quality]),
    ...(other === undefined || other.seconds === 0 || model.seconds.includes(other.seconds)
      ? []
      : [String(other.seconds)]),
  ];
  return [
    ...(strange.length === 0
      ? []
      : [`combinations have ${strange.slice(0, 3).join(", ")}, which is not accepted`]),
    ...(unsold.length === 0 ? [] : ["default must be one of the combinations"]),
    ...(unknown.length === 0 ? [] : [`default_with_images has ${unknown.join(", ")}, which is not accepted`]),
  ];
}

/** No accepted request may cost us more than its charge. Only a price by the token can bound a cost by the token. */
function problemsOfCost(model: Model, route: Route): string[] {
  const { price } = model;
  const { cost } = route;
  if (price === undefined || cost === undefined) return [];
  const at = `routes of ${route.provider}: cost`;
  const rates = ratesOf(cost);
  if (rates !== undefined) {
    if (price.rule.case !== "metered") return [`${at} is by the token, so the price must be metered`];
    const tokens = price.rule.value.tokens;
    const dearer = tokens === undefined ? [] : dearerMeters(rates, tokens);
    if (dearer.length > 0) return [`${at} is above the price for ${dearer.join(", ")}`];
  }
  const loss = requestsOf(model).find((request) => {
    const [list, billed] = [priceOf(model, request)?.most, priceOf({ price: cost }, request)?.most];
    return list !== undefined && billed !== undefined && billed > list;
  });
  return loss === undefined ? [] : [`${at} is above the price for ${textOf(loss)}`];
}

function ratesOf({ rule }: Price): TokenPrice | undefined {
  if (rule.case === "token") return rule.value;
  return rule.case === "metered" ? rule.value.tokens : undefined;
}

function dearerMeters(cost: TokenPrice, price: TokenPrice): string[] {
  const [ours, theirs] = [meterPricesOf(price), meterPricesOf(cost)];
  const names = Object.keys(ours) as (keyof typeof ours)[];
  return names.filter((name) => theirs[name] > ours[name]);
}

type Tier = ImageTier | SecondTier | ClipTier | MeteredTier;

/** A tier that can never apply is a mistake: its requests are priced by another tier, or have no price. */
function problemsOfTiers(model: Model): string[] {
  const tiers = tiersOf(model.price);
  const strange = tiers.flatMap((tier) => [
    ...tier.sizes.filter((size) => !acceptsSize(model, size)),
    ...(tier.quality === "" || model.qualities.includes(tier.quality) ? [] : [tier.quality]),
    ...("seconds" in tier ? tier.seconds.filter((length) => !model.seconds.includes(length)) : []),
  ]);
  const unheard =
    !model.supportedParameters.includes("audio") &&
    tiers.some((tier) => "audio" in tier && tier.audio === true);
  const forAll = tiers.findIndex(holdsAlways);
  return [
    ...(strange.length === 0
      ? []
      : [`price has a tier for ${strange.slice(0, 3).join(", ")}, which is not accepted`]),
    ...(unheard ? ['price has a tier with sound, and supported_parameters has no "audio"'] : []),
    ...(forAll === -1 || forAll === tiers.length - 1 ? [] : ["price has tiers after one that always holds"]),
  ];
}

function tiersOf(price: Price | undefined): readonly Tier[] {
  switch (price?.rule.case) {
    case "image":
    case "second":
    case "clip":
    case "metered":
      return price.rule.value.tiers;
    case "reported":
      return tiersOf(price.rule.value.most);
    default:
      return [];
  }
}

function holdsAlways(tier: Tier): boolean {
  return (
    tier.quality === "" &&
    tier.sizes.length === 0 &&
    !("maxPixels" in tier && tier.maxPixels > 0n) &&
    !("seconds" in tier && tier.seconds.length > 0) &&
    !("audio" in tier && tier.audio !== undefined) &&
    !("inputImages" in tier && tier.inputImages !== undefined)
  );
}

/** A provider with its own term for one value must have a term for every value. */
function problemsOfRoute(model: Model, route: Route): string[] {
  const accepted: [string, readonly string[]][] = [
    ["size", listedSizesOf(model)],
    ["quality", model.qualities],
    ["seconds", model.seconds.map(String)],
    ["audio", ["false", "true"]],
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
