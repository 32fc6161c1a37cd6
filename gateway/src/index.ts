// The gateway: the only public listener.
export { gatewayModule } from "./module.ts";
