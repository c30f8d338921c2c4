// The program of the supervisors: one file that runs wherever it is put.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bundleProgram } from '../../src/dataplane/runtimes/process/machine/supervisor-bundle.ts'
import { supervisorProgram } from '../../src/dataplane/runtimes/process/machine/supervisor-program.ts'

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-bundle-'))
  await chmod(dataDir, 0o711)
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

const source = (name: string) => fileURLToPath(new URL(`../../src/dataplane/runtimes/process/${name}`, import.meta.url))

/**
 * What it imports when it runs, as Node itself tells: written at once, since hooks run in a thread of their own, and what its console
 * still holds is lost when the process ends.
 */
async function importsOf(file: string): Promise<string[]> {
  const script = `
    import { register } from 'node:module'
    const hooks = 'import fs from "node:fs"; export async function resolve(name, context, next) { ' +
      'fs.writeSync(1, name + String.fromCharCode(10)); return next(name, context) }'
    register('data:text/javascript,' + encodeURIComponent(hooks))
    await import(process.argv[1])`
  const args = ['--no-warnings', '--input-type=module', '-e', script, file]
  const run = promisify(execFile)(process.execPath, args, { cwd: '/', env: {} })
  run.child.stdin!.end()
  // it ends as soon as it finds that it was given no configuration
  const { stdout } = await run.catch((error: { stdout: string }) => error)
  return stdout.trim().split('\n').slice(1)
}

test('a supervisor is one file in DATA_DIR/bin that needs nothing but Node', async () => {
  const program = await supervisorProgram(dataDir)
  expect(path.relative(fs.realpathSync(dataDir), program.file)).toMatch(/^bin\/[0-9a-f]{16}\/supervisor\.mjs$/)
  expect(fs.readdirSync(path.dirname(program.file))).toEqual(['supervisor.mjs'])
  const imports = await importsOf(program.file)
  expect(imports).toContain('node:http')
  expect(imports.filter((name) => !name.startsWith('node:'))).toEqual([])
})

test('servers of one version start the same program, and another version another one', async () => {
  const one = await supervisorProgram(dataDir)
  expect(await supervisorProgram(dataDir)).toEqual(one)
  const other = await supervisorProgram(dataDir, source('supervisor/protocol.ts'))
  expect(other.build).not.toBe(one.build)
  expect(other.file).not.toBe(one.file)
})

test('what can’t be put into the file is found out before it runs', () => {
  const file = path.join(dataDir, 'source.ts')
  fs.writeFileSync(file, `import 'not-installed'`)
  expect(() => bundleProgram(file)).toThrow('not-installed')
  // Node has no require in such a file
  fs.writeFileSync(file, `require('node:fs')`)
  expect(() => bundleProgram(file)).toThrow('node:fs')
})
