/** Starts the supervisor of one deployment, a process that outlives this server and its checkout. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import type { Machine } from '../machine/machine.ts'
import { supervisorProgram } from '../machine/supervisor-program.ts'
import type { SupervisorConfig } from '../supervisor/protocol.ts'

/** Resolves when the process has its configuration, before it listens. `errors`: file for its stderr. */
export async function startSupervisor(
  dataDir: string,
  config: SupervisorConfig,
  errors: string,
  { node, searchPath }: Pick<Machine, 'node' | 'searchPath'>,
): Promise<void> {
  const { file } = await supervisorProgram(dataDir)
  const out = fs.openSync(errors, 'w', 0o600)
  try {
    const child = spawn(node, [file], {
      // inherits no folder or environment of the server, so that both can be removed
      cwd: '/',
      env: { PATH: searchPath },
      detached: true,
      stdio: ['pipe', 'ignore', out],
    })
    await new Promise<void>((resolve, reject) => {
      child.on('error', reject)
      // it ended early; the caller notices that it does not listen
      child.stdin!.on('error', () => resolve())
      child.stdin!.end(`${JSON.stringify(config)}\n`, () => resolve())
    })
    child.unref()
  } finally {
    fs.closeSync(out)
  }
}
