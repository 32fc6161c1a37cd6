// The gateway of the tests in front of fake modules, as a process of its own, for tests that bound its memory.
import { startRing } from "./ring.ts";

const { CONSOLE_DIR = "" } = process.env;
const ring = await startRing("one process", { CONSOLE_DIR });
process.send?.(ring.baseUrl);
process.once("disconnect", () => void ring.stop());
