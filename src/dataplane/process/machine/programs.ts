/**
 * Provides the programs of supervisors and the door, each as one file that needs nothing of the checkout at run time. A build contains
 * them; a server that runs from source bundles them on first use.
 */
import fs from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { placePrograms } from '../../../platform/postgres/embedded/account.ts'
import { ensureCopy } from '../../../platform/programs/programs.ts'

export type ProgramName = 'supervisor' | 'door'

/** A build puts them next to the file that contains this module. */
const builtFile = (name: ProgramName) => fileURLToPath(new URL(`./${name}.mjs`, import.meta.url))

/** Where every account can reach it: DATA_DIR may be closed. */
export const doorFolder = (dataDir: string): string =>
  path.join(path.dirname(placePrograms(path.resolve(dataDir))), 'door')

/** bundled texts; by source file where a test gives one */
const textCache = new Map<string, string>()

/**
 * Returns the file that processes of a DATA_DIR run. Call it before each start: copies that are not requested are removed eventually.
 * `source`: default: ours.
 */
export async function programFile(dataDir: string, name: ProgramName, source = ''): Promise<string> {
  const key = source || name
  const text = textCache.get(key) ?? (await textOf(name, source))
  textCache.set(key, text)
  const file = `${name}.mjs`
  const folder = await ensureCopy(placePrograms(path.resolve(dataDir)), {
    identity: text,
    files: new Map([[file, Buffer.byteLength(text)]]),
    async write(to) {
      await writeFile(path.join(to, file), text)
      await chmod(path.join(to, file), 0o644)
    },
  })
  return path.join(folder, file)
}

async function textOf(name: ProgramName, source: string): Promise<string> {
  if (source === '' && fs.existsSync(builtFile(name))) return fs.readFileSync(builtFile(name), 'utf8')
  const { bundleProgram, PROGRAM_ENTRIES } = await import('./bundle.ts')
  return bundleProgram(source || PROGRAM_ENTRIES[name]).text
}
