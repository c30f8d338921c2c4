/** Programs in front of an agent's own, where this machine has them. */
import { execFileSync } from 'node:child_process'

/**
 * `--pdeathsig`: an agent's leader is killed when its keeper dies, however that does. `--no-new-privs`: no program that it
 * runs has more rights than it has itself. Only Linux has them, and not each `setpriv`.
 */
const OPTIONS = {
  ours: ['--pdeathsig', 'KILL'],
  theirs: ['--pdeathsig', 'KILL', '--no-new-privs'],
  build: ['--no-new-privs'],
}

const found = new Map<keyof typeof OPTIONS, string[]>()

/** `theirs`, `build`: under another account than ours. `ours`: may use what gives more rights, as container engines do. */
export function launcher(of: keyof typeof OPTIONS): string[] {
  let program = found.get(of)
  if (!program) {
    const options = OPTIONS[of]
    program = ['/usr/bin/setpriv', '/bin/setpriv']
      .filter((setpriv) => runs(setpriv, [...options, 'true']))
      .map((setpriv) => [setpriv, ...options])[0]
    found.set(of, program ?? [])
  }
  return program ?? []
}

function runs(program: string, args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore', env: { PATH: '/usr/bin:/bin' } })
    return true
  } catch {
    return false
  }
}
