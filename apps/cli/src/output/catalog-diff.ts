// The catalogue diff lists the changes between two catalogues: added and removed models, and prices, amount by amount.
import { typicalPriceOf } from "@gr/catalog/files";
import { formatPicoUsd } from "@gr/money";
import type { Catalog, DailyHours, InputCounting, Model, Price, TokenPrice } from "@gr/proto/catalog";
import { priceText } from "./price-text.ts";

const MILLION = 1_000_000n;

export interface CatalogDiff {
  readonly added: readonly { readonly id: string; readonly price: string }[];
  readonly removed: readonly { readonly id: string; readonly price: string }[];
  readonly repriced: readonly Repriced[];
  /** Same price, but abilities, sizes, routes or other facts differ. */
  readonly changed: readonly { readonly id: string; readonly fields: readonly string[] }[];
}

export interface Repriced {
  readonly id: string;
  readonly old_version: string;
  readonly new_version: string;
  /** Cost of a request with only a model and a prompt; for text, 1,000 tokens in and out. Format as the amounts. */
  readonly typical: { readonly old: string | null; readonly new: string | null };
  /** Decimal strings of USD; null = the amount does not exist. */
  readonly amounts: readonly {
    readonly of: string;
    readonly old: string | null;
    readonly new: string | null;
  }[];
}

export function diffOf(before: Catalog | undefined, after: Catalog | undefined): CatalogDiff {
  const old = byId(before);
  const next = byId(after);
  const named = ({ id, price }: Model) => ({ id, price: priceText(price) });
  const both = [...next.values()].flatMap((model) => {
    const was = old.get(model.id);
    return was === undefined ? [] : [{ was, model }];
  });
  return {
    added: [...next.values()].filter(({ id }) => !old.has(id)).map(named),
    removed: [...old.values()].filter(({ id }) => !next.has(id)).map(named),
    repriced: both
      .filter(({ was, model }) => was.price?.version !== model.price?.version)
      .map(({ was, model }) => repricedOf(was, model)),
    changed: both.flatMap(({ was, model }) => {
      const fields = changedFields(was, model);
      return fields.length === 0 ? [] : [{ id: model.id, fields }];
    }),
  };
}

export function isSame({ added, removed, repriced, changed }: CatalogDiff): boolean {
  return added.length + removed.length + repriced.length + changed.length === 0;
}

/** A line for each change, in words. */
export function diffText(diff: CatalogDiff): string {
  return [
    ...diff.added.map(({ id, price }) => `+ ${id}  ${price}`),
    ...diff.removed.map(({ id, price }) => `- ${id}  ${price}`),
    ...diff.repriced.flatMap(({ id, typical, amounts }) => [
      [
        `$ ${id}`,
        typicalText(typical),
        ...(amounts.length === 0 ? ["the same amounts, in another order"] : []),
      ]
        .filter((part) => part !== "")
        .join("  "),
      ...amounts.map((amount) => `    ${amount.of}: ${amount.old ?? "none"} -> ${amount.new ?? "none"}`),
    ]),
    ...diff.changed.map(({ id, fields }) => `~ ${id}  ${fields.join(", ")}`),
  ].join("\n");
}

function typicalText(typical: Repriced["typical"]): string {
  return typical.old === typical.new
    ? ""
    : `a typical request: ${typical.old ?? "none"} -> ${typical.new ?? "none"}`;
}

function byId(catalog: Catalog | undefined): Map<string, Model> {
  return new Map((catalog?.models ?? []).map((model) => [model.id, model]));
}

function repricedOf(was: Model, model: Model): Repriced {
  const old = amountsOf(was.price);
  const next = amountsOf(model.price);
  const names = [...new Set([...old.keys(), ...next.keys()])];
  const amounts = names.map((of) => ({ of, old: old.get(of) ?? null, new: next.get(of) ?? null }));
  return {
    id: model.id,
    old_version: was.price?.version ?? "",
    new_version: model.price?.version ?? "",
    typical: { old: typicalOf(was), new: typicalOf(model) },
    amounts: amounts.filter((amount) => amount.old !== amount.new),
  };
}

function typicalOf(model: Model): string | null {
  const price = typicalPriceOf(model);
  return price === undefined ? null : formatPicoUsd(price);
}

/** Returns every amount of a rule under its own name. The same name in two rules means the same amount. */
function amountsOf(price: Price | undefined): Map<string, string> {
  const rule = price?.rule;
  switch (rule?.case) {
    case "image":
      return new Map([...tierAmounts("an image", rule.value.tiers), ...inputAmounts(rule.value)]);
    case "megapixel":
      return new Map([
        [`the first ${rule.value.unitPixels} pixels`, formatPicoUsd(rule.value.firstPicoUsd)],
        [`further ${rule.value.unitPixels} pixels`, formatPicoUsd(rule.value.furtherPicoUsd)],
        ...inputAmounts(rule.value),
      ]);
    case "second":
      return new Map([...tierAmounts("a second", rule.value.tiers), ...inputAmounts(rule.value)]);
    case "clip":
      return new Map([...tierAmounts("a video", rule.value.tiers), ...inputAmounts(rule.value)]);
    case "token":
      return tokenAmounts(rule.value);
    case "metered": {
      const { tokens, tiers, inputImageTokens, otherInputTokens, otherOutputTokens, partialImageTokens } =
        rule.value;
      return new Map([
        ...(tokens === undefined ? [] : tokenAmounts(tokens)),
        ...tierAmounts(
          "the most tokens",
          tiers.map((tier) => ({ ...tier, amount: String(tier.outputTokens) })),
        ),
        ["the most tokens of an input image", String(inputImageTokens)],
        ["the most tokens of other input", String(otherInputTokens)],
        ["the most tokens of other output", String(otherOutputTokens)],
        ["the tokens of a partial image", String(partialImageTokens)],
      ]);
    }
    case "reported":
      return new Map([...amountsOf(rule.value.most)].map(([of, amount]) => [`at most, ${of}`, amount]));
    default:
      return new Map();
  }
}

function tokenAmounts(price: TokenPrice): Map<string, string> {
  const {
    $typeName: _type,
    $unknown: _unknown,
    requestPicoUsd,
    toolFees,
    upstreams,
    cases,
    offPeak,
    ...meters
  } = price;
  const perMillion = Object.entries(meters).map(([name, pico]): [string, string] => [
    `a million tokens, ${name.replace("PicoUsd", "")}`,
    formatPicoUsd((pico ?? 0n) * MILLION),
  ]);
  const perCall = toolFees.map(({ call, picoUsd }): [string, string] => [
    `a ${call}`,
    formatPicoUsd(picoUsd),
  ]);
  const elsewhere = upstreams.flatMap(({ provider, price: there }) =>
    there === undefined
      ? []
      : [...tokenAmounts(there)].map(([of, amount]): [string, string] => [`${of}, at ${provider}`, amount]),
  );
  const inCases = cases.flatMap(({ tier, aboveInputTokens, price: there }) => {
    const which = [
      ...(tier === "" ? [] : [`tier ${tier}`]),
      ...(aboveInputTokens === 0n ? [] : [`above ${aboveInputTokens} input tokens`]),
    ].join(", ");
    if (there === undefined) return [];
    return [...tokenAmounts(there)].map(([of, amount]): [string, string] => [`${of}, ${which}`, amount]);
  });
  const inHours = offPeak.flatMap(({ hours, price: there }) => {
    const which = hours.map(hoursText).join(", ");
    if (there === undefined) return [];
    return [...tokenAmounts(there)].map(([of, amount]): [string, string] => [`${of}, at ${which}`, amount]);
  });
  const request: [string, string] = ["a request", formatPicoUsd(requestPicoUsd)];
  return new Map([...perMillion, ...perCall, request, ...elsewhere, ...inCases, ...inHours]);
}

function hoursText({ weekdays, fromMinute, toMinute }: DailyHours): string {
  const days = weekdays.length === 0 ? "" : `, weekdays ${weekdays.join(" ")}`;
  return `${timeText(fromMinute)}-${timeText(toMinute)} UTC${days}`;
}

function timeText(minute: number): string {
  const two = (number: number) => String(number).padStart(2, "0");
  return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
}

function inputAmounts(rule: {
  inputImagePicoUsd: bigint;
  freeInputImages: number;
  inputs?: InputCounting | undefined;
}): [string, string][] {
  const { once = false, unitPixels = 0n, maxPixels = 0n } = rule.inputs ?? {};
  const counted = [
    unitPixels === 0n ? "an input image" : `${unitPixels} pixels of an input image, up to ${maxPixels}`,
    ...(once ? ["once a request"] : []),
  ].join(", ");
  return [
    [counted, formatPicoUsd(rule.inputImagePicoUsd)],
    ["input images that are free", String(rule.freeInputImages)],
  ];
}

interface Tier {
  readonly quality: string;
  readonly sizes: readonly string[];
  readonly picoUsd?: bigint;
  /** Instead of an amount of money. */
  readonly amount?: string;
  readonly inputImages?: boolean | undefined;
  readonly seconds?: readonly number[];
  readonly maxPixels?: bigint;
  readonly audio?: boolean | undefined;
}

/** Returns an amount for each size and length of a tier, so that another grouping of them is no change. */
function tierAmounts(unit: string, tiers: readonly Tier[]): [string, string][] {
  const named = tiers.flatMap((tier) =>
    orOne(tier.sizes).flatMap((size) =>
      orOne(tier.seconds ?? []).map((seconds): [string, string] => [
        [unit, tier.quality, size, ...conditionsOf(tier), seconds === "" ? "" : `${seconds} s`]
          .filter((part) => part !== "")
          .join(" "),
        tier.amount ?? formatPicoUsd(tier.picoUsd ?? 0n),
      ]),
    ),
  );
  // The first tier that holds applies, so the first amount of a name counts.
  return named.filter(([name], index) => named.findIndex(([other]) => other === name) === index);
}

function conditionsOf({ maxPixels = 0n, audio, inputImages }: Tier): string[] {
  return [
    ...(maxPixels === 0n ? [] : [`up to ${maxPixels} pixels`]),
    ...(inputImages === undefined ? [] : [inputImages ? "with images" : "without images"]),
    ...(audio === undefined ? [] : [audio ? "with sound" : "silent"]),
  ];
}

function orOne<Value>(values: readonly Value[]): readonly (Value | "")[] {
  return values.length === 0 ? [""] : values;
}

/** Returns all changed fields except the price, which is shown separately. */
function changedFields(was: Model, model: Model): string[] {
  const fields = Object.keys({ ...was, ...model }) as (keyof Model)[];
  return fields.filter((field) => field !== "price" && textOf(was[field]) !== textOf(model[field]));
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? `${part}n` : part)) ?? "";
}
