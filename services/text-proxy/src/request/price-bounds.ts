// Price bounds are limits in the body that keep the upstream's bill within the hold. A limit of the client is never
// raised: the lower of both is sent.
import { type Credits, formatPicoUsd, larger, PICO_PER_CREDIT, type PicoUsd, parsePicoUsd } from "@gr/money";
import type { TokenPrice } from "@gr/proto/catalog";
import type { PriceTerms } from "@gr/text-upstream";
import { findMember, type Member, scanObject, valueText } from "../json/json-members.ts";
import { type Splice, setMember } from "../json/json-splice.ts";
import { callsAllowed, dearestFee } from "./price-effects.ts";
import type { TextRequest } from "./text-request.ts";

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const MILLION = 1_000_000n;
/** A deep search with reasoning (OpenRouter's documentation of server tools): 0.015 USD. */
const DEAREST_STEP: PicoUsd = 15_000_000_000n;

export interface BoundedOrder {
  readonly request: TextRequest;
  /** The highest rates that the upstream can apply. */
  readonly price: TokenPrice;
  readonly terms: PriceTerms | undefined;
  readonly held: Credits;
}

export function priceBounds({ request, price, terms, held }: BoundedOrder): Splice[] {
  if (terms === undefined) return [];
  const { bytes, layout } = request;
  const splices: Splice[] = [];
  if (terms.bounds.has("standard_tier")) splices.push(setMember(bytes, layout, "service_tier", '"default"'));
  if (terms.bounds.has("max_price")) splices.push(boundHosts(request, price));
  if (terms.bounds.has("server_tool_cost")) splices.push(boundServerTools(request, held));
  const fee = dearestFee(price, terms);
  if (fee > 0n && request.api === "responses" && request.toolCallLimit === undefined) {
    splices.push(setMember(bytes, layout, "max_tool_calls", String(callsAllowed(fee))));
  }
  return splices;
}

/** Limits the prices of hosts, per million tokens and per request. */
function boundHosts({ bytes, layout }: TextRequest, price: TokenPrice): Splice {
  const { audioInputPicoUsd: audio } = price;
  const limits: Record<string, PicoUsd> = {
    prompt: price.inputPicoUsd * MILLION,
    completion: price.outputPicoUsd * MILLION,
    request: price.requestPicoUsd,
    ...(audio === undefined ? {} : { audio: audio * MILLION }),
  };
  const provider = findMember(bytes, layout, "provider");
  if (provider === undefined || bytes[provider.valueStart] !== OPEN_BRACE) {
    return setMember(bytes, layout, "provider", `{"max_price":${writeLimits(limits, {})}}`);
  }
  const inner = scanObject(bytes, provider.valueStart);
  const own = findMember(bytes, inner, "max_price");
  return setMember(
    bytes,
    inner,
    "max_price",
    writeLimits(limits, own === undefined ? {} : readLimits(bytes, own)),
  );
}

/** The client's own limits in their original text. */
function readLimits(bytes: Buffer, { valueStart }: Member): Readonly<Record<string, string>> {
  if (bytes[valueStart] !== OPEN_BRACE) return {};
  const limits = scanObject(bytes, valueStart);
  const names = ["prompt", "completion", "request", "audio", "image"];
  return Object.fromEntries(
    names.flatMap((name) => {
      const member = findMember(bytes, limits, name);
      return member === undefined ? [] : [[name, valueText(bytes, member)]];
    }),
  );
}

function writeLimits(
  ours: Readonly<Record<string, PicoUsd>>,
  theirs: Readonly<Record<string, string>>,
): string {
  const names = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
  const members = [...names].flatMap((name) => {
    const own = theirs[name];
    const asked = own === undefined ? undefined : amountOf(own);
    const limit = ours[name];
    if (asked !== undefined && own !== undefined && (limit === undefined || asked < limit))
      return [`"${name}":${own}`];
    return limit === undefined ? [] : [`"${name}":${formatPicoUsd(limit)}`];
  });
  return `{${members.join(",")}}`;
}

function amountOf(text: string): PicoUsd | undefined {
  return parsePicoUsd(text.startsWith('"') ? String(JSON.parse(text)) : text);
}

/** The upstream stops after the step that exceeds the amount, so the hold has room for one more step. */
function boundServerTools({ bytes, layout }: TextRequest, held: Credits): Splice {
  const most = larger(held * PICO_PER_CREDIT - DEAREST_STEP, 0n);
  const condition = `{"type":"max_cost","max_cost_in_dollars":${formatPicoUsd(most)}}`;
  const own = findMember(bytes, layout, "stop_server_tools_when");
  if (own === undefined || bytes[own.valueStart] !== OPEN_BRACKET) {
    return setMember(bytes, layout, "stop_server_tools_when", `[${condition}]`);
  }
  return {
    start: own.valueStart + 1,
    end: own.valueStart + 1,
    text: isEmpty(bytes, own) ? condition : `${condition},`,
  };
}

function isEmpty(bytes: Buffer, { valueStart, valueEnd }: Member): boolean {
  return bytes.toString("latin1", valueStart + 1, valueEnd - 1).trim() === "";
}
