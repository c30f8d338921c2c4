/** The files of `src` as text, and what each of them imports. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export interface SourceFile {
  /** below `src`, with slashes */
  file: string
  text: string
}

const SRC = fileURLToPath(new URL('../../src', import.meta.url))

/** By programs. */
const WRITTEN = /^generated\/|^dashboard\/api\/(schema-types\.d|possible-types)\.ts$/

/** All that is written by hand. */
export function readSource(): SourceFile[] {
  return (readdirSync(SRC, { recursive: true }) as string[])
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => /\.(m?ts|tsx)$/.test(file) && !WRITTEN.test(file))
    .map((file) => ({ file, text: readFileSync(path.join(SRC, file), 'utf8') }))
}

/** Types, values and `import()`, each once: paths below `src` for files of ours, names for packages. */
export function importsOf({ file, text }: SourceFile): string[] {
  const specifiers = [...withoutComments(text).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^'\n]+)'/g)].map((m) => m[1]!)
  const resolved = specifiers.map((s) => (s.startsWith('.') ? path.posix.join(path.posix.dirname(file), s) : s))
  return [...new Set(resolved)]
}

/** The code alone. A comment that ends a line of code begins with two slashes and a space: addresses stay. */
export const withoutComments = (text: string): string =>
  text
    .replaceAll(/^\s*\/\*.*?\*\//gms, '')
    .replaceAll(/^\s*\/\/.*$/gm, '')
    .replaceAll(/\s\/\/ .*$/gm, '')
