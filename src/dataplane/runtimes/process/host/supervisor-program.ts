/**
 * The program of the supervisors: one file, made of its source at the first use, that needs nothing of the checkout any
 * more when it runs.
 */
import { createHash } from 'node:crypto'
import { chmod, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { placePrograms } from '../../../../platform/postgres/embedded/account.ts'
import { keepProgram } from '../../../../platform/programs/programs.ts'

export interface SupervisorProgram {
  /** absolute; every account can read it */
  file: string
  /** hash of its text: tells one version from another */
  build: string
}

const SOURCE = fileURLToPath(new URL('../supervisor/keeper/main.ts', import.meta.url))
const FILE = 'supervisor.mjs'

/** source → text */
const bundled = new Map<string, string>()

/**
 * Where the supervisors of a DATA_DIR are run from. To be asked before each start: a copy that is not asked for is removed
 * in the end.
 */
export async function supervisorProgram(dataDir: string, source = SOURCE): Promise<SupervisorProgram> {
  const text = bundled.get(source) ?? bundle(source)
  bundled.set(source, text)
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

/** One file of a source and all that it imports, but what is Node's own. Takes a few 10 ms. */
export function bundle(source: string): string {
  // unlike the asynchronous one this leaves no process running
  const { outputFiles, metafile } = buildSync({
    entryPoints: [source],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    charset: 'utf8',
    logLevel: 'silent',
    // the same text on every machine: paths are in its comments
    absWorkingDir: path.dirname(source),
    // which names are in the text does not depend on how this process was started
    tsconfigRaw: {},
  })
  const imported = Object.values(metafile.outputs).flatMap((output) => output.imports)
  const foreign = imported.filter(({ path: name, kind }) => !isBuiltin(name) || kind === 'require-call')
  const names = foreign.map((one) => one.path).join(', ')
  if (names) throw new Error(`A supervisor can't load ${names}: its program is one file, and an ES module.`)
  return outputFiles[0]!.text
}
