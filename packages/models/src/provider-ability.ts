// Provider abilities are the terms in which adapters declare a media provider's functions.
// Launchers pass them on, and the catalogue decides by them which models are offered.

/** Creates images, creates videos, accepts images in a request. */
export const PROVIDER_ABILITIES = ["image", "video", "image-input"] as const;
export type ProviderAbility = (typeof PROVIDER_ABILITIES)[number];

/** Providers with an adapter that sends partial images in a stream. */
export const PARTIAL_IMAGE_PROVIDERS: ReadonlySet<string> = new Set(["openai"]);
