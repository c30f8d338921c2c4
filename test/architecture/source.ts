/** Reads the files of `src` and their imports, for the rules of this folder. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export interface SourceFile {
  /** path below `src`, with slashes */
  file: string
  text: string
}

const SRC = fileURLToPath(new URL('../../src', import.meta.url))

/** Generated files. */
const WRITTEN =
  /^generated\/|^client\/openapi\.ts$|^dashboard\/(api\/(schema-types\.d|possible-types)|components\/input-fields|pages\/settings\/settings-fragments)\.ts$/

/** Returns every file that is written by hand. */
export function readSource(): SourceFile[] {
  return (readdirSync(SRC, { recursive: true }) as string[])
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => /\.(m?ts|tsx|css)$/.test(file) && !WRITTEN.test(file))
    .map((file) => ({ file, text: readFileSync(path.join(SRC, file), 'utf8') }))
}

/** Returns each import once, types and `import()` included: a path below `src` for own files, the name of a package otherwise. */
export function importsOf({ file, text }: SourceFile): string[] {
  const specifiers = [...withoutComments(text).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^'\n]+)'/g)].map((m) => m[1]!)
  const resolved = specifiers.map((s) => (s.startsWith('.') ? path.posix.join(path.posix.dirname(file), s) : s))
  return [...new Set(resolved)]
}

/** Removes comments. A trailing comment begins with two slashes and a space, so URLs in strings stay. */
export const withoutComments = (text: string): string =>
  text
    .replaceAll(/^\s*\/\*.*?\*\//gms, '')
    .replaceAll(/^\s*\/\/.*$/gm, '')
    .replaceAll(/\s\/\/ .*$/gm, '')
