// The API reference at /docs: Scalar's page on our own description. Everything it needs comes from this process; its policy
// lets it ask nobody else, whatever its script would like to.
import { type FastifyInstance, type FastifyReply, fastify } from "fastify";
import { OPENAPI_PATH } from "./openapi.ts";

export const REFERENCE_PAGE = "/docs";
const SCRIPT_PATH = "/docs/scalar.js";
const START_PATH = "/docs/start.js";
/** Also without a key. */
export const REFERENCE_PATHS: readonly string[] = [REFERENCE_PAGE, SCRIPT_PATH, START_PATH];

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Generation Router: API reference</title>
</head>
<body>
<div id="reference"></div>
<script src="${SCRIPT_PATH}"></script>
<script src="${START_PATH}"></script>
</body>
</html>
`;

/** No fonts, statistics or proxies of others. */
const START = `Scalar.createApiReference("#reference", {
  url: "${OPENAPI_PATH}",
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
});
`;

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export function serveReference(app: FastifyInstance): void {
  let script: Promise<string> | undefined;
  app.get(REFERENCE_PAGE, async (_request, reply) =>
    guarded(reply).header("content-security-policy", POLICY).type("text/html; charset=utf-8").send(PAGE),
  );
  app.get(START_PATH, async (_request, reply) => sendScript(reply, START));
  app.get(SCRIPT_PATH, async (_request, reply) => {
    script ??= readScript();
    return sendScript(reply, await script);
  });
}

/**
 * The package has its script of four megabytes as a text within its plugin, which also has a page with a script of its own in
 * it. Only the former is taken, and only when somebody wants it: most gateways never read it.
 */
async function readScript(): Promise<string> {
  const { default: reference } = await import("@scalar/fastify-api-reference");
  const app = fastify();
  await app.register(reference, { routePrefix: "/docs", configuration: { url: OPENAPI_PATH } });
  const { statusCode, body } = await app.inject("/docs/js/scalar.js");
  await app.close();
  if (statusCode !== 200) throw new Error(`the script of the API reference was answered with ${statusCode}`);
  return body;
}

function sendScript(reply: FastifyReply, text: string): FastifyReply {
  return guarded(reply)
    .header("cache-control", "public, max-age=3600")
    .type("text/javascript; charset=utf-8")
    .send(text);
}

function guarded(reply: FastifyReply): FastifyReply {
  return reply.header("x-content-type-options", "nosniff").header("referrer-policy", "no-referrer");
}
