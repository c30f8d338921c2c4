/** Finds the Python of this machine for virtual environments. */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { StepFailure } from '../../output/step-failure.ts'

export interface Python {
  program: string
  version: string
}

const exec = promisify(execFile)

const PROBE_TIMEOUT_MS = 30_000
/** Debian packages `venv` separately; without `ensurepip` an environment has no pip. */
const PROBE = 'import sys\nprint("%d.%d" % sys.version_info[:2])\nimport venv, ensurepip'

/**
 * Returns the requested version (`3.12`; null: any) from PATH if it is there, else the system's `python3`. Throws StepFailure
 * (`TOOL_MISSING`) when none can create virtual environments.
 */
export async function findPython(searchPath: string, version: string | null): Promise<Python> {
  const names = [...(version && /^\d+(\.\d+)?$/.test(version) ? [`python${version}`] : []), 'python3']
  let without = false
  for (const name of names)
    for (const folder of searchPath.split(':')) {
      const program = path.join(folder, name)
      if (!fs.existsSync(program)) continue
      try {
        const { stdout } = await exec(program, ['-I', '-c', PROBE], {
          cwd: '/',
          env: { PATH: searchPath },
          timeout: PROBE_TIMEOUT_MS,
          killSignal: 'SIGKILL',
        })
        return { program: fs.realpathSync(program), version: stdout.trim() }
      } catch {
        without = true
      }
    }
  throw new StepFailure(
    'TOOL_MISSING',
    without
      ? 'Python on this machine has no venv module, which Python builds need: install it (Debian: python3-venv).'
      : 'Python 3 is not installed on this machine: install it, with venv (Debian: python3-venv).',
  )
}
