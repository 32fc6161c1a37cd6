// RpcService pairs a protobuf service with its implementation, for the network and for calls within a process.
// The compiler checks the pair in `implement` only; a list of services has no common type for their methods.
import type { DescService } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";

/** One RPC service and its implementation. */
export interface RpcService {
  readonly desc: DescService;
  readonly impl: Partial<ServiceImpl<DescService>>;
}

/** Returns the pair after the compiler has checked the methods. */
export function implement<Desc extends DescService>(desc: Desc, impl: ServiceImpl<Desc>): RpcService {
  return { desc, impl: impl as Partial<ServiceImpl<DescService>> };
}
