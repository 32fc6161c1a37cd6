// ModelArk's HTTP surface, to be mounted at /byteplus/api/v3.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { keyOf } from "../key.ts";
import type { JobState, JobView, MediaRoom } from "../media/media-room.ts";
import { refusalHandler } from "../media/refusal-handler.ts";
import { linkTo } from "../media/result-files.ts";
import type { Refusal, RefusalReason } from "../refusal.ts";
import { callerRequestId, uniqueHex, unixSeconds } from "../simulation.ts";
import { readImageRequest, readTask } from "./requests.ts";

const CODE: Readonly<Record<RefusalReason, string>> = {
  invalid: "InvalidParameter",
  unknown_model: "InvalidEndpointOrModel.NotFound",
  no_vision: "InvalidParameter",
  no_endpoint: "InvalidParameter",
  blocked: "InputTextSensitiveContentDetected",
  rate_limited: "ModelAccountRpmRateLimitExceeded",
  overloaded: "ServerOverloaded",
  failed: "InternalServiceError",
};
const STATUS: Readonly<Record<JobState, string>> = {
  queued: "queued",
  running: "running",
  done: "succeeded",
  failed: "failed",
  blocked: "failed",
  cancelled: "cancelled",
};
const TASKS = "/contents/generations/tasks";

const requestIdOf = ({ headers }: FastifyRequest) => callerRequestId(headers) ?? uniqueHex(32);

const errorOf = ({ reason, message, param }: Refusal, status: number) => ({
  error: {
    code: CODE[reason],
    message,
    param: param ?? "",
    type: status < 500 ? "BadRequest" : "InternalServerError",
  },
});

export function bytePlusRoutes(media: MediaRoom) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(refusalHandler({ bodyOf: errorOf }));
    app.addHook("onRequest", (request, reply, next) => {
      const key = keyOf(request, "authorization", "Bearer");
      if (key !== undefined && key !== "invalid") return next();
      const message = "The API key in the request is missing or invalid.";
      reply
        .code(401)
        .send({ error: { code: "AuthenticationError", message, param: "", type: "Unauthorized" } });
    });

    app.post("/images/generations", async (request, reply) => {
      const { order, format } = readImageRequest(request.body, requestIdOf(request));
      const made = await media.make(order, reply);
      if (made === undefined) return reply;
      const size = `${order.size.width}x${order.size.height}`;
      const data = made.files.map((file) => ({
        ...(format === "url" ? { url: linkTo(request, file) } : { b64_json: file.bytes.toString("base64") }),
        size,
      }));
      const { outputTokens = 0 } = made.billed;
      const usage = {
        generated_images: data.length,
        output_tokens: outputTokens,
        total_tokens: outputTokens,
      };
      return reply.send({ model: order.model, created: unixSeconds(), data, usage });
    });

    app.post(TASKS, (request, reply) => {
      const job = media.submit(readTask(request.body, requestIdOf(request)), reply);
      return job === undefined ? reply : reply.send({ id: job.id });
    });

    app.get<{ Params: { id: string } }>(`${TASKS}/:id`, (request, reply) => {
      const job = media.poll(request.params.id);
      return job === undefined ? unknownTask(reply) : reply.send(taskOf(job, request));
    });

    app.delete<{ Params: { id: string } }>(`${TASKS}/:id`, (request, reply) => {
      const job = media.cancel(request.params.id);
      return job === undefined ? unknownTask(reply) : reply.send({});
    });
  };
}

function taskOf({ id, state, order, files, billed, createdAt }: JobView, request: FastifyRequest): object {
  const task = {
    id,
    model: order.model,
    status: STATUS[state],
    created_at: Math.floor(createdAt / 1_000),
    updated_at: unixSeconds(),
  };
  const code = state === "blocked" ? "OutputVideoSensitiveContentDetected" : "InternalServiceError";
  if (task.status === "failed") return { ...task, error: { code, message: "The task has failed." } };
  const [file] = files;
  if (file === undefined) return task;
  const { outputTokens = 0 } = billed ?? {};
  return {
    ...task,
    content: { video_url: linkTo(request, file) },
    usage: { completion_tokens: outputTokens, total_tokens: outputTokens },
    duration: order.wanted.kind === "video" ? order.wanted.seconds : 0,
    framespersecond: 24,
  };
}

function unknownTask(reply: FastifyReply): FastifyReply {
  const error = {
    code: "ResourceNotFound",
    message: "The task does not exist.",
    param: "id",
    type: "NotFound",
  };
  return reply.code(404).send({ error });
}
