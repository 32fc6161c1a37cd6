// Digests of images: found in files, asked of a registry with and without a token, and written beside the tag.
import { expect, test } from "@jest/globals";
import { digestOf, type Fetch, imagesIn, pinned, withOwnVersion } from "./image-pins.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const OLD = `sha256:${"b".repeat(64)}`;
const COMPOSE = `services:
  postgres:
    image: postgres:18.4
  valkey:
    image: valkey/valkey:9.0.0@${OLD}
  gateway:
    image: generation-router/gateway
  keys:
    image: generation-router/keys:0.1.0
`;
const DOCKERFILE = `ARG NODE_RUN=gcr.io/distroless/nodejs24:nonroot@${OLD}\nFROM \${NODE_RUN} AS e2e\n`;

test("foreign images are found with their registry, and ours are not among them", () => {
  expect(imagesIn(COMPOSE)).toEqual([
    { text: "postgres:18.4", registry: "registry-1.docker.io", repository: "library/postgres", tag: "18.4" },
    {
      text: "valkey/valkey:9.0.0",
      registry: "registry-1.docker.io",
      repository: "valkey/valkey",
      tag: "9.0.0",
    },
  ]);
  expect(imagesIn(DOCKERFILE)).toMatchObject([{ registry: "gcr.io", repository: "distroless/nodejs24" }]);
});

test("a digest is written behind its tag, and replaces an older one", () => {
  const digests = new Map([
    ["valkey/valkey:9.0.0", DIGEST],
    ["gcr.io/distroless/nodejs24:nonroot", DIGEST],
  ]);
  expect(pinned(COMPOSE, digests)).toBe(COMPOSE.replace(OLD, DIGEST));
  expect(pinned(DOCKERFILE, digests)).toBe(DOCKERFILE.replace(OLD, DIGEST));
});

test("images of this repository have the version as their tag", () => {
  const text = withOwnVersion(COMPOSE, "0.2.0");
  expect(text).toContain("image: generation-router/gateway:0.2.0\n");
  expect(text).toContain("image: generation-router/keys:0.2.0\n");
  expect(text).toContain("image: postgres:18.4\n");
});

test("a registry is asked again with the token that its challenge names", async () => {
  const asked: string[] = [];
  const send: Fetch = async (url, init) => {
    const { authorization } = (init.headers ?? {}) as Record<string, string>;
    asked.push(`${init.method ?? "GET"} ${url} ${authorization ?? ""}`.trim());
    if (url.startsWith("https://auth.example/")) return Response.json({ token: "secret" });
    if (authorization === "Bearer secret") {
      return new Response(null, { headers: { "docker-content-digest": DIGEST } });
    }
    const challenge =
      'Bearer realm="https://auth.example/token",service="registry",scope="repository:a:pull"';
    return new Response(null, { status: 401, headers: { "www-authenticate": challenge } });
  };
  const [image] = imagesIn("  image: registry.example/a:1.0\n");
  if (image === undefined) throw new Error("The text has one image.");
  expect(await digestOf(image, send)).toBe(DIGEST);
  expect(asked).toEqual([
    "HEAD https://registry.example/v2/a/manifests/1.0",
    "GET https://auth.example/token?service=registry&scope=repository%3Aa%3Apull",
    "HEAD https://registry.example/v2/a/manifests/1.0 Bearer secret",
  ]);
});

test("a registry without an answer, without the image or without a digest is named", async () => {
  const [image] = imagesIn("  image: registry.example/a:1.0\n");
  if (image === undefined) throw new Error("The text has one image.");
  const silent: Fetch = () => Promise.reject(new TypeError("fetch failed"));
  await expect(digestOf(image, silent)).rejects.toThrow("registry.example cannot be reached");
  const answering =
    (response: Response): Fetch =>
    () =>
      Promise.resolve(response);
  await expect(digestOf(image, answering(new Response(null, { status: 404 })))).rejects.toThrow(
    "answered 404 for registry.example/a:1.0",
  );
  await expect(digestOf(image, answering(new Response(null)))).rejects.toThrow("without a digest");
  const locked = new Response(null, { status: 401, headers: { "www-authenticate": "Basic" } });
  await expect(digestOf(image, answering(locked))).rejects.toThrow("demands a sign-in");
});
