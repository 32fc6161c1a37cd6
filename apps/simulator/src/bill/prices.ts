// Every price of the simulator, as integers of 1e-12 USD, and their conversion to exact decimals.
// Invariant: no amount ever passes through a floating-point number.

/** Money in units of 1e-12 USD. */
export type PicoUsd = bigint;

/** Price of one text token in and out. */
export interface TokenPrice {
  readonly input: PicoUsd;
  readonly output: PicoUsd;
}

export const CHAT_PRICE: TokenPrice = { input: 500_000n, output: 1_500_000n };
export const VISION_PRICE: TokenPrice = { input: 1_000_000n, output: 3_000_000n };

/** Price of one image: a fixed amount, or its tokens. */
export type ImagePrice =
  | { readonly per: "image"; readonly amount: PicoUsd; readonly input?: PicoUsd }
  | {
      readonly per: "token";
      readonly textInput: PicoUsd;
      readonly imageInput: PicoUsd;
      readonly imageOutput: PicoUsd;
    };

export const SANDBOX_IMAGE_PRICE: ImagePrice = { per: "image", amount: 10_000_000_000n };
/** For each generated image, plus for each of its input images. */
export const SANDBOX_EDIT_PRICE: ImagePrice = {
  per: "image",
  amount: 10_000_000_000n,
  input: 2_000_000_000n,
};
export const FREE_IMAGE_PRICE: ImagePrice = { per: "image", amount: 0n };
/** OpenAI's list price for gpt-image-2: text in 5, image in 8, image out 30 USD per million tokens. */
export const GPT_IMAGE_2_PRICE: ImagePrice = {
  per: "token",
  textInput: 5_000_000n,
  imageInput: 8_000_000n,
  imageOutput: 30_000_000n,
};

/** OpenAI's list price for gpt-image-1.5: text in 5, image in 8, image out 32. */
export const GPT_IMAGE_1_5_PRICE: ImagePrice = {
  per: "token",
  textInput: 5_000_000n,
  imageInput: 8_000_000n,
  imageOutput: 32_000_000n,
};
/** OpenAI's list price for gpt-image-1-mini: text in 2, image in 2.50, image out 8. */
export const GPT_IMAGE_1_MINI_PRICE: ImagePrice = {
  per: "token",
  textInput: 2_000_000n,
  imageInput: 2_500_000n,
  imageOutput: 8_000_000n,
};

const PICO_DIGITS = 12;

/** Prints an amount as a JSON number in USD: all its digits, no exponent, no trailing zeros. */
export function formatUsd(amount: PicoUsd): string {
  if (amount === 0n) return "0";
  const digits = amount.toString().padStart(PICO_DIGITS + 1, "0");
  const whole = digits.slice(0, -PICO_DIGITS);
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 48 && end > whole.length) end--;
  return end === whole.length ? whole : `${whole}.${digits.slice(whole.length, end)}`;
}
