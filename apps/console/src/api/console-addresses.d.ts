// The build creates these addresses from the table of routes, without the schemas of requests and answers.
declare module "virtual:console-addresses" {
  export const addresses: Readonly<
    Record<import("@gr/console-api").ConsoleRouteName, { readonly method: string; readonly path: string }>
  >;
}
