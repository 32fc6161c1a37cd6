// UpstreamBody is the body for the upstream: the client's bytes, with the model's name at the
// upstream. Chat streams request their usage, without which the true cost would be unknown. If the
// money requires it, an output limit is added.
import { findMember, scanObject } from "../json/json-members.ts";
import { applySplices, type Splice, setMember } from "../json/json-splice.ts";
import { LIMIT_FIELDS, type TextRequest } from "./text-request.ts";

/** A limit on output that the money needs. It replaces a higher limit of the client. */
export interface AddedLimit {
  /** Field of the upstream for a client without a limit. */
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
  if (limit !== undefined) splices.push(...limitOutput(request, limit));
  return applySplices(bytes, splices);
}

/** Some upstreams refuse two limits, so the fields of the client are used if there are any. */
function limitOutput({ api, bytes, layout }: TextRequest, { field, tokens }: AddedLimit): Splice[] {
  const stated = LIMIT_FIELDS[api].filter((name) => findMember(bytes, layout, name) !== undefined);
  const fields = stated.length === 0 ? [field] : stated;
  return fields.map((name) => setMember(bytes, layout, name, String(tokens)));
}

function askForUsage({ bytes, layout, streamOptions }: TextRequest): Splice {
  const member = findMember(bytes, layout, "stream_options");
  if (streamOptions !== "object" || member === undefined) {
    return setMember(bytes, layout, "stream_options", '{"include_usage":true}');
  }
  return setMember(bytes, scanObject(bytes, member.valueStart), "include_usage", "true");
}
