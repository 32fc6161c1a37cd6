// The body that goes upstream: the client's bytes, but for the model's name there, in chat streams the wish to be told
// the usage, without which the true cost could not be known, and a limit on output where the money needs one.
import { findMember, scanObject } from "../json/json-members.ts";
import { applySplices, type Splice, setMember } from "../json/json-splice.ts";
import type { TextRequest } from "./text-request.ts";

/** A limit on output that the client has not given. */
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
