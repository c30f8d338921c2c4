/**
 * Reads files of a source. They come from strangers: a symlink in it must not make us read anything else.
 */
import fs from 'node:fs'
import path from 'node:path'
import { StepFailure } from '../output/failure.ts'

const LARGEST = 1024 * 1024

/** The file's text, or null when there is none. Throws StepFailure when it is outside of the tree or too large. */
export function readTreeFile(tree: string, file: string): string | null {
  const root = fs.realpathSync(tree)
  let real: string
  try {
    real = fs.realpathSync(path.resolve(root, file))
  } catch {
    return null
  }
  if (!real.startsWith(root + path.sep)) throw new StepFailure('CONFIG_INVALID', `"${file}" is outside of the source.`)
  const stat = fs.statSync(real)
  if (!stat.isFile()) return null
  if (stat.size > LARGEST) throw new StepFailure('CONFIG_INVALID', `"${file}" is larger than 1 MiB.`)
  return fs.readFileSync(real, 'utf8')
}

/** A JSON object in the tree, or null when there is no such file. */
export function readTreeJson(tree: string, file: string): Record<string, unknown> | null {
  const text = readTreeFile(tree, file)
  if (text === null) return null
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new StepFailure('CONFIG_INVALID', `"${file}" is not valid JSON.`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new StepFailure('CONFIG_INVALID', `"${file}" must hold a JSON object.`)
  return value as Record<string, unknown>
}
