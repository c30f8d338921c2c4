/** "First error" of a log: which lines count as errors. */
import { expect, test } from 'vitest'
import type { Line } from '../../src/dashboard/pages/revision/log-buffer.ts'
import { findFirstError, looksLikeError } from '../../src/dashboard/pages/revision/log-hints.ts'

test.each([
  'npm error code E404',
  'npm ERR! missing script',
  'TypeError: x is not a function',
  'src/a.ts(1,2): error TS2304: Cannot find name',
  '[ERROR] it is broken',
  'Error: no such file',
  'error during build:',
  'ValueError',
])('%s', (text) => expect(looksLikeError(text)).toBe(true))

test.each([
  '0 errors',
  'Found 0 error(s)',
  'wrote error.log',
  '--log-level=error-only',
  'no error here',
  'terrible',
  'src/Error.ts',
  'retry on error, 3 times',
])('but not: %s', (text) => expect(looksLikeError(text)).toBe(false))

test('it is the program’s first error line, or the server’s failure message if that comes first', async () => {
  const line = (cursor: string, second: number, message: string, level: Line['level'] = 'info'): Line => ({
    ...{ cursor, message, level, time: `2026-01-01T00:00:0${second}.000Z`, ansi: null, attempt: 1 },
  })
  const of = (own: Line[], printed: Line[]) =>
    findFirstError(({ level }) => ({
      page: async () => ({ lines: level ? own : printed, hasMore: false }),
      follow: () => () => undefined,
    }))
  const ended = line('end', 5, 'Build command failed', 'error')
  expect(await of([ended], [line('a', 1, 'stderr is here'), line('b', 2, 'Error: gone')])).toBe('b')
  expect(await of([ended], [line('c', 6, 'Error: gone')])).toBe('end')
  expect(await of([line('gap', 0, '… older lines were removed', 'warning'), ended], [])).toBe('end')
  expect(await of([], [])).toBeNull()
})
