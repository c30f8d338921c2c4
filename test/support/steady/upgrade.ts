/** A checkout of its own, to be upgraded under the server that runs from it. */
import { execFile } from 'node:child_process'
import { appendFile, cp, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** What a server needs of one; `node_modules` is for npm to make. */
const FILES = ['src', 'prisma', 'package.json', 'package-lock.json', 'prisma.config.ts', 'tsconfig.json']
const run = promisify(execFile)

export interface Checkout {
  folder: string
  /** `rm -rf node_modules && npm ci`, as an upgrade in place does it. */
  install(): Promise<void>
  /** Gives it the packages that we have, as hard links where that can be: gone with it all the same. Linux. */
  linkPackages(): Promise<void>
  remove(): Promise<void>
}

/** `another`: a version whose supervisors' program differs from ours, too. */
export async function checkout({ another = false } = {}): Promise<Checkout> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-checkout-'))
  for (const file of FILES) await cp(path.join(ROOT, file), path.join(folder, file), { recursive: true })
  if (another) {
    const program = path.join(folder, 'src/dataplane/runtimes/process/supervisor/main.ts')
    await appendFile(program, `\nprocess.title = 'another version'\n`)
  }
  return {
    folder,
    async install() {
      await rm(path.join(folder, 'node_modules'), { recursive: true, force: true })
      await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder })
    },
    async linkPackages() {
      const packages = path.join(ROOT, 'node_modules')
      await run('cp', ['-al', packages, folder]).catch(() => run('cp', ['-a', packages, folder]))
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
