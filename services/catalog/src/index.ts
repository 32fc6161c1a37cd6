// The catalogue module: models, prices, capabilities, routes to providers.
export { catalogModule } from "./module.ts";
