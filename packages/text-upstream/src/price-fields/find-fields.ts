// Finds the fields of a body that the table of price-relevant fields has rows for, and all other fields of its top level.
// The result is small, so that the body need not be kept until an upstream is chosen.
import type { JsonObject } from "../upstream-kind.ts";
import type { FieldFound } from "./field-row.ts";

/** Number of fields from which on a set finds equal ones faster than a search. */
const MANY_FIELDS = 32;
/** More distinct fields and tools than any client sends. As many found mean that others may be missing. */
export const MOST_FIELDS = 10_000;
const MOST_PLUGIN_RESULTS = 20;
/** Steps to a part of a part of an item. */
const DEEPEST = 8;
const MARKS = ["cache_control", "prompt_cache_breakpoint"] as const;
const NESTED = ["content", "output", "function", "tools"] as const;
const SEARCH = "search_parameters";
const LONGEST_VALUE = 64;
const GATEWAY_OPTIONS = new Set(["order", "only", "models", "sort", "byok"]);

/** @param inParts false: no part of the input can have a mark, so that parts need not be visited */
export function findFields(body: JsonObject, inParts = true): readonly FieldFound[] {
  const found = new FoundFields();
  members(body, (name, value) => {
    if (name !== SEARCH) found.add(name, name, value);
  });
  addSearch(found, body[SEARCH]);
  each(body["tools"], "tools", (tool, param) => addTool(found, tool, param));
  addModalities(found, body["modalities"]);
  each(body["plugins"], "plugins", (plugin, param) => addPlugin(found, plugin, param));
  members(body["provider"], (name, value) => found.add(`provider.${name}`, `provider.${name}`, value));
  members(body["providerOptions"], (owner, options) =>
    members(options, (name, value) => addProviderOption(found, owner, name, value)),
  );
  addMember(found, body["prompt_cache_options"], "prompt_cache_options", "ttl");
  for (const part of inParts ? ["messages", "input", "tools", "system"] : [])
    addCacheMarks(found, body[part], [part]);
  addMember(found, body["cache_control"], "cache_control", "ttl");
  return found.all;
}

/** Ignores a search that is switched off: it costs nothing, and some clients always send it. */
function addSearch(found: FoundFields, search: unknown): void {
  if (search == null) return;
  const mode = isObject(search) ? search["mode"] : undefined;
  found.add(`${SEARCH}.mode`, SEARCH, mode ?? "auto");
}

class FoundFields {
  readonly all: FieldFound[] = [];
  /** Keys of all fields, once they are many. */
  #keys: Set<string> | undefined;

  /** Keeps the first of equal fields. */
  add(field: string, param: string, value: unknown): void {
    const short = textOf(value).slice(0, LONGEST_VALUE);
    if (this.#has(field, short) || this.all.length >= MOST_FIELDS) return;
    this.all.push({ field, param, value: short });
    this.#keys?.add(keyOf(field, short));
  }

  #has(field: string, value: string): boolean {
    if (this.all.length < MANY_FIELDS) {
      for (const each of this.all) if (each.field === field && each.value === value) return true;
      return false;
    }
    this.#keys ??= new Set(this.all.map((each) => keyOf(each.field, each.value)));
    return this.#keys.has(keyOf(field, value));
  }
}

function keyOf(field: string, value: string): string {
  return `${field} ${value}`;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

function addTool(found: FoundFields, tool: JsonObject, param: string): void {
  const { type, container, environment } = tool;
  // A tool without a type is a function, as older clients write it, or nothing that an upstream runs.
  found.add("tools[].type", `${param}.type`, type ?? "function");
  if (type === "code_interpreter") found.add("tools[].container", `${param}.container`, memoryOf(container));
  if (type === "shell") found.add("tools[].environment", `${param}.environment`, typeOf(environment));
  if (type === "namespace") each(tool["tools"], `${param}.tools`, (inner, at) => addTool(found, inner, at));
}

/** Returns the memory of a new container; empty for an existing one, because its size is unknown. */
function memoryOf(container: unknown): string {
  if (!isObject(container) || container["type"] !== "auto") return "";
  return String(container["memory_limit"] ?? "1g");
}

function typeOf(environment: unknown): unknown {
  return isObject(environment) ? environment["type"] : "";
}

function addModalities(found: FoundFields, modalities: unknown): void {
  if (!Array.isArray(modalities)) return;
  for (const [index, each] of modalities.entries()) found.add("modalities[]", `modalities[${index}]`, each);
}

function addPlugin(found: FoundFields, plugin: JsonObject, param: string): void {
  found.add("plugins[].id", `${param}.id`, plugin["id"]);
  const results = plugin["max_results"];
  if (results != null) {
    const few = typeof results === "number" && results <= MOST_PLUGIN_RESULTS;
    found.add("plugins[].max_results", `${param}.max_results`, few ? "few" : "many");
  }
  const pdf = isObject(plugin["pdf"]) ? plugin["pdf"]["engine"] : undefined;
  const engine = pdf ?? plugin["engine"];
  if (engine != null) found.add("plugins[].engine", `${param}.${pdf == null ? "" : "pdf."}engine`, engine);
}

function addProviderOption(found: FoundFields, owner: string, name: string, value: unknown): void {
  const param = `providerOptions.${owner}.${name}`;
  if (name === "serviceTier" || name === "speed") found.add(`providerOptions.*.${name}`, param, value);
  else if (owner === "gateway" && GATEWAY_OPTIONS.has(name)) found.add(param, param, value);
}

/**
 * Finds cache marks and sound in any part of the input, at any depth of a part.
 * @param path of the value; converted to text only for a match, since an input can have a million parts
 */
function addCacheMarks(found: FoundFields, value: unknown, path: (string | number)[]): void {
  if (typeof value !== "object" || value === null || path.length > DEEPEST) return;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) visit(found, value[index], path, index);
    return;
  }
  const part = value as JsonObject;
  if (part["type"] === "input_audio") found.add("input_audio", placeOf(path), "");
  for (const name of MARKS) {
    if (isObject(part[name])) addMember(found, part[name], name, "ttl", `${placeOf(path)}.${name}`);
  }
  for (const name of NESTED) visit(found, part[name], path, name);
}

function visit(found: FoundFields, value: unknown, path: (string | number)[], step: string | number): void {
  if (typeof value !== "object") return;
  path.push(step);
  addCacheMarks(found, value, path);
  path.pop();
}

function placeOf([first, ...steps]: readonly (string | number)[]): string {
  return steps.reduce<string>(
    (place, step) => (typeof step === "number" ? `${place}[${step}]` : `${place}.${step}`),
    String(first),
  );
}

function addMember(found: FoundFields, owner: unknown, field: string, name: string, at = field): void {
  const value = isObject(owner) ? owner[name] : undefined;
  if (value != null) found.add(`${field}.${name}`, `${at}.${name}`, value);
}

function each(list: unknown, param: string, visit: (item: JsonObject, param: string) => void): void {
  if (!Array.isArray(list)) return;
  for (let index = 0; index < list.length; index += 1) {
    const item: unknown = list[index];
    if (isObject(item)) visit(item, `${param}[${index}]`);
  }
}

function members(owner: unknown, visit: (name: string, value: unknown) => void): void {
  if (!isObject(owner)) return;
  for (const name of Object.keys(owner)) {
    const value = owner[name];
    if (value != null) visit(name, value);
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
