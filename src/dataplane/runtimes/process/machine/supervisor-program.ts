/**
 * The program of the supervisors: one file that needs nothing of the checkout any more when it runs. It is part of a build;
 * a server that runs from its sources makes it at the first use.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { placePrograms } from '../../../../platform/postgres/embedded/account.ts'
import { keepProgram } from '../../../../platform/programs/programs.ts'

export interface SupervisorProgram {
  /** absolute; every account can read it */
  file: string
  /** hash of its text: tells one version from another */
  build: string
}

const FILE = 'supervisor.mjs'
/** In a build it is beside the file that this one is part of. */
const BUILT = fileURLToPath(new URL(`./${FILE}`, import.meta.url))

/** source → text; '' stands for the supervisors' own */
const textCache = new Map<string, string>()

/**
 * Where the supervisors of a DATA_DIR are run from. To be asked before each start: a copy that is not asked for is removed
 * in the end.
 */
export async function supervisorProgram(dataDir: string, source = ''): Promise<SupervisorProgram> {
  const text = textCache.get(source) ?? (await textOf(source))
  textCache.set(source, text)
  const folder = await keepProgram(placePrograms(path.resolve(dataDir)), {
    identity: text,
    files: new Map([[FILE, Buffer.byteLength(text)]]),
    async write(to) {
      await writeFile(path.join(to, FILE), text)
      await chmod(path.join(to, FILE), 0o644)
    },
  })
  return { file: path.join(folder, FILE), build: createHash('sha256').update(text).digest('hex').slice(0, 16) }
}

async function textOf(source: string): Promise<string> {
  if (source === '' && fs.existsSync(BUILT)) return fs.readFileSync(BUILT, 'utf8')
  const { bundleProgram: bundle, SUPERVISOR_ENTRY: SUPERVISOR } = await import('./supervisor-bundle.ts')
  return bundle(source || SUPERVISOR).text
}
