// A provider at the process edge whose jobs wait in a queue and outlive our processes: POST {url}/queue answers
// { job }, GET {url}/queue/{job} answers {} until there is { b64_json }.
import type { MediaProvider, Progress } from "../providers/provider.ts";
import { ProviderError } from "../providers/provider-error.ts";

export function queueProvider(url: string, lookUp: MediaProvider["lookUp"]): MediaProvider {
  const ask = async (path: string, init: RequestInit): Promise<Record<string, unknown>> => {
    try {
      return (await (await fetch(url + path, init)).json()) as Record<string, unknown>;
    } catch (cause) {
      throw new ProviderError("unknown_outcome", "queue: no answer", { accepted: true, cause });
    }
  };
  const pending = (job: string): Progress => ({ state: "pending", operation: { job }, pollAfterMs: 50 });
  return {
    name: "queue",
    submit: async (_job, signal) => pending(String((await ask("/queue", { method: "POST", signal }))["job"])),
    poll: async (operation, signal) => {
      const job = String(operation["job"]);
      const { b64_json: picture } = await ask(`/queue/${job}`, { signal });
      if (typeof picture !== "string") return pending(job);
      return { state: "succeeded", outputs: [{ bytes: Buffer.from(picture, "base64") }] };
    },
    cancel: async () => undefined,
    ...(lookUp === undefined ? {} : { lookUp }),
  };
}
