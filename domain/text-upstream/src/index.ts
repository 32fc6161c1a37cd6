// Which upstream serves text: the catalogue lists its models, the text proxy calls it, and both must mean the same.
export {
  type TextUpstream,
  type TextUpstreamKind,
  textUpstreamConfig,
  textUpstreamOf,
} from "./text-upstream-config.ts";
