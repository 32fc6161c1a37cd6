// Reads the error body that several providers share: `detail` is a sentence, or a list of problems with their places.
import { z } from "zod";
import type { OutboundAnswer } from "./outbound.ts";

const problem = z.object({
  loc: z.array(z.union([z.string(), z.number()])).nullish(),
  msg: z.string(),
  type: z.string().nullish(),
});
const body = z.object({ detail: z.union([z.string(), z.array(problem).min(1)]) });

export interface Detail {
  /** Message for the client. */
  readonly message: string;
  /** Problem types, as the provider documents them. */
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

/** The field's path, without the part of the request that contains it. */
const placeOf = (loc: readonly (string | number)[]) => (loc[0] === "body" ? loc.slice(1) : loc).join(".");
