// fal's queue, to be mounted at /fal. The addresses of a job contain only the first two parts of its model's name. A
// failed job is also "COMPLETED": its result shows the failure.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { GPT_IMAGE_2_PRICE } from "../../bill/prices.ts";
import { gptImage2Tokens } from "../../media/image-size.ts";
import type { Billed, MediaOrder, MediaSize } from "../../media/media-order.ts";
import type { JobView, MediaRoom } from "../../media/media-room.ts";
import { readBody } from "../../media/read-body.ts";
import { refusalHandler } from "../../media/refusal-handler.ts";
import { linkTo } from "../../media/result-files.ts";
import { keyOf } from "../../request/key.ts";
import { type Refusal, unknownModel } from "../../request/refusal.ts";
import { sendCaptured, type Values } from "../../request/send-captured.ts";
import { callerRequestId, uniqueHex } from "../../request/simulation.ts";
import { promptTokens } from "../../text/tokens.ts";
import { FAL_MODELS, type FalModel, type FalRequest, inputsOf, sizeOf } from "./models.ts";

const PREFIX = "/fal";
const MOST_PICTURE_TOKENS = 1_536;

interface JobPath {
  readonly owner: string;
  readonly app: string;
  readonly id: string;
}

export function falRoutes(media: MediaRoom) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(refusalHandler({ provider: "fal", values: valuesOf }));
    app.addHook("onRequest", (request, reply, next) => {
      const key = keyOf(request, "authorization", "Key");
      if (key !== undefined && key !== "invalid") next();
      else sendCaptured(reply, "fal/bad-key");
    });

    app.post("/*", (request, reply) => {
      const path = (request.params as { "*": string })["*"];
      const model = FAL_MODELS.get(path);
      if (model === undefined) throw unknownModel(path);
      const asked = readBody(model.request, request.body);
      const job = media.submit(orderOf(path, model, asked, request), reply);
      if (job === undefined) return reply;
      const [owner, name] = path.split("/");
      const url = `http://${request.host}${PREFIX}/${owner}/${name}/requests/${job.id}`;
      return reply.send({
        status: "IN_QUEUE",
        request_id: job.id,
        response_url: url,
        status_url: `${url}/status`,
        cancel_url: `${url}/cancel`,
        queue_position: 0,
      });
    });

    app.get<{ Params: JobPath }>("/:owner/:app/requests/:id/status", (request, reply) => {
      const job = media.poll(request.params.id);
      if (job === undefined) return notFound(reply);
      const { id, state } = job;
      if (state === "queued") {
        return reply.code(202).send({ status: "IN_QUEUE", request_id: id, queue_position: 1 });
      }
      if (state === "running")
        return reply.code(202).send({ status: "IN_PROGRESS", request_id: id, logs: [] });
      return reply.send({ status: "COMPLETED", request_id: id, metrics: { inference_time: 1.5 } });
    });

    app.get<{ Params: JobPath }>("/:owner/:app/requests/:id", (request, reply) => {
      const job = media.look(request.params.id);
      return job === undefined ? notFound(reply) : sendResult(job, request, reply);
    });

    app.put<{ Params: JobPath }>("/:owner/:app/requests/:id/cancel", (request, reply) => {
      const before = media.look(request.params.id);
      if (before === undefined) return notFound(reply);
      if (before.state !== "queued" && before.state !== "running") {
        return reply.code(400).send({ status: "ALREADY_COMPLETED" });
      }
      media.cancel(before.id);
      return reply.code(202).send({ status: "CANCELLATION_REQUESTED" });
    });
  };
}

function orderOf(path: string, model: FalModel, asked: FalRequest, request: FastifyRequest): MediaOrder {
  const { kind, price } = model;
  const size = sizeOf(kind, asked);
  const seconds = Number.parseInt(String(asked.duration ?? 5), 10);
  const format = asked.output_format ?? "jpeg";
  const one = (): Billed =>
    price === "tokens" ? tokensOf(asked, size) : { picoUsd: price({ size, seconds, quality: "" }) };
  return {
    model: path,
    requestId: callerRequestId(request.headers) ?? uniqueHex(32),
    prompt: asked.prompt,
    size,
    wanted: kind === "video" ? { kind, seconds } : { kind, count: asked.num_images ?? 1, format },
    inputs: inputsOf(asked),
    bill: (result) => {
      const { picoUsd, inputTokens = 0, outputTokens = 0 } = one();
      return {
        picoUsd: picoUsd * BigInt(result),
        ...(price === "tokens"
          ? { inputTokens: inputTokens * result, outputTokens: outputTokens * result }
          : {}),
      };
    },
  };
}

/** Bills like OpenAI for its model, with the largest number of tokens for each input picture. */
function tokensOf({ prompt, quality = "high", image_urls = [] }: FalRequest, size: MediaSize): Billed {
  if (GPT_IMAGE_2_PRICE.per !== "token") return { picoUsd: 0n };
  const { textInput, imageInput, imageOutput } = GPT_IMAGE_2_PRICE;
  const [text, pictures] = [promptTokens(prompt), MOST_PICTURE_TOKENS * image_urls.length];
  const output = gptImage2Tokens(size, quality);
  const picoUsd = textInput * BigInt(text) + imageInput * BigInt(pictures) + imageOutput * BigInt(output);
  return { picoUsd, inputTokens: text + pictures, outputTokens: output };
}

function sendResult(job: JobView, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const [file] = job.files;
  switch (job.state) {
    case "queued":
    case "running":
      return reply.code(400).send({ detail: "Request is still in progress" });
    case "failed":
    case "cancelled":
      return sendCaptured(reply.header("x-fal-error-type", "runner_server_error"), "fal/server-error");
    case "blocked":
      return sendCaptured(reply, "fal/moderation-output");
    case "done":
      return reply.send(resultOf(job, file === undefined ? [] : [linkTo(request, file)]));
  }
}

function resultOf({ order, billed, files }: JobView, [url]: readonly string[]): object {
  const [file] = files;
  const result = { url, content_type: file?.type, file_size: file?.bytes.length };
  if (order.wanted.kind === "video") return { video: { ...result, file_name: file?.name }, seed: 42 };
  return {
    images: url === undefined ? [] : [{ ...result, ...order.size }],
    seed: 42,
    has_nsfw_concepts: [false],
    prompt: order.prompt,
    ...(billed?.outputTokens === undefined ? {} : { usage: usageOf(order.prompt, billed) }),
  };
}

function usageOf(prompt: string, { inputTokens = 0, outputTokens = 0 }: Billed): object {
  const text = promptTokens(prompt);
  return {
    input_tokens: inputTokens,
    input_tokens_details: { image_tokens: inputTokens - text, text_tokens: text },
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}

const notFound = (reply: FastifyReply) => sendCaptured(reply, "fal/not-found");

function valuesOf({ message, param }: Refusal): Values {
  return {
    "detail.0.loc": ["body", ...(param === null ? [] : [param])],
    "detail.0.msg": message,
    "detail.0.type": "value_error",
    "detail.0.input": {},
  };
}
