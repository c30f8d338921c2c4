/** Checks names and links of tarball entries before use. Names are untrusted: messages show them only in a printable form. */
import { StepFailure } from '../output/step-failure.ts'

/** most entries, including folders that occur only in names */
export const MAX_ENTRIES = 100_000
export const MAX_UNPACKED_BYTES = 1024 ** 3
/** most bytes of a whole name; file systems allow 4096 for an absolute path */
const MAX_PATH_BYTES = 1024
/** most bytes of one part of a name, as in file systems */
const MAX_NAME_BYTES = 255

const MAX_SHOWN_CHARACTERS = 120

export function refuse(name: string, why: string): StepFailure {
  return new StepFailure('TARBALL_INVALID', `The source tarball was refused: entry "${printable(name)}" ${why}.`)
}

/** Parts of an entry's name relative to the tarball's root; empty for the root. Throws StepFailure. */
export function partsOf(name: string): string[] {
  if (name.includes('\0')) throw refuse(name, 'has a NUL in its name')
  if (name.includes('\\') || /^[a-z]:/i.test(name))
    throw refuse(name, 'has a name with a backslash or a drive: names are separated by "/"')
  if (name.startsWith('/')) throw refuse(name, 'has an absolute name: names must be relative to the root of the source')
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw refuse(name, 'leads outside of the source by ".."')
  if (Buffer.byteLength(name) > MAX_PATH_BYTES)
    throw refuse(name, `has a name that is longer than ${MAX_PATH_BYTES} bytes`)
  if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES))
    throw refuse(name, `has a part in its name that is longer than ${MAX_NAME_BYTES} bytes`)
  return parts
}

export function linkTarget(name: string, target: string): string {
  if (target.includes('\0') || target.includes('\\') || Buffer.byteLength(target) > MAX_PATH_BYTES)
    throw refuse(name, 'is a link whose target has a NUL or a backslash, or is too long')
  return target
}

/** One line, cut, with unprintable characters replaced. */
export function printable(name: string): string {
  const text = name.replace(/[\p{C}\p{Zl}\p{Zp}"]/gu, '\uFFFD')
  const characters = [...text]
  return characters.length > MAX_SHOWN_CHARACTERS ? `${characters.slice(0, MAX_SHOWN_CHARACTERS).join('')}…` : text
}
