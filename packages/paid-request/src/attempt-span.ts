// Attempt spans trace each call of a generative model, with the names of OpenTelemetry's GenAI conventions.
import { type Attributes, currentSpan, failSpan, inSpan, type Span, SpanKind } from "@gr/runtime";
import type { Order, Route } from "./order.ts";
import type { AttemptEnd, Broken, Kinds } from "./ports.ts";

/** Attributes of a service's attempts, in the terms of the conventions. */
export interface AttemptNames<K extends Kinds> {
  readonly operation: "chat" | "generate_content";
  readonly outputOf: (order: K["order"]) => "text" | "image" | "video";
  /** Tokens of a bill; absent in services that count none. */
  readonly tokensOf?: (bill: K["bill"]) => { readonly input: number; readonly output: number };
}

interface Attempt {
  readonly route: Route;
  readonly number: number;
}

export function inAttemptSpan<K extends Kinds>(
  names: AttemptNames<K> | undefined,
  order: K["order"],
  { route, number }: Attempt,
  attempt: () => Promise<AttemptEnd<K> | Broken<K>>,
): Promise<AttemptEnd<K> | Broken<K>> {
  if (names === undefined || currentSpan() === undefined) return attempt();
  const describe = () => ({ kind: SpanKind.CLIENT, attributes: attributesOf(names, order, route, number) });
  return inSpan(`${names.operation} ${route.upstreamModel}`, describe, async (span) => {
    const end = await attempt();
    if (span !== undefined) recordEnd(span, names, end);
    return end;
  });
}

function attributesOf<K extends Kinds>(
  { operation, outputOf }: AttemptNames<K>,
  order: K["order"],
  { provider, upstreamModel }: Route,
  number: number,
): Attributes {
  return {
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": provider,
    "gen_ai.request.model": upstreamModel,
    "gen_ai.output.type": outputOf(order),
    ...factsOf(order),
    "gr.attempt.number": number,
  };
}

function factsOf({ id, model, accountId, keyId }: Order): Attributes {
  return { "gr.request.id": id, "gr.model": model, "gr.account.id": accountId, "gr.key.id": keyId };
}

function recordEnd<K extends Kinds>(
  span: Span,
  { tokensOf }: AttemptNames<K>,
  end: AttemptEnd<K> | Broken<K>,
): void {
  span.setAttribute("gr.attempt.end", end.kind);
  if (end.billId !== "") span.setAttribute("gen_ai.response.id", end.billId);
  if (end.kind !== "delivered") {
    failSpan(span, end.kind === "broken" ? "broke_off" : end.why);
    return;
  }
  const tokens = end.bill && tokensOf?.(end.bill);
  if (tokens === undefined) return;
  span.setAttribute("gen_ai.usage.input_tokens", tokens.input);
  span.setAttribute("gen_ai.usage.output_tokens", tokens.output);
}
