// UpstreamBody is the body for the upstream: the client's bytes, with the model's name at the
// upstream. Chat streams request their usage, without which the true cost would be unknown. If the
// money requires it, an output limit is added.
import { findMember, scanObject } from "../json/json-members.ts";
import { applySplices, type Splice, setMember } from "../json/json-splice.ts";
import type { TextRequest } from "./text-request.ts";

/** An output limit that the client has not set. */
export interface AddedLimit {
  readonly field: string;
  readonly tokens: bigint;
}

export function upstreamBody(
  request: TextRequest,
  upstreamModel: string,
  limit?: AddedLimit,
  bounds: readonly Splice[] = [],
): Buffer {
  const { bytes, layout } = request;
  const splices: Splice[] = [...bounds];
  if (upstreamModel !== request.model) {
    splices.push(setMember(bytes, layout, "model", JSON.stringify(upstreamModel)));
  }
  if (request.api === "chat" && request.stream) splices.push(askForUsage(request));
  if (limit !== undefined) splices.push(setMember(bytes, layout, limit.field, String(limit.tokens)));
  return applySplices(bytes, splices);
}

function askForUsage({ bytes, layout, streamOptions }: TextRequest): Splice {
  const member = findMember(bytes, layout, "stream_options");
  if (streamOptions !== "object" || member === undefined) {
    return setMember(bytes, layout, "stream_options", '{"include_usage":true}');
  }
  return setMember(bytes, scanObject(bytes, member.valueStart), "include_usage", "true");
}
