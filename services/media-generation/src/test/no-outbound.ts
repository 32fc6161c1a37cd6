// No way out: for adapters that are looked at and not used, or that use only what a test puts in its place.
import type { Outbound } from "../providers/outbound.ts";

export const noOutbound: Outbound = {
  send: () => Promise.reject(new Error("nothing is sent")),
  open: () => Promise.reject(new Error("nothing is sent")),
  checkAddress: () => {
    throw new Error("nothing is fetched");
  },
  download: () => Promise.reject(new Error("nothing is fetched")),
  stream: () => {
    throw new Error("nothing is fetched");
  },
  close: async () => undefined,
};
