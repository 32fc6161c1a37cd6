// Tool calls are read from an answer: searches that its usage counts, otherwise the items of its output.
import type { JsonObject, UpstreamKind } from "./upstream-kind.ts";

/** Name of the search count in a usage, and type of the same calls as output items. */
const COUNTED = { count: "web_search_requests", call: "web_search_call" } as const;
const CALL = /_call$/;
/** Calls that the client runs cost nothing. */
const OF_CLIENT: ReadonlySet<unknown> = new Set([
  "function_call",
  "custom_tool_call",
  "local_shell_call",
  "apply_patch_call",
  "computer_call",
]);

export const toolCalls: UpstreamKind["toolCalls"] = (usage, answer) => {
  const calls: Record<string, unknown> = {};
  const { output } = answer;
  if (Array.isArray(output)) countItems(calls, output);
  const tools = usage["server_tool_use"];
  const counted = isObject(tools) ? tools[COUNTED.count] : undefined;
  return counted == null ? calls : { ...calls, [COUNTED.call]: counted };
};

function countItems(calls: Record<string, unknown>, output: readonly unknown[]): void {
  const containers = new Set<unknown>();
  for (const item of output) {
    const { type, status, action, execution, container_id: container } = isObject(item) ? item : {};
    // A page that was opened or searched in has no fee.
    if (isObject(action) && type === "web_search_call" && (action["type"] ?? "search") !== "search") continue;
    // A session of a container is billed once.
    if (typeof container === "string" && containers.has(container)) continue;
    containers.add(container);
    if (OF_CLIENT.has(type) || execution === "client") continue;
    if (typeof type !== "string" || !CALL.test(type) || status === "failed") continue;
    calls[type] = Number(calls[type] ?? 0) + 1;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
