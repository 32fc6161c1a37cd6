// An outbound without any connection: for adapters that are only inspected, or that use only a test's replacement.
import type { Outbound } from "../providers/outbound.ts";

export const noOutbound: Outbound = {
  send: () => Promise.reject(new Error("nothing is sent")),
  open: () => Promise.reject(new Error("nothing is sent")),
  checkAddress: () => {
    throw new Error("nothing is fetched");
  },
  post: () => Promise.reject(new Error("nothing is sent")),
  download: () => Promise.reject(new Error("nothing is fetched")),
  stream: () => {
    throw new Error("nothing is fetched");
  },
  close: async () => undefined,
};
