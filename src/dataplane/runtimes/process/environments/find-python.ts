/** The Python of this machine that virtual environments are made from. */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { StepFailure } from '../../../output/step-failure.ts'

export interface Python {
  /** absolute, without symlinks */
  program: string
  /** `3.12` */
  version: string
}

const exec = promisify(execFile)

/** ms for an answer */
const PROBE_TIMEOUT_MS = 30_000
/** `venv` may be a package of its own: without `ensurepip` it makes no environment with pip. */
const PROBE = 'import sys\nprint("%d.%d" % sys.version_info[:2])\nimport venv, ensurepip'

/**
 * In PATH, of the version that is `wanted` (`3.12`; null: any) if there is one, else the system's own. Throws StepFailure
 * (`TOOL_MISSING`) when none can make virtual environments.
 */
export async function findPython(searchPath: string, wanted: string | null): Promise<Python> {
  const names = [...(wanted && /^\d+(\.\d+)?$/.test(wanted) ? [`python${wanted}`] : []), 'python3']
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
      ? 'The Python of this machine has no venv, which builds of Python need: install it (Debian: python3-venv).'
      : 'Python 3 is not installed on this machine: install it, with venv (Debian: python3-venv).',
  )
}
