// The two topologies as functions, for the commands and for tests.
export { type Started, startAllInOne } from "./all-in-one.ts";
export type { Credentials } from "./first-start/demo-account.ts";
export { launcherConfig } from "./installation/launcher-config.ts";
export { sandboxEnvironment } from "./installation/sandbox.ts";
export { loadSecrets } from "./installation/secrets.ts";
export { routerModules } from "./modules.ts";
export { startSplit } from "./split-topology.ts";
