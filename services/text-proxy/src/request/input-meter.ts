// How much input a request can amount to, counted while it is read: never less than any upstream will count,
// so that a hold sized by it holds. Bytes bound the tokens of text, since no tokenizer makes more tokens than bytes.
import type { JsonObject } from "../json/json-object.ts";

/** Tools whose definition is all there is to them: the client runs them. Others bring input of their own. */
const CLIENT_TOOLS: ReadonlySet<unknown> = new Set(["function", "custom"]);
/** Fields that point at input which is not in the body. */
const REMOTE_FIELDS = [
  "previous_response_id",
  "conversation",
  "prompt",
  "web_search_options",
  "plugins",
] as const;
const REMOTE_PARTS: ReadonlySet<unknown> = new Set([
  "file",
  "input_file",
  "video_url",
  "input_video",
  "item_reference",
  "computer_call_output",
]);

export class InputMeter {
  /** Bytes of the body that can be text; images that are sent along are not. */
  textBytes: number;
  messages = 0;
  images = 0;
  /** Where the first image is, for an error message. */
  firstImage = "";
  audio = false;
  tools = false;
  /** Input is fetched from elsewhere, so only the model's context bounds it. */
  remote = false;

  constructor(bodyBytes: number) {
    this.textBytes = bodyBytes;
  }

  /** Notes what a content part brings; parts of unknown kinds count by their bytes. */
  addPart(part: unknown, owner: string, index: number): void {
    if (typeof part !== "object" || part === null) return;
    const type = (part as JsonObject)["type"];
    if (type === "image_url" || type === "input_image") {
      if (this.images === 0) this.firstImage = `${owner}[${index}]`;
      this.images += 1;
      this.textBytes -= inlineImageLength((part as JsonObject)["image_url"]);
    } else if (type === "input_audio") this.audio = true;
    else if (REMOTE_PARTS.has(type)) this.remote = true;
  }

  /** Notes which other fields of the body bring input. */
  addParameters(body: JsonObject): void {
    for (const name of REMOTE_FIELDS) {
      if (body[name] != null) this.remote = true;
    }
    const tools = body["tools"];
    if (!Array.isArray(tools) || tools.length === 0) return;
    this.tools = true;
    for (const tool of tools) {
      if (!CLIENT_TOOLS.has((tool as JsonObject | null)?.["type"])) this.remote = true;
    }
  }
}

/** Characters of an image that is sent as a data URI; base64 is ASCII, so they are bytes too. */
function inlineImageLength(image: unknown): number {
  const url = typeof image === "object" && image !== null ? (image as JsonObject)["url"] : image;
  return typeof url === "string" && url.startsWith("data:image/") ? url.length : 0;
}
