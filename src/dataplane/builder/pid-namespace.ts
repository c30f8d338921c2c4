/**
 * What a RUN step starts is no child of the engine that anybody could end with it: so on Linux, as root, the engine of a
 * build has process numbers and mounts of its own, which the kernel ends with their first process.
 */
import { execFileSync } from 'node:child_process'

const UNSHARE = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']

let found: string[] | null = null

/** Words in front of the engine's own; none where this machine can't. */
export function pidNamespaceCommand(): string[] {
  found ??= works() ? UNSHARE : []
  return found
}

function works(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  try {
    const [program, ...args] = UNSHARE
    execFileSync(program!, [...args, 'true'], { stdio: 'ignore', env: { PATH: '/usr/bin:/bin' } })
    return true
  } catch {
    return false
  }
}
