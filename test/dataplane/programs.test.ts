// The programs of supervisors and the door: each one file that runs without the checkout.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bundleProgram } from '../../src/dataplane/process/machine/bundle.ts'
import { programFile } from '../../src/dataplane/process/machine/programs.ts'

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-bundle-'))
  await chmod(dataDir, 0o711)
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

const source = (name: string) => fileURLToPath(new URL(`../../src/dataplane/process/${name}`, import.meta.url))

/**
 * Module names that the program imports, from Node's loader hooks. The hooks write synchronously: they run in a separate
 * thread, and its buffered output is lost at exit.
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
  // it exits early, because it gets no configuration
  const { stdout } = await run.catch((error: { stdout: string }) => error)
  return stdout.trim().split('\n').slice(1)
}

test.for([
  ['supervisor', 'node:child_process'],
  ['door', 'node:http'],
] as const)('a %s is one file in DATA_DIR/bin that needs only Node', async ([name, needed]) => {
  const program = await programFile(dataDir, name)
  const [bin, hash, file] = path.relative(fs.realpathSync(dataDir), program).split('/')
  expect([bin, file]).toEqual(['bin', `${name}.mjs`])
  expect(hash).toMatch(/^[0-9a-f]{16}$/)
  expect(fs.readdirSync(path.dirname(program))).toEqual([`${name}.mjs`])
  const imports = await importsOf(program)
  expect(imports).toContain(needed)
  expect(imports.filter((name) => !name.startsWith('node:'))).toEqual([])
})

test('servers of one version start the same program, and another version starts another one', async () => {
  const one = await programFile(dataDir, 'supervisor')
  expect(await programFile(dataDir, 'supervisor')).toBe(one)
  expect(await programFile(dataDir, 'supervisor', source('supervisor/protocol.ts'))).not.toBe(one)
})

test('bundling fails for code that can’t be in the file', () => {
  const file = path.join(dataDir, 'source.ts')
  fs.writeFileSync(file, `import 'not-installed'`)
  expect(() => bundleProgram(file)).toThrow('not-installed')
  // an ES module has no require
  fs.writeFileSync(file, `require('node:fs')`)
  expect(() => bundleProgram(file)).toThrow('node:fs')
})
