/** Starts the supervisor of one deployment: a process that outlives this server, and the checkout that it comes from. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import type { Machine } from '../machine/machine.ts'
import { supervisorProgram } from '../machine/supervisor-program.ts'
import type { SupervisorConfig } from '../supervisor/protocol.ts'

/**
 * Resolves when it has got its settings; it listens a moment later, or has ended where another one is there already.
 * `errors`: file for what it prints.
 */
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
      // nothing of ours, so that whatever we are started from can be removed
      cwd: '/',
      env: { PATH: searchPath },
      detached: true,
      stdio: ['pipe', 'ignore', out],
    })
    await new Promise<void>((resolve, reject) => {
      child.on('error', reject)
      // it has ended at once: whoever waits for it to listen learns of that
      child.stdin!.on('error', () => resolve())
      child.stdin!.end(`${JSON.stringify(config)}\n`, () => resolve())
    })
    child.unref()
  } finally {
    fs.closeSync(out)
  }
}
