/**
 * A read-only view of a source's files, for planning. The files are untrusted: a symlink must not make the server read a file
 * outside the source.
 */
import fs from 'node:fs'
import path from 'node:path'
import { parse } from 'smol-toml'
import { StepFailure } from '../../output/step-failure.ts'

/** largest file that is read */
const MAX_FILE_BYTES = 1024 * 1024

/** Paths are relative to the source root. All methods throw StepFailure for a path that leads outside, also through a symlink. */
export interface SourceTree {
  isFile(file: string): boolean
  isFolder(folder: string): boolean
  /** null: no such file. Throws StepFailure when it is larger than 1 MiB. */
  read(file: string): string | null
}

export function sourceTree(root: string): SourceTree {
  const real = fs.realpathSync(root)
  const find = (name: string): { at: string; stat: fs.Stats } | null => {
    let at: string
    try {
      at = fs.realpathSync(path.resolve(real, name))
    } catch {
      return null
    }
    if (at !== real && !at.startsWith(real + path.sep)) throw outside(name)
    return { at, stat: fs.statSync(at) }
  }
  return {
    isFile: (file) => find(file)?.stat.isFile() ?? false,
    isFolder: (folder) => find(folder)?.stat.isDirectory() ?? false,
    read(file) {
      const found = find(file)
      if (!found?.stat.isFile()) return null
      if (found.stat.size > MAX_FILE_BYTES) throw new StepFailure('CONFIG_INVALID', `"${file}" is larger than 1 MiB.`)
      return fs.readFileSync(found.at, 'utf8')
    },
  }
}

const outside = (name: string): StepFailure => new StepFailure('CONFIG_INVALID', `"${name}" is outside of the source.`)

export function readJson(tree: SourceTree, file: string): Record<string, unknown> | null {
  const text = tree.read(file)
  if (text === null) return null
  let value: unknown
  try {
    // Windows editors start files with a byte order mark
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    throw new StepFailure('CONFIG_INVALID', `"${file}" is not valid JSON.`)
  }
  if (!isObject(value)) throw new StepFailure('CONFIG_INVALID', `"${file}" must hold a JSON object.`)
  return value
}

export function readToml(tree: SourceTree, file: string): Record<string, unknown> | null {
  const text = tree.read(file)
  if (text === null) return null
  try {
    return parse(text)
  } catch (error) {
    const [first] = (error as Error).message.split('\n')
    throw new StepFailure('CONFIG_INVALID', `"${file}" is not valid TOML: ${first}`)
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const table = (parent: Record<string, unknown>, name: string): Record<string, unknown> => {
  const value = parent[name]
  return isObject(value) ? value : {}
}

/** Resolves `name` in `folder`, both relative to the source root. Throws StepFailure when the result is outside. */
export function resolveWithin(folder: string, name: string): string {
  const joined = path.posix.normalize(path.posix.join(folder, name))
  if (path.posix.isAbsolute(name) || joined === '..' || joined.startsWith('../')) throw outside(name)
  return joined.replace(/(?<=.)\/$/, '')
}

export const PYTHON_FILES = ['uv.lock', 'pyproject.toml', 'requirements.txt', 'setup.py']

export const procfileCommand = (tree: SourceTree, file: string): string | undefined =>
  /^web:[ \t]*(\S.*)$/m.exec(tree.read(file) ?? '')?.[1]?.trimEnd()
