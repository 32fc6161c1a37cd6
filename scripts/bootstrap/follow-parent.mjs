// Loaded before the entry: ends the entry with a SIGTERM, its usual stop, when the bootstrap is gone. The channel to
// the bootstrap closes however that ended, kill -9 included; it does not keep the entry alive.
if (process.channel) {
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel.unref();
}
