// The rules of the list once more, read from the seed files and an upstream's rows as they are written and worked out
// the slow way. Nothing here uses the code that answers requests.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One model, as far as a list looks at it. */
export interface PlainModel {
  readonly id: string;
  readonly type: "image" | "video" | "text";
  readonly vendor: string;
  /** In order of preference. */
  readonly providers: readonly string[];
  readonly released: string | null;
  readonly score: number | null;
  /** Of the default request, in 1e-12 USD. */
  readonly price: bigint;
  readonly free: boolean;
}

export interface PlainQuery {
  readonly type?: string;
  readonly provider?: string;
  readonly free?: string;
  readonly name?: string;
  readonly sort?: string;
  readonly limit?: string;
}

/** What is read of a seed file; the rest does not matter to a list. */
interface SeedRow {
  readonly id: string;
  readonly type: "image" | "video";
  readonly capabilities: readonly string[];
  readonly default: { readonly size?: string; readonly quality?: string; readonly seconds?: number };
  readonly release_date: { readonly value: string } | null;
  readonly shutdown_date: { readonly value: string } | null;
  readonly arena_score: { readonly value: number } | null;
  readonly price: Readonly<Record<string, unknown>> & { readonly basis: string; readonly tiers?: Tier[] };
  readonly routes: readonly { readonly provider: string; readonly priority: number }[];
}

interface Tier {
  readonly usd: string;
  readonly quality?: string;
  readonly sizes?: readonly string[];
  readonly max_pixels?: number;
  readonly seconds?: readonly number[];
  readonly audio?: boolean;
}

const SEED = join(import.meta.dirname, "../../seed");

/** Every model of the seed that is not shut down on this day. */
export function plainSeed(today: string): PlainModel[] {
  const files = readdirSync(SEED).map((name) => JSON.parse(readFileSync(join(SEED, name), "utf8")));
  return files.flatMap(({ vendor, models }: { vendor: string; models: SeedRow[] }) =>
    models
      .filter(({ shutdown_date: end }) => end === null || today < end.value)
      .map((row) => ({
        id: row.id,
        type: row.type,
        vendor,
        providers: [...row.routes].sort((a, b) => a.priority - b.priority).map(({ provider }) => provider),
        released: row.release_date?.value ?? null,
        score: row.arena_score?.value ?? null,
        price: seedPrice(row),
        free: amountsIn(row.price).every((usd) => Number(usd) === 0),
      })),
  );
}

/** A row of OpenRouter's shape, served under this provider's name. */
export function plainText(
  row: { id: string; created: number | null; pricing: { prompt: string; completion: string } },
  provider: string,
): PlainModel {
  const { prompt, completion } = row.pricing;
  return {
    id: row.id,
    type: "text",
    vendor: row.id.split("/")[0] ?? "",
    providers: [provider],
    released: row.created === null ? null : new Date(row.created * 1_000).toISOString().slice(0, 10),
    score: null,
    price: (pico(prompt) + pico(completion)) * 1_000n,
    free: Number(prompt) === 0 && Number(completion) === 0,
  };
}

/** Ids in the order of the answer. `texts`: whether text models are listed when no type is asked for. */
export function plainList(models: readonly PlainModel[], query: PlainQuery, texts: boolean): string[] {
  let rest = models.filter((model) => {
    if (query.type === undefined) return texts || model.type !== "text";
    return model.type === query.type;
  });
  if (query.free !== undefined) rest = rest.filter(({ free }) => String(free) === query.free);
  rest = rest.filter(({ id }) => contains(id, query.name ?? ""));
  rest = rest.filter((model) =>
    [model.vendor, ...model.providers].some((name) => contains(name, query.provider ?? "")),
  );
  const sorted: string[] = [];
  // Selection: the one that nobody else comes before is next.
  while (rest.length > 0) {
    const next = rest.find((one) =>
      rest.every((other) => other === one || comesBefore(one, other, query.sort)),
    );
    if (next === undefined) throw new Error("the order is no order");
    sorted.push(next.id);
    rest = rest.filter((model) => model !== next);
  }
  return query.limit === undefined
    ? sorted
    : sorted.filter((_, index) => BigInt(index) < BigInt(query.limit ?? 0));
}

function contains(text: string, part: string): boolean {
  return text.toLowerCase().split(part.toLowerCase()).length > 1 || part === "";
}

function comesBefore(one: PlainModel, other: PlainModel, sort: string | undefined): boolean {
  const byId = one.id < other.id;
  switch (sort) {
    case "name":
      return earlier(one.id.toLowerCase(), other.id.toLowerCase()) ?? byId;
    case "provider":
      return earlier(one.providers[0]?.toLowerCase(), other.providers[0]?.toLowerCase()) ?? byId;
    case "price":
      return earlier(one.price, other.price) ?? byId;
    case "arena_score":
      return (
        earlier(one.score === null ? null : -one.score, other.score === null ? null : -other.score) ?? byId
      );
    case "date":
      return earlier(daysAgo(one.released), daysAgo(other.released)) ?? byId;
    default:
      return byId;
  }
}

/** Undefined for equals; what is missing is later than all else. */
function earlier<Value>(a: Value | null | undefined, b: Value | null | undefined): boolean | undefined {
  const [aMissing, bMissing] = [a == null, b == null];
  if (aMissing || bMissing) return aMissing === bMissing ? undefined : bMissing;
  if (a === b) return undefined;
  return (a as Value) < (b as Value);
}

function daysAgo(day: string | null): number | null {
  return day === null ? null : -Date.parse(day);
}

function seedPrice({ price, default: asked, capabilities }: SeedRow): bigint {
  const needsImage = !capabilities.includes("text-to-image") && !capabilities.includes("text-to-video");
  const paidImage = needsImage && Number(price["free_input_images"] ?? 0) === 0;
  const image = paidImage ? pico(String(price["input_image_usd"] ?? "0")) : 0n;
  const [width = 0, height = 0] = (asked.size ?? "0x0").split("x").map(Number);
  if (price.basis === "megapixel") {
    const unit = BigInt(Number(price["unit_pixels"]));
    const units = (BigInt(width * height) + unit - 1n) / unit;
    return pico(String(price["first_usd"])) + (units - 1n) * pico(String(price["further_usd"])) + image;
  }
  const tier = price.tiers?.find(
    ({ quality, sizes, max_pixels: most, seconds, audio }) =>
      (quality === undefined || quality === asked.quality) &&
      (sizes === undefined || sizes.includes(asked.size ?? "")) &&
      (most === undefined || (asked.size !== undefined && width * height <= most)) &&
      (seconds === undefined || seconds.includes(asked.seconds ?? 0)) &&
      audio !== true,
  );
  if (tier === undefined) throw new Error("no tier for the defaults");
  return pico(tier.usd) * (price.basis === "second" ? BigInt(asked.seconds ?? 0) : 1n) + image;
}

/** Every amount that a rule has, however deep. */
function amountsIn(rule: unknown): string[] {
  if (typeof rule !== "object" || rule === null) return [];
  return Object.entries(rule).flatMap(([name, value]) =>
    name.endsWith("usd") && typeof value === "string" ? [value] : amountsIn(value),
  );
}

/** "0.053" in units of 1e-12. */
function pico(usd: string): bigint {
  const [whole = "", fraction = ""] = usd.split(".");
  return BigInt(whole + fraction.padEnd(12, "0"));
}
