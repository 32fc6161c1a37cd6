// Routes of a model that a request may use, and the names of its parameters there.
import { create } from "@bufbuild/protobuf";
import { ModelSchema } from "@gr/proto/catalog";
import { describe, expect, test } from "@jest/globals";
import type { MediaProvider } from "../providers/provider.ts";
import { chooseRoutes, type Parameters } from "./choose-routes.ts";

const model = create(ModelSchema, {
  id: "acme/film",
  routes: [
    { provider: "off", upstreamModel: "a" },
    { provider: "films", upstreamModel: "b" },
    {
      provider: "pictures",
      upstreamModel: "c",
      parameters: [
        { parameter: "", fields: { safety: "strict" } },
        { parameter: "size", value: "1024x1024", fields: { aspect_ratio: "1:1", resolution: "1K" } },
        { parameter: "quality", value: "high", fields: { mode: "pro" } },
        { parameter: "seconds", value: "8", fields: { frames: 193 } },
        { parameter: "audio", value: "true", fields: { sound: "on" } },
      ],
    },
    { provider: "more-pictures", upstreamModel: "d" },
  ],
});
const provider = (name: string, kind: "image" | "video"): MediaProvider => {
  const submit = () => Promise.reject(new Error("nothing is submitted"));
  return { name, kinds: { [kind]: { mostAtOnce: 1, submit } }, poll: submit, cancel: submit };
};
const providers = new Map(
  [provider("films", "video"), provider("pictures", "image"), provider("more-pictures", "image")].map(
    (each) => [each.name, each],
  ),
);
const choose = (parameters: Parameters) =>
  chooseRoutes("image", model, parameters, providers, { noProvider: () => undefined }, () => false);

describe("a route whose provider makes fewer sizes than the model has", () => {
  const sized = create(ModelSchema, {
    id: "acme/paint",
    routes: [
      {
        provider: "pictures",
        upstreamModel: "small",
        sizeLimits: { minEdge: 256, maxEdge: 2048, edgeMultiple: 32 },
      },
      { provider: "more-pictures", upstreamModel: "any" },
    ],
  });
  const chosen = (size: string, from = providers) =>
    chooseRoutes("image", sized, { size }, from, { noProvider: () => undefined }, () => false).map(
      (route) => route.upstreamModel,
    );

  test.each([
    ["2048x256", ["small", "any"]],
    ["4096x976", ["any"]],
    ["1024x1008", ["any"]],
  ])("is passed over for %s when it does not make it", (size, routes) => {
    expect(chosen(size)).toEqual(routes);
  });

  test("is left out while it loses money, and the last one is refused with it", () => {
    const without = (...closed: string[]) =>
      chooseRoutes("image", sized, { size: "2048x256" }, providers, { noProvider: fail }, (route) =>
        closed.includes(route.upstreamModel),
      ).map((route) => route.upstreamModel);
    const fail = () => {
      throw new Error("the provider is configured");
    };
    expect(without("small")).toEqual(["any"]);
    expect(() => without("small", "any")).toThrow(
      expect.objectContaining({ reason: "provider_unavailable" }),
    );
  });

  test("leaves nobody where it is the only one: then the size is at fault", () => {
    const only = new Map([...providers].filter(([name]) => name === "pictures"));
    expect(() => chosen("4096x976", only)).toThrow(
      expect.objectContaining({
        reason: "invalid_value",
        param: "size",
        message: expect.stringContaining("4096x976"),
      }),
    );
  });
});

describe("the routes of a model", () => {
  test("are those whose provider is there and makes such a thing, in order", () => {
    expect(choose({}).map(({ upstreamModel }) => upstreamModel)).toEqual(["c", "d"]);
  });

  test.each([
    [
      { size: "1024x1024", quality: "high" },
      { safety: "strict", aspect_ratio: "1:1", resolution: "1K", mode: "pro" },
    ],
    [
      { size: "512x512", quality: undefined },
      { safety: "strict", size: "512x512" },
    ],
    [
      { seconds: 8, audio: true },
      { safety: "strict", frames: 193, sound: "on" },
    ],
    [{}, { safety: "strict" }],
  ])("call %j what the catalogue says", (parameters, fields) => {
    expect(choose(parameters)[0].fields).toEqual(fields);
  });

  test("without rows call a parameter as we do", () => {
    const parameters = { size: "1024x1024", quality: "high", seconds: 5, audio: false };
    expect(choose(parameters)[1]?.fields).toEqual(parameters);
  });
});
