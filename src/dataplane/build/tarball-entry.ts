/**
 * What an entry of a tarball may be. Names come from strangers: checked before anything is done with them, and
 * shown only in a form that can't play tricks on who reads it.
 */
import { StepFailure } from '../output/step-failure.ts'

/** entries, counting the folders that are only part of a name */
export const MAX_ENTRIES = 100_000
/** all that comes out of the compression */
export const MAX_UNPACKED_BYTES = 1024 ** 3
/** of a whole name; the file systems' own limit for all of a path is 4096 */
const MAX_PATH_BYTES = 1024
/** of one part of a name, as file systems have it */
const MAX_NAME_BYTES = 255

const MAX_SHOWN_CHARACTERS = 120

/** The tarball is refused because of this entry. */
export function refuse(name: string, why: string): StepFailure {
  return new StepFailure('TARBALL_INVALID', `The source tarball was refused: entry "${printable(name)}" ${why}.`)
}

/** The parts of an entry's name below the tarball's root; none for the root itself. Throws StepFailure. */
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

/** The target of a symbolic link as it was packed. Throws StepFailure for one that can't be made. */
export function linkTarget(name: string, target: string): string {
  if (target.includes('\0') || target.includes('\\') || Buffer.byteLength(target) > MAX_PATH_BYTES)
    throw refuse(name, 'is a link to what has a NUL or a backslash in its name, or one that is too long')
  return target
}

/** In one line, without what isn't shown as itself, and cut. */
export function printable(name: string): string {
  const text = name.replace(/[\p{C}\p{Zl}\p{Zp}"]/gu, '\uFFFD')
  const characters = [...text]
  return characters.length > MAX_SHOWN_CHARACTERS ? `${characters.slice(0, MAX_SHOWN_CHARACTERS).join('')}…` : text
}
