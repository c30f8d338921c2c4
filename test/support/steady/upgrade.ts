/** A separate checkout for tests that upgrade the code of a running server. */
import { execFile } from 'node:child_process'
import { appendFile, cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { removeFolder } from '../data-dir.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** Files that a server needs. npm makes `node_modules`. */
const FILES = ['src', 'prisma', 'package.json', 'package-lock.json', 'prisma.config.ts', 'tsconfig.json']
const run = promisify(execFile)

export interface Checkout {
  folder: string
  /** `rm -rf node_modules && npm ci`, like an upgrade in place. */
  install(): Promise<void>
  /** Links our packages and copies our build, so that only changed programs are built. */
  shareInstall(): Promise<void>
  remove(): Promise<void>
}

/** The programs that outlive a server. */
const PROGRAMS = ['dataplane/process/supervisor/keeper/main.ts', 'door/main.ts']

/** `another`: makes a version with a different supervisor and door. */
export async function checkout({ another = false } = {}): Promise<Checkout> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-checkout-'))
  for (const file of FILES) await cp(path.join(ROOT, file), path.join(folder, file), { recursive: true })
  if (another)
    for (const program of PROGRAMS)
      await appendFile(path.join(folder, 'src', program), `\nprocess.title = 'another version'\n`)
  return {
    folder,
    async install() {
      await rm(path.join(folder, 'node_modules'), { recursive: true, force: true })
      await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder })
    },
    async shareInstall() {
      await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
      const { name } = JSON.parse(await readFile(path.join(ROOT, 'dist/build.json'), 'utf8'))
      for (const part of ['build.json', name])
        await cp(path.join(ROOT, 'dist', part), path.join(folder, 'dist', part), { recursive: true })
    },
    remove: () => removeFolder(folder),
  }
}
