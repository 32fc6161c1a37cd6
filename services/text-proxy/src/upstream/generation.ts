// Generation is an upstream's later report about one generation, read exactly.
import type { TokenMeters } from "@gr/models";
import type { PicoUsd } from "@gr/money";
import { parseForeignJson } from "@gr/runtime";
import type { UpstreamKind } from "@gr/text-upstream";
import { findMember, scanObject } from "../json/json-members.ts";
import { isObject } from "../json/json-object.ts";
import { amountsIn, boundedCost, isTokenCount } from "./usage.ts";

export interface Generation {
  readonly cost: PicoUsd;
  /** Undefined if the upstream does not report token counts. */
  readonly meters: TokenMeters | undefined;
}

/** @returns undefined for a report without a cost. @throws Error for a report that is no JSON */
export function readGeneration(
  { read }: NonNullable<UpstreamKind["generations"]>,
  json: Buffer,
): Generation | undefined {
  const body: unknown = parseForeignJson(json);
  const data = isObject(body) ? body["data"] : undefined;
  const member = isObject(data) ? findMember(json, scanObject(json), "data") : undefined;
  if (!isObject(data) || member === undefined) return undefined;
  const report = read(data, amountsIn(json, scanObject(json, member.valueStart)));
  const cost = report && boundedCost(report.cost);
  if (report === undefined || cost === undefined) return undefined;
  const { inputTokens, outputTokens } = report;
  const counted = isTokenCount(inputTokens) && isTokenCount(outputTokens);
  return { cost, meters: counted ? { inputTokens, outputTokens } : undefined };
}
