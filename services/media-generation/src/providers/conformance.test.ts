// The conformance checks themselves: a correct adapter of a provider with a queue and links passes them. They detect
// each fault that the tests below build into it.
import { expect, test } from "@jest/globals";
import { describeConformance, firstBreach, type ProviderUnderTest } from "../test/conformance.ts";
import { noOutbound } from "../test/no-outbound.ts";
import { type QueueOptions, queueProvider } from "../test/queue-provider.ts";
import { createBillLookUp } from "./bill-look-up.ts";
import type { Outbound, OutboundRequest } from "./outbound.ts";
import type { MediaProvider, Operation, Progress } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";

const accepted = { status: 200, body: { job: "7" } };

const queue: ProviderUnderTest = {
  name: "a queue",
  create: (options) => createQueue(options),
  job: {
    kind: "image",
    requestId: "0b1f5f2e-7f0f-4a51-9d5c-3f1f5f0f4a51",
    part: 1,
    model: "m",
    prompt: "a fox",
    count: 1,
    fields: { aspect_ratio: "16:9" },
    inputs: [],
  },
  submitted: () => accepted,
  invalid: (quoting) => ({ status: 422, body: { error: { message: quoting } } }),
  queue: {
    pending: [
      { status: 200, body: {} },
      { status: 200, body: { position: 3 } },
    ],
    done: (_made, urls) => ({ status: 200, body: { urls } }),
    ended: [
      [{ status: 200, body: { failed: "out of memory" } }, "failed"],
      [{ status: 200, body: { blocked: true } }, "blocked"],
    ],
    polledAt: (poll) => ({ status: 200, body: { job: "7", poll } }),
  },
  look: { found: { status: 200, body: { pico_usd: "42" } }, cost: 42n, unknown: { status: 404 } },
};

type Created = Parameters<ProviderUnderTest["create"]>[0];

function createQueue({ baseUrl: url, ...rest }: Created, changed: Partial<QueueOptions> = {}): MediaProvider {
  return queueProvider({ url, ...rest, lookUp: createBillLookUp(`${url}/bill`, rest.outbound), ...changed });
}

describeConformance(queue);

/** The adapter as it is, but for its way out. */
function sending(change: (request: OutboundRequest, options: Created) => OutboundRequest) {
  return (options: Created) => {
    const { outbound } = options;
    const send = (request: OutboundRequest) => outbound.send(change(request, options));
    return createQueue({ ...options, outbound: { ...outbound, send } });
  };
}

/** The adapter as it is, but for one of its functions. */
function but(change: (provider: MediaProvider, options: Created) => Partial<MediaProvider>) {
  return (options: Created) => {
    const provider = createQueue(options);
    return { ...provider, ...change(provider, options) };
  };
}

type Submit = NonNullable<MediaProvider["kinds"]["image"]>["submit"];
const submitting = (change: (submit: Submit, options: Created) => Submit) =>
  but(({ kinds: { image } }, options) => {
    if (image === undefined) throw new Error("it makes images");
    return { kinds: { image: { ...image, submit: change(image.submit, options) } } };
  });

const polling = (change: (progress: Progress, options: Created) => Progress | Promise<Progress>) =>
  but(({ poll }, options) => ({
    poll: async (operation, signal) => change(await poll(operation, signal), options),
  }));

const rethrowing = (change: (error: ProviderError, options: Created) => Error) =>
  but(({ poll }, options) => ({
    poll: (operation, signal) =>
      poll(operation, signal).catch((error) => {
        throw change(error, options);
      }),
  }));

async function followRedirects(outbound: Outbound, request: OutboundRequest) {
  const answer = await outbound.send(request);
  const location = answer.header("location");
  return location === undefined ? answer : outbound.send({ ...request, url: location });
}

const wrong: [string, ProviderUnderTest["create"]][] = [
  [
    "takes a failed poll for a job that was not accepted",
    rethrowing((e) => new ProviderError(e.kind, e.message, { accepted: false })),
  ],
  [
    "takes a server in trouble for a failed job",
    rethrowing((e) => new ProviderError("failed", e.message, { accepted: true })),
  ],
  ["throws errors of its own", rethrowing((e) => new TypeError(e.message))],
  [
    "polls on after the job has failed",
    but(({ poll }) => ({
      poll: (operation, signal) =>
        poll(operation, signal).catch(() => ({ state: "pending", operation, pollAfterMs: 5_000 })),
    })),
  ],
  [
    "takes a lost submission for a refused one",
    submitting(
      (submit) => (job, signal) =>
        submit(job, signal).catch((e) => {
          throw new ProviderError("failed", e.message, { accepted: false });
        }),
    ),
  ],
  [
    "submits again when the connection was lost",
    submitting((submit) => (job, signal) => submit(job, signal).catch(() => submit(job, signal))),
  ],
  [
    "quotes its secret",
    submitting(
      (submit, { secret }) =>
        (job, signal) =>
          submit(job, signal).catch((e) => {
            throw new ProviderError(e.kind, `${secret}: ${e.message}`, { accepted: e.accepted });
          }),
    ),
  ],
  [
    "does not send the catalogue's fields",
    submitting((submit) => (job, signal) => submit({ ...job, fields: {} }, signal)),
  ],
  [
    "keeps its secret in the operation",
    submitting((submit, { secret }) => async (job, signal) => {
      const progress = await submit(job, signal);
      return progress.state === "pending"
        ? { ...progress, operation: { ...progress.operation, secret } }
        : progress;
    }),
  ],
  [
    "keeps the job in its memory only",
    (options) => {
      const jobs = new Map<number, Operation>();
      const inner = createQueue(options);
      const { image } = inner.kinds;
      return {
        ...inner,
        kinds:
          image === undefined
            ? {}
            : {
                image: {
                  ...image,
                  submit: async (job, signal) => {
                    const progress = await image.submit(job, signal);
                    if (progress.state === "pending") jobs.set(1, progress.operation);
                    return { state: "pending", operation: { key: 1 }, pollAfterMs: 1 };
                  },
                },
              },
        poll: (_operation, signal) =>
          inner.poll(jobs.get(1) ?? { job: "" }, signal).then((progress) => {
            if (jobs.size === 0) throw new ProviderError("failed", "no such job", { accepted: true });
            return progress;
          }),
      };
    },
  ],
  [
    "puts its secret in the address",
    sending((request, { secret }) => ({ ...request, url: `${request.url}?key=${secret}` })),
  ],
  [
    "sends its secret twice",
    sending((request, { secret }) => ({ ...request, headers: { ...request.headers, "x-key": secret } })),
  ],
  [
    "does not name the request",
    sending((request) => ({ ...request, headers: { ...request.headers, "x-request-id": "" } })),
  ],
  [
    "follows redirects",
    (options) =>
      createQueue({
        ...options,
        outbound: { ...options.outbound, send: (request) => followRedirects(options.outbound, request) },
      }),
  ],
  [
    "fetches links with its secret",
    polling(async (progress, { secret }) => {
      if (progress.state !== "succeeded") return progress;
      const artifacts = await Promise.all(
        progress.artifacts.map(async (artifact) => {
          if (!("url" in artifact)) return artifact;
          const response = await fetch(artifact.url, { headers: { authorization: secret } });
          return { stream: [Buffer.from(await response.arrayBuffer())], type: artifact.type };
        }),
      );
      return { ...progress, artifacts };
    }),
  ],
  [
    "gives one picture less",
    polling((progress) =>
      progress.state === "succeeded" ? { ...progress, artifacts: progress.artifacts.slice(1) } : progress,
    ),
  ],
  [
    "is not content with fewer pictures",
    polling((progress) => {
      if (progress.state !== "succeeded" || progress.artifacts.length > 1) return progress;
      throw new ProviderError("failed", "fewer than asked for", { accepted: true });
    }),
  ],
  [
    "is content with no picture",
    but(({ poll }) => ({
      poll: (operation, signal) =>
        poll(operation, signal).catch(() => ({ state: "succeeded" as const, artifacts: [] })),
    })),
  ],
  [
    "minds what a cancellation is answered",
    but((_, { baseUrl, outbound, secret }) => ({
      cancel: async (_operation, signal) => {
        const answer = await outbound.send({
          method: "PUT",
          url: `${baseUrl}/queue/7/cancel`,
          headers: { authorization: secret },
          signal,
        });
        if (answer.status !== 200) throw new ProviderError("failed", "not cancelled", { accepted: true });
      },
    })),
  ],
  ["does not cancel", but(() => ({ cancel: async () => undefined }))],
  [
    "takes no bill for a bill of nothing",
    but(({ lookUp }) => ({ lookUp: async (id, signal) => (await lookUp?.(id, signal)) ?? 0n })),
  ],
  [
    "takes silence for no bill",
    but(({ lookUp }) => ({
      lookUp: (id, signal) => lookUp?.(id, signal).catch(() => undefined) ?? Promise.resolve(undefined),
    })),
  ],
];

test.each(wrong)("an adapter that %s is caught", async (_what, create) => {
  expect(await firstBreach({ ...queue, create })).toBeDefined();
});

test("an adapter for images cannot be taken for one for videos", () => {
  const { image } = createQueue({ baseUrl: "http://queue.test", secret: "s", outbound: noOutbound }).kinds;
  if (image === undefined) throw new Error("it makes images");
  // @ts-expect-error a job of a kind that the adapter does not know must not compile
  const kinds: MediaProvider["kinds"] = { video: image };
  expect(Object.keys(kinds)).toEqual(["video"]);
});
