// Byte limit of one RPC message, the same on every transport.
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
