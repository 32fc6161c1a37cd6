// Where the public API listens.
import { port } from "@gr/runtime";
import { z } from "zod";

export const gatewayConfig = z.object({
  HOST: z.string().min(1).default("127.0.0.1").describe("address that the public API listens on"),
  PORT: port(8080).describe("port of the public API"),
});
export type GatewayConfig = z.infer<typeof gatewayConfig>;
