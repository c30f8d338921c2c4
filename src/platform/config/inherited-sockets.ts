/** Finds the listening sockets that systemd passes to a service with a socket unit (sd_listen_fds(3)). */

const FIRST_FD = 3

/** Their file descriptors. Ignores variables that were meant for another process and inherited. */
export function inheritedSockets(env: Record<string, string | undefined>, pid = process.pid): number[] {
  const { LISTEN_PID, LISTEN_FDS } = env
  if (LISTEN_PID !== String(pid) || !/^[1-9]\d{0,2}$/.test(LISTEN_FDS ?? '')) return []
  return Array.from({ length: Number(LISTEN_FDS) }, (_, i) => FIRST_FD + i)
}
