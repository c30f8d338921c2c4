/**
 * Bundles a program and its imports into one file. This module is separate because only it needs esbuild: a built server ships
 * the bundle.
 */
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

/** Sources of the bundled programs. */
export const PROGRAM_ENTRIES = {
  supervisor: fileURLToPath(new URL('../supervisor/keeper/main.ts', import.meta.url)),
  door: fileURLToPath(new URL('../../../door/main.ts', import.meta.url)),
}

interface Bundle {
  text: string
  sources: string[]
}

/** Bundles `source` with everything it imports except Node's own modules. Takes some 10 ms. */
export function bundleProgram(source: string): Bundle {
  const absWorkingDir = path.dirname(source)
  // the asynchronous build would leave a process running
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
    // makes the text the same on every machine: esbuild prints paths, relative to this folder, in comments
    absWorkingDir,
    // keeps the text independent of how this process was started
    tsconfigRaw: {},
  })
  const imported = Object.values(metafile.outputs).flatMap((output) => output.imports)
  const foreign = imported.filter(({ path: name, kind }) => !isBuiltin(name) || kind === 'require-call')
  const names = foreign.map((one) => one.path).join(', ')
  if (names) throw new Error(`A bundled program can't load ${names}: it is one file, and an ES module.`)
  const sources = Object.keys(metafile.inputs).map((file) => path.join(absWorkingDir, file))
  return { text: outputFiles[0]!.text, sources }
}
