// The text proxy of the tests as a process of its own, for tests that bound its memory.
import { startRig } from "./rig.ts";

const { LIMITED_UPSTREAM: upstream = "", LIMITED_BYTES: bytes } = process.env;
const limit = Number(bytes);
const rig = await startRig(upstream, {}, undefined, undefined, { totalBytes: limit, heapBytes: limit });
process.send?.(rig.url);
process.once("disconnect", () => void rig.stop());
