// Loaded before the entry: ends the entry with a SIGTERM, its usual stop, when the bootstrap is gone. The channel to
// the bootstrap closes however that ended, kill -9 included; it does not keep the entry alive.
if (process.channel) {
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel.unref();
  // Processes that the entry forks inherit its flags, but not this: their channel is their own affair.
  const at = process.execArgv.indexOf(import.meta.url);
  if (at > 0) process.execArgv.splice(at - 1, 2);
}
