// Replicate's HTTP surface, to be mounted at /replicate/v1. A prediction that fails does so with status 200.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { JobState, JobView, MediaRoom } from "../../media/media-room.ts";
import { readBody } from "../../media/read-body.ts";
import { refusalHandler } from "../../media/refusal-handler.ts";
import { linkTo } from "../../media/result-files.ts";
import { keyOf } from "../../request/key.ts";
import { unknownModel } from "../../request/refusal.ts";
import { sendCaptured } from "../../request/send-captured.ts";
import { callerRequestId, uniqueHex } from "../../request/simulation.ts";
import { inputsOf, REPLICATE_MODELS, sizeOf } from "./models.ts";

const PREFIX = "/replicate/v1";
const STATUS: Readonly<Record<JobState, string>> = {
  queued: "starting",
  running: "processing",
  done: "succeeded",
  failed: "failed",
  blocked: "failed",
  cancelled: "canceled",
};
const ERROR: Partial<Readonly<Record<JobState, string>>> = {
  failed: "CUDA out of memory",
  blocked: "The input or output was flagged as sensitive. Please try again with different inputs. (E005)",
};
const bodySchema = z.strictObject({ input: z.record(z.string(), z.unknown()) });

type Named = { Params: { owner: string; name: string } };
type ById = { Params: { id: string } };

export function replicateRoutes(media: MediaRoom) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(
      refusalHandler({
        provider: "replicate",
        values: ({ message, param }) => ({
          detail: message,
          "invalid_fields.0.field": param === null ? "input" : `input.${param}`,
        }),
      }),
    );
    app.addHook("onRequest", (request, reply, next) => {
      const key = keyOf(request, "authorization", "Bearer");
      if (key !== undefined && key !== "invalid") next();
      else {
        sendCaptured(reply, "replicate/bad-key");
      }
    });

    app.post<Named>("/models/:owner/:name/predictions", (request, reply) => {
      const { owner, name } = request.params;
      const id = `${owner}/${name}`;
      const model = REPLICATE_MODELS.get(id);
      if (model === undefined) throw unknownModel(id);
      const input = readBody(model.input, readBody(bodySchema, request.body).input);
      const size = sizeOf(input);
      const price = model.price({ size, seconds: 0, quality: input.generation_mode ?? "quality" });
      const format = input.output_format === "jpg" ? "jpeg" : (input.output_format ?? "webp");
      const job = media.submit(
        {
          model: id,
          requestId: callerRequestId(request.headers) ?? uniqueHex(32),
          prompt: input.prompt,
          size,
          wanted: { kind: "image", count: 1, format },
          inputs: inputsOf(input),
          bill: (result) => ({ picoUsd: price * BigInt(result) }),
        },
        reply,
      );
      return job === undefined ? reply : reply.code(201).send(predictionOf(job, request));
    });

    app.get<ById>("/predictions/:id", (request, reply) => {
      const job = media.poll(request.params.id);
      return job === undefined ? notFound(reply) : reply.send(predictionOf(job, request));
    });

    app.post<ById>("/predictions/:id/cancel", (request, reply) => {
      const job = media.cancel(request.params.id);
      return job === undefined ? notFound(reply) : reply.send(predictionOf(job, request));
    });
  };
}

function predictionOf(job: JobView, request: FastifyRequest): object {
  const { id, order, state } = job;
  const links = job.files.map((file) => linkTo(request, file));
  const url = `http://${request.host}${PREFIX}/predictions/${id}`;
  const output = REPLICATE_MODELS.get(order.model)?.lists === true ? links : links[0];
  return {
    id,
    model: order.model,
    version: "hidden",
    input: { prompt: order.prompt },
    output: links.length === 0 ? null : output,
    error: ERROR[state] ?? null,
    logs: "",
    status: STATUS[state],
    created_at: new Date(job.createdAt).toISOString(),
    data_removed: false,
    urls: { get: url, cancel: `${url}/cancel` },
  };
}

const notFound = (reply: FastifyReply) => sendCaptured(reply, "replicate/not-found");
