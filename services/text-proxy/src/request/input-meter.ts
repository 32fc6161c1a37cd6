// InputMeter counts the largest input of a request during its parsing: never less than any upstream will count,
// so that the hold is large enough. Bytes limit the tokens of text, since no tokenizer creates more tokens than bytes.
import { stringLengthIn } from "@gr/runtime";
import { isObject, type JsonObject } from "../json/json-object.ts";
import { ReadNames } from "./lookalikes.ts";

/** Tools without input beyond their definition: the client runs them. Other tools add input of their own. */
const CLIENT_TOOLS: ReadonlySet<unknown> = new Set(["function", "custom", "local_shell", "apply_patch"]);
/** Fields that refer to input outside of the body. */
const REMOTE_FIELDS = ["previous_response_id", "conversation", "prompt"] as const;
/** Fields that let the provider fetch input, for a fee. */
const EXTRA_FIELDS = ["web_search_options", "plugins"] as const;
const FILE_PARTS: ReadonlySet<unknown> = new Set(["file", "input_file"]);
const REMOTE_PARTS: ReadonlySet<unknown> = new Set([
  "video_url",
  "input_video",
  "item_reference",
  "computer_call_output",
]);

const PART = new ReadNames("type", "image_url");
const IMAGE = new ReadNames("url");
const TOOL = new ReadNames("type");

export class InputMeter {
  /** Bytes of the body that can be text; images within the body are excluded. */
  textBytes: number;
  messages = 0;
  images = 0;
  /** Path of the first image, for an error message. */
  firstImage = "";
  audio = false;
  /** True if parts of the input are cached for longer than usual. */
  longCache = false;
  tools = false;
  /** True if input is fetched from another place, so that only the model's context limits it. */
  remote = false;
  /** True if the provider runs a service with its own fee: a search, a tool, a file reader. */
  extras = false;

  constructor(bodyBytes: number) {
    this.textBytes = bodyBytes;
  }

  /**
   * Counts the input of a content part; parts of unknown kinds count by their bytes. @throws ServiceError invalid_json
   */
  addPart(part: unknown, owner: string, index: number): void {
    if (!isObject(part)) return;
    PART.refuseLookalikes(part, `${owner}[${index}]`);
    const { type, image_url: image } = part;
    if (type === "image_url" || type === "input_image") {
      if (this.images === 0) this.firstImage = `${owner}[${index}]`;
      this.images += 1;
      if (isObject(image)) {
        IMAGE.refuseLookalikes(image, `${owner}[${index}].image_url`);
        this.textBytes -= inlineImageLength(image, "url");
      } else this.textBytes -= inlineImageLength(part, "image_url");
    } else if (type === "input_audio") this.audio = true;
    else if (FILE_PARTS.has(type)) this.#addExtra();
    else if (REMOTE_PARTS.has(type)) this.remote = true;
  }

  /** Counts the input of the body's other fields. */
  addParameters(body: JsonObject): void {
    for (const name of REMOTE_FIELDS) {
      if (body[name] != null) this.remote = true;
    }
    for (const name of EXTRA_FIELDS) {
      if (body[name] != null) this.#addExtra();
    }
    const tools = body["tools"];
    if (!Array.isArray(tools) || tools.length === 0) return;
    this.tools = true;
    for (let index = 0; index < tools.length; index += 1) {
      const tool: unknown = tools[index];
      if (isObject(tool)) TOOL.refuseLookalikes(tool, `tools[${index}]`);
      if (!isOfClient(tool)) this.#addExtra();
    }
  }

  #addExtra(): void {
    this.remote = true;
    this.extras = true;
  }
}

/** Returns whether the client runs the tool. A namespace belongs to the client if all tools in it do. */
function isOfClient(tool: unknown): boolean {
  if (!isObject(tool)) return false;
  const { type, tools, execution, environment } = tool;
  if (type === "tool_search") return execution === "client";
  if (type === "shell") return isObject(environment) && environment["type"] === "local";
  if (type !== "namespace") return CLIENT_TOOLS.has(type);
  return Array.isArray(tools) && tools.every((inner) => isObject(inner) && CLIENT_TOOLS.has(inner["type"]));
}

/** Characters of an image within a data URI; base64 is ASCII, so they are also bytes. */
function inlineImageLength(owner: JsonObject, name: string): number {
  const url = owner[name];
  return typeof url === "string" && url.startsWith("data:image/") ? stringLengthIn(owner, name) : 0;
}
