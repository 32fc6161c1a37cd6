// The two topologies as functions, for the commands and for tests.
export { type Started, startAllInOne } from "./all-in-one.ts";
export type { Credentials } from "./demo-account.ts";
export { launcherConfig } from "./launcher-config.ts";
export { routerModules } from "./modules.ts";
export { sandboxEnvironment } from "./sandbox.ts";
export { loadSecrets } from "./secrets.ts";
export { startSplit } from "./split-topology.ts";
