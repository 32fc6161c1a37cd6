// Types of the package subset-font, which has none.
declare module "subset-font" {
  /** @returns a font with the characters of a text. @param axes values that remain of each axis */
  export default function subsetFont(
    font: Buffer,
    text: string,
    options: {
      readonly targetFormat: "woff2";
      readonly keepFeatures: string[];
      readonly noHinting: boolean;
      readonly variationAxes?: Readonly<Record<string, { readonly min: number; readonly max: number }>>;
    },
  ): Promise<Buffer>;
}
