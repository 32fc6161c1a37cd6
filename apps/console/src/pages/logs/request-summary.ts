// Request summary is one line about a request: its prompt, or its tokens where the text is not stored.
import type { GenerationRecord, RequestRecord, TextRequestRecord } from "@gr/console-api";
import { countText } from "../../parts/figures/figure-text.ts";

export function summaryOf(request: RequestRecord): string {
  return request.kind === "text" ? summaryOfText(request) : summaryOfMedia(request);
}

function summaryOfText({ api, usage, error, status }: TextRequestRecord): string {
  if (error !== null) return error.message;
  const name = api === null ? "Text" : api === "responses" ? "Response" : "Chat";
  if (usage === null) return status === "running" ? `${name}, not over yet` : `${name}, without details`;
  return `${name}, ${countText(usage.input_tokens)} tokens in, ${countText(usage.output_tokens)} out`;
}

function summaryOfMedia({ kind, parameters }: GenerationRecord): string {
  return parameters.prompt ?? (kind === "video" ? "Video, prompt not stored" : "Image, prompt not stored");
}
