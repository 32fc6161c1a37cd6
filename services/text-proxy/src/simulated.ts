// Parts of the text proxy that the simulation builds by itself, and the rig of the text proxy in tests.
// No program imports this door.
export { StreamSpending } from "./answer/stream-spending.ts";
export { asBilled, notAsked } from "./cost/unbilled-attempt.ts";
export { FakeCatalog } from "./test/fake-catalog.ts";
export { idOf, type Rig, startRig } from "./test/rig.ts";
export { chooseRoutes, isPassedOver } from "./upstream/choose-routes.ts";
export { CircuitBreaker } from "./upstream/circuit-breaker.ts";
