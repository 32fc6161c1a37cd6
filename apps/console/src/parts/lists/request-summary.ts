// Request summary is a title and a line about a request: its prompt, or its tokens where the text is not stored.
import type { GenerationRecord, RequestRecord, TextRecord } from "@gr/console-api";
import { countText } from "../figures/figure-text.ts";

export function summaryOf(request: RequestRecord): string {
  return request.kind === "text" ? titleOfText(request) : titleOfMedia(request);
}

/** Returns the second line of a row. A failed request has its error there. */
export function detailOf(request: RequestRecord): string {
  if (request.error !== null) return request.error.message;
  return request.kind === "text" ? tokensOf(request) : shapeOf(request);
}

function titleOfText({ api }: TextRecord): string {
  return api === null ? "Text" : api === "responses" ? "Responses" : "Chat";
}

function tokensOf({ usage, status }: TextRecord): string {
  if (usage === null) return status === "running" ? "Not over yet" : "Without details";
  return `${countText(usage.input_tokens)} in · ${countText(usage.output_tokens)} out`;
}

function titleOfMedia({ kind, request }: GenerationRecord): string {
  return request.prompt ?? (kind === "video" ? "Video, prompt not stored" : "Image, prompt not stored");
}

function shapeOf({ kind, request }: GenerationRecord): string {
  const { n, size, seconds, input_images: inputs } = request;
  const made = kind === "video" ? `${seconds ?? "?"} s` : n === 1 ? "1 image" : `${n} images`;
  return [inputs !== undefined && "Edit", made, size].filter(Boolean).join(" · ");
}
