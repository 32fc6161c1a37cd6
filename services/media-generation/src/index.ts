// The media-generation module: images from providers, hosted media, the generation log.
export { mediaGenerationModule } from "./module.ts";
