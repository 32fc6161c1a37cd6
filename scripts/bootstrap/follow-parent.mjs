// This module is loaded before the entry. It stops the entry with SIGTERM, the usual stop, once the bootstrap has ended. The
// channel to the bootstrap closes at each end of the bootstrap, kill -9 included. The channel does not keep the entry alive.
if (process.channel) {
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel.unref();
  // Processes that the entry forks inherit its flags, but not this import: their channel leads to the entry.
  const at = process.execArgv.indexOf(import.meta.url);
  if (at > 0) process.execArgv.splice(at - 1, 2);
}
