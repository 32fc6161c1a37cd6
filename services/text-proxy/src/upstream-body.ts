// The body that goes upstream: the client's bytes, but for the model's name there and, in chat streams, the wish to
// be told the usage, without which the true cost could not be known.
import { refuseRepeatedMembers } from "@gr/runtime";
import { findMember, scanObject } from "./json-members.ts";
import { applySplices, type Splice, setMember } from "./json-splice.ts";
import type { TextRequest } from "./text-request.ts";

/** @throws ServiceError invalid_json when stream_options has a field twice */
export function upstreamBody(request: TextRequest, upstreamModel: string): Buffer {
  const { bytes, layout } = request;
  const splices: Splice[] = [];
  if (upstreamModel !== request.model) {
    splices.push(setMember(bytes, layout, "model", JSON.stringify(upstreamModel)));
  }
  if (request.api === "chat" && request.stream) {
    const splice = askForUsage(request);
    if (splice !== undefined) splices.push(splice);
  }
  return applySplices(bytes, splices);
}

function askForUsage({ bytes, layout, streamOptions }: TextRequest): Splice | undefined {
  const member = findMember(bytes, layout, "stream_options");
  if (streamOptions !== "object" || member === undefined) {
    return setMember(bytes, layout, "stream_options", '{"include_usage":true}');
  }
  const options = scanObject(bytes, member.valueStart);
  const text = bytes.toString("utf8", member.valueStart, member.valueEnd);
  const parsed = JSON.parse(text) as Record<string, unknown>;
  if (Object.keys(parsed).length !== options.members.length) refuseRepeatedMembers(bytes);
  return parsed["include_usage"] === true ? undefined : setMember(bytes, options, "include_usage", "true");
}
