// OwnCatalog is an operator's own catalogue: files in the seed's format that add models, change
// members of shipped ones, or hide models. The result must meet all rules of the seed; each mistake is
// named by file, model, field and rule.
import { isDeepStrictEqual } from "node:util";
import type { Model } from "@gr/proto/catalog";
import type { TextUpstream } from "@gr/text-upstream";
import { z } from "zod";
import { MODEL_ID, MOST_ID_CHARACTERS } from "./model-name.ts";
import { readModel, type Seed, type SeedFile, type SeedRow, vendorName } from "./seed.ts";
import { seedModel } from "./seed-model.ts";
import { usd } from "./seed-price.ts";
import { nameOfRow, parseFile, problemsOf, refuseProblems } from "./seed-problems.ts";
import { boardOf } from "./seed-rules.ts";
import { modelOfText, type TextRoute } from "./text-model.ts";
import { priceRow, textModelOf, textPricesOf } from "./text-price-list.ts";

/** Size limit of all files together, in bytes. The models before and after a change fit one RPC message. */
export const MOST_OWN_BYTES = 1024 * 1024;

const ownFile = z.strictObject({ vendor: vendorName.optional(), models: z.array(z.unknown()).min(1) });

const rowHead = z.looseObject({
  id: z.string().regex(MODEL_ID).max(MOST_ID_CHARACTERS),
  type: z.enum(["image", "video", "text"]).optional(),
  /** Not listed. All other fields of the row are checked as usual. */
  hidden: z.boolean().default(false),
});

const upstreamModel = z.string().min(1).max(MOST_ID_CHARACTERS).optional();
/** The price list's format, so that a row can be copied between the two. */
const textRow = priceRow.extend({
  type: z.literal("text"),
  /** Name at the upstream; absent = the id. */
  upstream_model: upstreamModel,
  /** Upstreams, the preferred first; absent = the first upstream that does not list its own prices. */
  routes: z
    .array(
      z.strictObject({
        upstream: z.string().min(1),
        upstream_model: upstreamModel,
        /** Rates of this upstream, if they differ. */
        usd_per_million: priceRow.shape.usd_per_million.optional(),
        request_usd: usd.optional(),
        tool_usd: priceRow.shape.tool_usd.unwrap().optional(),
        cases: priceRow.shape.cases.unwrap().optional(),
      }),
    )
    .min(1)
    .optional(),
});

/** Text upstreams, the preferred first. None: text models are checked and omitted. */
export type OwnTextUpstreams = readonly Pick<TextUpstream, "name" | "kind">[];

export interface OwnCatalog {
  /** The seed's models with the files' changes, and the files' new models; without hidden ones. */
  readonly models: readonly Model[];
  /** Ids that are hidden, from any source. */
  readonly hidden: ReadonlySet<string>;
  /** Ids of new models, and of shipped ones that the files change; none of them is hidden. */
  readonly added: readonly string[];
  readonly changed: readonly string[];
}

interface OwnRow {
  readonly at: string;
  readonly id: string;
  readonly hidden: boolean;
  readonly isNew: boolean;
  readonly model?: Model | undefined;
}

type ReadRow = { readonly row: OwnRow } | { readonly problems: readonly string[] };

/** @throws OperatorError that names file, model, field and rule of each fault */
export function ownCatalog(seed: Seed, files: readonly SeedFile[], upstreams: OwnTextUpstreams): OwnCatalog {
  const { problems, ...catalog } = readOwnCatalog(seed, files, upstreams);
  refuseProblems("The catalogue folder", problems);
  return catalog;
}

/** Returns the catalogue of the valid parts of these files, and a sentence without its full stop for each fault. */
export function readOwnCatalog(
  seed: Seed,
  files: readonly SeedFile[],
  upstreams: OwnTextUpstreams,
): OwnCatalog & { readonly problems: readonly string[] } {
  const read = files.flatMap((file) => readOwnFile(seed, file, upstreams));
  const rows = new Map<string, OwnRow>();
  const problems = read.flatMap((each) => ("problems" in each ? each.problems : []));
  if (files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0) > MOST_OWN_BYTES)
    problems.push(`its files have more than ${MOST_OWN_BYTES} bytes`);
  for (const each of read) {
    if ("problems" in each) continue;
    const { at, id } = each.row;
    const first = rows.get(id);
    if (first === undefined) rows.set(id, each.row);
    else problems.push(`${at}: id: is there more than once, first in ${first.at.split(": ", 1)[0]}`);
  }
  const shipped = seed.models.filter(({ id }) => !rows.has(id));
  const shown = [...rows.values()].filter(({ hidden }) => !hidden);
  return {
    models: [...shipped, ...shown.flatMap(({ model }) => model ?? [])],
    hidden: new Set([...rows.values()].filter(({ hidden }) => hidden).map(({ id }) => id)),
    added: shown.filter(({ isNew }) => isNew).map(({ id }) => id),
    changed: shown.filter(({ isNew }) => !isNew).map(({ id }) => id),
    problems,
  };
}

function readOwnFile(seed: Seed, file: SeedFile, upstreams: OwnTextUpstreams): ReadRow[] {
  const parsed = parseFile(ownFile, file);
  if ("problems" in parsed) return [parsed];
  const { vendor, models } = parsed.data;
  return models.map((row, index) => {
    const at = `${file.name}: ${nameOfRow(row, index)}`;
    const head = rowHead.safeParse(row);
    if (!head.success) return { problems: problemsOf(head.error, at) };
    const { hidden, ...fields } = head.data;
    if (vendor !== undefined && !fields.id.startsWith(`${vendor}/`))
      return { problems: [`${at}: id must begin with "${vendor}/", the vendor of the file`] };
    const shipped = seed.rows.get(fields.id);
    const about = { at, id: fields.id, hidden, isNew: shipped === undefined };
    if (shipped !== undefined) return changedModel(seed, shipped, fields, about);
    if (fields.type === "text") return textModel(fields, about, upstreams);
    if (fields.type !== undefined) return mediaModel(seed, fields, fields.id.split("/", 1)[0] ?? "", about);
    const rule = hidden
      ? 'no model with this id is shipped; to hide a model of the text upstream, add "type": "text"'
      : "no model with this id is shipped; to add a model, write its type and all its other members";
    return { problems: [`${at}: id: ${rule}`] };
  });
}

type Fields = Readonly<Record<string, unknown>>;
type About = Omit<OwnRow, "model">;

function mediaModel(seed: Seed, fields: Fields, vendor: string, about: About): ReadRow {
  const { model, problems } = readModel(fields, about.at, vendor);
  if (model === undefined || problems.length > 0) return { problems };
  const [board] = boardOf(model);
  const [other] = seed.models.flatMap((one) => (one.kind === model.kind ? boardOf(one) : []));
  // Scores of different boards or days are not comparable, and the list sorts by them.
  if (board === undefined || other === undefined || board === other) return { row: { ...about, model } };
  return { problems: [`${about.at}: arena_score: must be of ${other}, as all scores of its type`] };
}

function textModel(fields: Fields, about: About, upstreams: OwnTextUpstreams): ReadRow {
  const { id: _id, type: _type, ...more } = fields;
  if (about.hidden && Object.keys(more).length === 0) return { row: about };
  const row = textRow.safeParse(fields);
  if (!row.success) return { problems: problemsOf(row.error, about.at) };
  const text = textModelOf(row.data);
  const listed = row.data.routes ?? usualRoute(upstreams);
  if (listed === undefined) {
    const [first] = upstreams;
    if (first === undefined) return { row: about };
    const rule = `text needs routes, or an upstream of kind openai or openai-compatible, since ${first.name} of kind ${first.kind.name} lists the prices of its models itself`;
    return { problems: [`${about.at}: type: ${rule}`] };
  }
  const names = listed.map(({ upstream }) => upstream);
  if (new Set(names).size < names.length)
    return { problems: [`${about.at}: routes: name an upstream twice`] };
  const routes = listed
    .filter(({ upstream }) => upstreams.some(({ name }) => name === upstream))
    .map((route): TextRoute => {
      const rates = { ...row.data, ...definedIn(route) };
      const called = route.upstream_model ?? row.data.upstream_model ?? text.id;
      return { upstream: route.upstream, upstreamModel: called, prices: textPricesOf(rates) };
    });
  return { row: routes.length === 0 ? about : { ...about, model: modelOfText(text, routes) } };
}

type ListedRoute = NonNullable<z.infer<typeof textRow>["routes"]>[number];

function usualRoute(upstreams: OwnTextUpstreams): readonly ListedRoute[] | undefined {
  const usual = upstreams.find(({ kind }) => kind.listing.prices === "ours");
  return usual && [{ upstream: usual.name }];
}

/** Returns the route's own prices. */
function definedIn({ usd_per_million, request_usd, tool_usd, cases }: ListedRoute) {
  return {
    // The model's cases belong to its usual rates.
    ...(usd_per_million === undefined ? {} : { usd_per_million, cases: [] }),
    ...(cases === undefined ? {} : { cases }),
    ...(request_usd === undefined ? {} : { request_usd }),
    ...(tool_usd === undefined ? {} : { tool_usd }),
  };
}

/** A named member replaces the shipped one as a whole; null removes an optional one. */
function changedModel(seed: Seed, shipped: SeedRow, fields: Fields, about: About): ReadRow {
  if (fields["type"] !== undefined && fields["type"] !== shipped.row["type"])
    return { problems: [`${about.at}: type: is ${shipped.row["type"]} and cannot be changed`] };
  const merged = Object.entries({ ...shipped.row, ...fields }).filter(
    ([name, value]) => value !== null || !OPTIONAL.has(name),
  );
  const row = { ...Object.fromEntries(merged), routes: routesOf(shipped.row, fields) };
  return mediaModel(seed, row, shipped.vendor, about);
}

const OPTIONAL: ReadonlySet<string> = new Set(
  Object.entries(seedModel.shape)
    .filter(([, member]) => member.safeParse(undefined).success)
    .map(([name]) => name),
);

const routeHead = z.looseObject({ provider: z.string(), upstream_model: z.string(), cost: z.unknown() });

/**
 * The cost of a shipped route does not change with our own price. If its cost was the shipped price, and the files set
 * no other cost, the shipped price remains its cost. A price below that cost is then refused like any other.
 */
function routesOf(shipped: Fields, fields: Fields): unknown {
  const routes = z.array(routeHead).safeParse(fields["routes"] ?? shipped["routes"]);
  const known = z.array(routeHead).safeParse(shipped["routes"]);
  // The check of the model itself names the faults in them.
  if (!routes.success || !known.success) return fields["routes"] ?? shipped["routes"];
  const repriced = fields["price"] !== undefined && !isDeepStrictEqual(fields["price"], shipped["price"]);
  return routes.data.map((route) => {
    const same = known.data.find(
      ({ provider, upstream_model }) =>
        provider === route.provider && upstream_model === route.upstream_model,
    );
    if (same === undefined || route.cost !== null) return route;
    return { ...route, cost: same.cost ?? (repriced ? shipped["price"] : null) };
  });
}
