// What a provider of media can do. Adapters declare it in these words, launchers pass them on, and the catalogue decides by
// them what is offered.

/** Makes images, makes videos, takes images along with a request. */
export const PROVIDER_ABILITIES = ["image", "video", "image-input"] as const;
export type ProviderAbility = (typeof PROVIDER_ABILITIES)[number];
