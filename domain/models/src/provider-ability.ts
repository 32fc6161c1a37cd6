// What a provider of media can do: the words in which adapters declare it, the launchers pass it on, and the catalogue
// decides what is offered.

/** Makes images, makes videos, takes images along with a request. */
export const PROVIDER_ABILITIES = ["image", "video", "image-input"] as const;
export type ProviderAbility = (typeof PROVIDER_ABILITIES)[number];
