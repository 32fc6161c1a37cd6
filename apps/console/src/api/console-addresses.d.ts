// Made by the build from the table of routes: where each is, without the schemas of what it takes and answers.
declare module "virtual:console-addresses" {
  export const addresses: Readonly<
    Record<import("@gr/console-api").ConsoleRouteName, { readonly method: string; readonly path: string }>
  >;
}
