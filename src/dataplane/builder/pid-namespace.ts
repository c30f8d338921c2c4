/**
 * Runs an engine in its own process and mount namespace (Linux, root). A RUN step's processes are not the engine's children; the
 * kernel ends them with the namespace's first process.
 */
import { execFileSync } from 'node:child_process'

const UNSHARE = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']

let found: string[] | null = null

/** Words before the engine's command; empty where this machine can't create the namespaces. */
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
