// The public face of the simulator.
export { type RunningSimulator, type SimulatorOptions, startSimulator } from "./server.ts";
