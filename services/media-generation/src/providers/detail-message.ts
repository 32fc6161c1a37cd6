// The error body that several providers share: `detail` is a sentence, or a list of what is wrong, each with its place.
import { z } from "zod";
import type { OutboundAnswer } from "./outbound.ts";

const problem = z.object({
  loc: z.array(z.union([z.string(), z.number()])).nullish(),
  msg: z.string(),
  type: z.string().nullish(),
});
const body = z.object({ detail: z.union([z.string(), z.array(problem).min(1)]) });

export interface Detail {
  /** For whoever sent the request. */
  readonly message: string;
  /** What kind of problem each is, as the provider documents them. */
  readonly types: readonly string[];
}

/** Undefined when the body has another shape. */
export function readDetail(answer: Pick<OutboundAnswer, "json">): Detail | undefined {
  const parsed = body.safeParse(answer.json());
  if (!parsed.success) return undefined;
  const { detail } = parsed.data;
  if (typeof detail === "string") return { message: detail, types: [] };
  return {
    message: detail.map(({ loc, msg }) => [placeOf(loc ?? []), msg].filter(Boolean).join(": ")).join("; "),
    types: detail.flatMap(({ type }) => type ?? []),
  };
}

/** The field, without the part of the request that it stands in. */
const placeOf = (loc: readonly (string | number)[]) => (loc[0] === "body" ? loc.slice(1) : loc).join(".");
