// The public paths: two names for making images, and the hosted media.
import { principalOf } from "@gr/identity";
import { claimOf } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import { type RestApi, type RestRequest, type RestRoute, restRoute } from "@gr/runtime";
import type { FastifyRequest } from "fastify";
import { type Caller, generateImages } from "./generate-images.ts";
import type { GenerationDeps } from "./generation-deps.ts";
import {
  canonicalText,
  type ImageRequest,
  imageAnswerSchema,
  imageRequestSchema,
  inputFieldOf,
} from "./request/image-request.ts";
import { acceptForms, MULTIPART } from "./request/multipart-form.ts";
import { mediaRoute } from "./storage/media-routes.ts";

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
    handle: (request) => answerImages(deps, path, request),
  });
}

async function answerImages(
  deps: GenerationDeps,
  path: string,
  { body, http, reply }: RestRequest<ImageRequest>,
): Promise<object> {
  const caller = callerOf(http);
  // No request with an input image runs, so none has a claim; nested without end, it has no canonical text either.
  const claim =
    inputFieldOf(body) === undefined ? claimOf(http.headers, path, () => [canonicalText(body)]) : undefined;
  const { answer, replayed } = await generateImages(deps, body, caller, claim);
  if (replayed) reply.header("idempotency-replayed", "true");
  return answer;
}

function callerOf(request: FastifyRequest): Caller {
  const principal = principalOf(request);
  if (principal === null) throw new ServiceError("invalid_api_key", "An API key is required.");
  return { requestId: request.id, accountId: principal.accountId, keyId: principal.keyId };
}
