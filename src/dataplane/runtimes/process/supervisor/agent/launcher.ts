/** Programs in front of an agent's own, where this machine has them. */
import { execFileSync } from 'node:child_process'

let found: string[] | undefined

/** An agent's leader is killed when its keeper dies, however that does. Only Linux can do that, and not each `setpriv`. */
export function launcher(): string[] {
  found ??= ['/usr/bin/setpriv', '/bin/setpriv']
    .map((program) => [program, '--pdeathsig', 'KILL'])
    .find(([program, ...options]) => runs(program!, [...options, 'true']))
  found ??= []
  return found
}

function runs(program: string, args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore', env: { PATH: '/usr/bin:/bin' } })
    return true
  } catch {
    return false
  }
}
