/**
 * Provides the supervisor program as one file that needs nothing of the checkout at run time. A build contains it; a server that
 * runs from source bundles it on first use.
 */
import fs from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { placePrograms } from '../../../platform/postgres/embedded/account.ts'
import { ensureCopy } from '../../../platform/programs/programs.ts'

const FILE = 'supervisor.mjs'
/** A build puts it next to the file that contains this module. */
const BUILT = fileURLToPath(new URL(`./${FILE}`, import.meta.url))

/** source file → bundled text; '' is the supervisor program */
const textCache = new Map<string, string>()

/**
 * Returns the file that supervisors of a DATA_DIR run. Call it before each start: copies that are not requested are removed
 * eventually.
 */
export async function supervisorProgram(dataDir: string, source = ''): Promise<string> {
  const text = textCache.get(source) ?? (await textOf(source))
  textCache.set(source, text)
  const folder = await ensureCopy(placePrograms(path.resolve(dataDir)), {
    identity: text,
    files: new Map([[FILE, Buffer.byteLength(text)]]),
    async write(to) {
      await writeFile(path.join(to, FILE), text)
      await chmod(path.join(to, FILE), 0o644)
    },
  })
  return path.join(folder, FILE)
}

async function textOf(source: string): Promise<string> {
  if (source === '' && fs.existsSync(BUILT)) return fs.readFileSync(BUILT, 'utf8')
  const { bundleProgram: bundle, SUPERVISOR_ENTRY: SUPERVISOR } = await import('./supervisor-bundle.ts')
  return bundle(source || SUPERVISOR).text
}
