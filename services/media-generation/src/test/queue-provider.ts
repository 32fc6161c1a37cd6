// The adapter of a provider with a queue, for tests: jobs wait there and outlive our processes.
// POST {url}/queue answers { job }. PUT {url}/queue/{job}/cancel cancels a job.
// GET {url}/queue/{job} answers {} until there is { b64_json } or { urls }, or { failed } or { blocked }.
import { z } from "zod";
import { deliveredPictures } from "../providers/delivered-pictures.ts";
import type { Outbound } from "../providers/outbound.ts";
import type {
  Artifact,
  JobKind,
  MediaJob,
  MediaProvider,
  Operation,
  Progress,
} from "../providers/provider.ts";
import { ProviderError } from "../providers/provider-error.ts";
import { createProviderHttp } from "../providers/provider-http.ts";

const NAME = "queue";
const TYPES: Readonly<Record<JobKind, string>> = { image: "image/png", video: "video/mp4" };
const submitted = z.object({ job: z.string().min(1), poll: z.string().optional() });
const state = z.object({
  b64_json: z.string().optional(),
  urls: z.array(z.string()).optional(),
  failed: z.string().optional(),
  blocked: z.boolean().optional(),
  percent: z.number().optional(),
});

export interface QueueOptions {
  readonly url: string;
  readonly secret: string;
  readonly outbound: Outbound;
  readonly lookUp?: MediaProvider["lookUp"] | undefined;
}

export function queueProvider({ url, secret, outbound, lookUp }: QueueOptions): MediaProvider {
  const credentials = { authorization: `Key ${secret}` };
  const http = createProviderHttp({ name: NAME, baseUrl: url, secret, credentials, outbound });

  async function submit(job: MediaJob, signal: AbortSignal): Promise<Progress> {
    const { model, prompt, count: n, fields, requestId } = job;
    const headers = { "x-request-id": requestId };
    const json = { model, prompt, n, ...fields };
    const answer = await http.send("submit", { method: "POST", to: "/queue", headers, json }, signal);
    if (answer.status !== 200) {
      const error = z.object({ error: z.object({ message: z.string() }) }).safeParse(answer.json());
      throw http.failure("submit", answer, error.success ? error.data.error.message : undefined);
    }
    const accepted = submitted.safeParse(answer.json());
    if (!accepted.success) throw unreadable();
    const { job: id, poll } = accepted.data;
    return pending({ job: id, n, type: TYPES[job.kind], ...(poll === undefined ? {} : { poll }) });
  }

  async function poll(operation: Operation, signal: AbortSignal): Promise<Progress> {
    const { job, n, type, poll: address } = operation;
    const to = typeof address === "string" ? address : `/queue/${job}`;
    const answer = await http.send("follow", { method: "GET", to }, signal);
    if (answer.status !== 200) throw http.failure("follow", answer);
    const now = state.safeParse(answer.json());
    if (!now.success) throw unreadable();
    const { failed, blocked } = now.data;
    if (blocked) throw new ProviderError("blocked", "queue: refused", { accepted: true });
    if (failed !== undefined) throw new ProviderError("failed", "queue: failed", { accepted: true });
    const artifacts = artifactsOf(now.data, String(type));
    if (artifacts === undefined) return { ...pending(operation), percent: now.data.percent };
    return { state: "succeeded", artifacts: deliveredPictures(NAME, artifacts, Number(n ?? 1)) };
  }

  return {
    name: NAME,
    kinds: { image: { mostAtOnce: 10, submit }, video: { mostAtOnce: 1, submit } },
    poll,
    cancel: async ({ job }, signal) => {
      await http.send("follow", { method: "PUT", to: `/queue/${job}/cancel` }, signal);
    },
    ...(lookUp === undefined ? {} : { lookUp }),
  };
}

function artifactsOf(
  { b64_json: content, urls }: z.infer<typeof state>,
  type: string,
): Artifact[] | undefined {
  if (content !== undefined) return [{ stream: [Buffer.from(content, "base64")], type }];
  return urls?.map((url) => ({ url, type }));
}

const pending = (operation: Operation) => ({ state: "pending", operation, pollAfterMs: 50 }) as const;

const unreadable = () => new ProviderError("failed", "queue: an answer of another shape", { accepted: true });
