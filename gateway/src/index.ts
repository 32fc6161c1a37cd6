// The gateway: the only public listener.
export { gatewayConfig } from "./config.ts";
export { gatewayModule } from "./module.ts";
