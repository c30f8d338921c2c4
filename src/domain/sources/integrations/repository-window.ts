/** A window of an integration's repositories, filtered and sorted in memory, because the provider returns all of them. */
import { z } from 'zod'
import { cut, decodeCursor, encodeCursor, type Slice, type Window, windowSize } from '../../paging/paging.ts'
import type { Repository } from './repositories.ts'

type Key = [owner: string, name: string, url: string]

const keyShape = z.tuple([z.string(), z.string(), z.string()])

/** Names in a directory may differ only in case, so the URL makes the order total. */
const keyOf = ({ owner, name, url }: Repository): Key => [owner.toLowerCase(), name.toLowerCase(), url]

export const repositoryCursor = (repository: Repository): string => encodeCursor(keyOf(repository))

/** Keeps repositories with `search` in `owner/name`, ignoring case. */
export function searchRepositories(all: readonly Repository[], search: string | null | undefined): Repository[] {
  const searched = search?.trim().toLowerCase() ?? ''
  return all.filter(({ owner, name }) => `${owner}/${name}`.toLowerCase().includes(searched))
}

/** Throws ValidationError for a bad size or cursor. */
export function windowRepositories(all: readonly Repository[], window: Window): Slice<Repository> {
  const { take, backward } = windowSize(window)
  const after = boundary(window.after, 'after')
  const before = boundary(window.before, 'before')
  const inside = all
    .filter((one) => (!after || compare(keyOf(one), after) > 0) && (!before || compare(keyOf(one), before) < 0))
    .sort((a, b) => compare(keyOf(a), keyOf(b)))
  if (backward) inside.reverse()
  return cut(window, inside.slice(0, take + 1))
}

function boundary(cursor: string | null | undefined, name: string): Key | null {
  return cursor ? decodeCursor(cursor, keyShape, ['query', name]) : null
}

function compare(a: Key, b: Key): number {
  const at = a.findIndex((part, i) => part !== b[i])
  return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1
}
