// Time limits of the data plane.
import { once } from 'node:events'
import v8 from 'node:v8'
import vm from 'node:vm'
import { expect, test } from 'vitest'
import { withTimeout } from '../../src/platform/async/time-limit.ts'

v8.setFlagsFromString('--expose-gc')
const collectGarbage = vm.runInNewContext('gc') as () => void

test('a time limit fires even if the garbage collector runs before it', async () => {
  const never = new AbortController()
  const collecting = setInterval(collectGarbage, 5)
  try {
    const ended = withTimeout(50, never.signal, async (signal) => {
      if (!signal.aborted) await once(signal, 'abort')
      return signal.reason.name
    })
    expect(await ended).toBe('TimeoutError')
  } finally {
    clearInterval(collecting)
  }
})

test('work that ends before its time limit leaves no timer, and an outer signal passes its own reason on', async () => {
  const outside = new AbortController()
  expect(await withTimeout(60_000, outside.signal, async () => 'done')).toBe('done')
  const waiting = withTimeout(60_000, outside.signal, async (signal) => {
    if (!signal.aborted) await once(signal, 'abort')
    signal.throwIfAborted()
  })
  outside.abort(new Error('no longer wanted'))
  await expect(waiting).rejects.toThrow('no longer wanted')
})
