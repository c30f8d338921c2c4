/** A program as one file. Apart from who runs it: what was built has it already, and does without esbuild. */
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

/** The source of the supervisors' program. */
export const SUPERVISOR_ENTRY = fileURLToPath(new URL('../supervisor/keeper/main.ts', import.meta.url))

interface Bundle {
  text: string
  /** the files that it was made of, absolute */
  sources: string[]
}

/** One file of a source and all that it imports, but what is Node's own. Takes a few 10 ms. */
export function bundleProgram(source: string): Bundle {
  const absWorkingDir = path.dirname(source)
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
    absWorkingDir,
    // which names are in the text does not depend on how this process was started
    tsconfigRaw: {},
  })
  const imported = Object.values(metafile.outputs).flatMap((output) => output.imports)
  const foreign = imported.filter(({ path: name, kind }) => !isBuiltin(name) || kind === 'require-call')
  const names = foreign.map((one) => one.path).join(', ')
  if (names) throw new Error(`A supervisor can't load ${names}: its program is one file, and an ES module.`)
  const sources = Object.keys(metafile.inputs).map((file) => path.join(absWorkingDir, file))
  return { text: outputFiles[0]!.text, sources }
}
