// RPC introspection serves gRPC tools in every process: its readiness (grpc.health.v1, for Kubernetes), and by
// reflection its services, so that grpcurl and the like need no proto files.
import type { DescFile, DescMessage } from "@bufbuild/protobuf";
import { toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus as Status } from "@gr/proto/health";
import { ServerReflection, type ServerReflectionRequest } from "@gr/proto/reflection";
import { pause } from "../process/pause.ts";
import { implement, type RpcService } from "./rpc-service.ts";

export function reflectionService(services: readonly RpcService[]): RpcService {
  const roots = services.map(({ desc }) => desc);
  const files = new Map<string, DescFile>();
  for (const { file } of [...roots, ServerReflection]) collect(file, files);
  const symbols = new Map<string, DescFile>();
  for (const file of files.values()) indexSymbols(file, symbols);
  const names = [...roots, ServerReflection].map(({ typeName }) => ({ name: typeName }));

  const answer = ({ messageRequest: asked }: ServerReflectionRequest) => {
    switch (asked.case) {
      case "listServices":
        return { case: "listServicesResponse", value: { service: names } } as const;
      case "fileByFilename":
        return found(files.get(asked.value));
      case "fileContainingSymbol":
        return found(symbols.get(asked.value));
      default:
        return refusal(Code.Unimplemented, "extensions are not used here");
    }
  };
  return implement(ServerReflection, {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        yield { validHost: request.host, originalRequest: request, messageResponse: answer(request) };
      }
    },
  });
}

function collect(file: DescFile, into: Map<string, DescFile>): void {
  if (into.has(file.proto.name)) return;
  into.set(file.proto.name, file);
  for (const dependency of file.dependencies) collect(dependency, into);
}

function indexSymbols(file: DescFile, into: Map<string, DescFile>): void {
  const addMessage = (message: DescMessage): void => {
    into.set(message.typeName, file);
    for (const nested of message.nestedEnums) into.set(nested.typeName, file);
    for (const nested of message.nestedMessages) addMessage(nested);
  };
  for (const message of file.messages) addMessage(message);
  for (const { typeName } of file.enums) into.set(typeName, file);
  for (const service of file.services) {
    into.set(service.typeName, file);
    for (const method of service.methods) into.set(`${service.typeName}.${method.name}`, file);
  }
}

function found(file: DescFile | undefined) {
  if (file === undefined) return refusal(Code.NotFound, "file or symbol not found");
  const closure = new Map<string, DescFile>();
  collect(file, closure);
  const protos = [...closure.values()].map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto: protos } } as const;
}

function refusal(errorCode: Code, errorMessage: string) {
  return { case: "errorResponse", value: { errorCode, errorMessage } } as const;
}

const WATCH_INTERVAL_MS = 1_000;

/** @param isReady called on every check; a Watch checks each second and reports changes. */
export function healthService(isReady: () => Promise<boolean>): RpcService {
  const status = async () => ((await isReady()) ? Status.SERVING : Status.NOT_SERVING);
  return implement(Health, {
    async check() {
      return { status: await status() };
    },
    async *watch(_request, context) {
      let last: Status | undefined;
      while (!context.signal.aborted) {
        const now = await status();
        if (now !== last) yield { status: now };
        last = now;
        await pause(WATCH_INTERVAL_MS, context.signal);
      }
    },
  });
}
