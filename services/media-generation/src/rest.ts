// The public paths: two names for making images, and the hosted media.
import { formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { type RestApi, type RestRoute, restRoute } from "@gr/runtime";
import type { FastifyRequest } from "fastify";
import { type Caller, type GeneratedImages, generateImages } from "./generate-images.ts";
import type { GenerationDeps } from "./generation-deps.ts";
import { type ImageOrder, makeImageOrder } from "./image-order.ts";
import { type ImageRequest, imageAnswerSchema, imageRequestSchema } from "./image-request.ts";
import { MEDIA_PATH, mediaRoute } from "./media-routes.ts";
import { acceptForms, MULTIPART } from "./multipart-form.ts";

const MAX_BODY_BYTES = 50 * 1024 * 1024;

export function mediaGenerationRest(deps: GenerationDeps): RestApi {
  const paths = ["/v1/compat/images/generations", "/v1/compat/images/edits"];
  return {
    setup: (scope) => acceptForms(scope, MAX_BODY_BYTES),
    routes: [...paths.map((path) => imagesRoute(deps, path)), mediaRoute(deps.storage)],
  };
}

function imagesRoute(deps: GenerationDeps, path: string): RestRoute {
  return restRoute({
    method: "POST",
    path,
    summary: "Make images from a prompt",
    body: imageRequestSchema,
    otherBodyTypes: [MULTIPART],
    bodyLimit: MAX_BODY_BYTES,
    responses: { 200: { description: "The images, paid for", schema: imageAnswerSchema } },
    handle: ({ body, http }) => answerImages(deps, body, http),
  });
}

async function answerImages(deps: GenerationDeps, body: ImageRequest, http: FastifyRequest): Promise<object> {
  const startedAt = deps.clock.now();
  const caller = callerOf(http);
  const order = makeImageOrder(body, deps.catalog.find(body.model));
  const images = await generateImages(deps, order, caller);
  const now = deps.clock.now();
  return {
    created: Math.floor(now / 1_000),
    data: dataOf(deps, order, images),
    latency: Math.max(0, Math.round(now - startedAt)),
    // Four decimals: the nearest double prints as exactly these.
    cost: Number(formatCredits(order.charge)),
  };
}

function dataOf({ config }: GenerationDeps, order: ImageOrder, { files, names }: GeneratedImages): object[] {
  if (order.responseFormat !== "url")
    return files.map(({ bytes }) => ({ b64_json: bytes.toString("base64") }));
  const base = config.PUBLIC_BASE_URL.replace(/\/+$/, "");
  return names.map((name) => ({ url: `${base}${MEDIA_PATH}/${name}` }));
}

function callerOf({ principal, id }: FastifyRequest): Caller {
  if (principal === null) throw new ServiceError("invalid_api_key", "An API key is required.");
  return { requestId: id, accountId: principal.accountId, keyId: principal.keyId };
}
