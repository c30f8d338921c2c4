/** Log lines of an API server: chunks of any size, with a timestamp in front of each line. */
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { isLater, readTime, Stamps } from '../../src/dataplane/kubernetes/cluster/follow-log.ts'
import { splitLines } from '../../src/platform/http/lines.ts'

async function split(chunks: Buffer[], longest = 100): Promise<string[]> {
  const lines: string[] = []
  await splitLines(Readable.from(chunks), longest, (line) => lines.push(line))
  return lines
}

test('lines arrive whole wherever the network splits them, even inside a character', async () => {
  const text = Buffer.from('für\n\n{"a":"x\u2028y"}\nlast')
  for (let cut = 0; cut <= text.length; cut++) {
    expect(await split([text.subarray(0, cut), text.subarray(cut)])).toEqual(['für', '', '{"a":"x\u2028y"}', 'last'])
  }
})

test('an endless line uses no more memory than the limit, and the next line is whole', async () => {
  const chunks = [...Array.from({ length: 50 }, () => Buffer.from('x'.repeat(1000))), Buffer.from('\nnext\n')]
  expect(await split(chunks, 10)).toEqual(['x'.repeat(10), 'next'])
})

test('a line’s timestamp is read in nanoseconds and in any time zone', () => {
  const { time, rest } = readTime('2026-11-21T12:00:00.123456789+02:00 hello  there')
  expect(time?.at.toISOString()).toBe('2026-11-21T10:00:00.123Z')
  expect(time!.nanoseconds % 1_000_000_000n).toBe(123456789n)
  expect(rest).toBe('hello  there')
  expect(readTime('2026-11-21T10:00:00Z').rest).toBe('')
  expect(readTime('failed to open the log').time).toBeNull()
})

test('lines with the same timestamp keep their order', () => {
  const stamps = new Stamps()
  const times = ['10:00:00.1Z', '10:00:00.1Z', '10:00:00.10Z', '10:00:00.2Z', '11:00:00.3+01:00', '10:00:01Z']
  const named = times.map((time) => stamps.next(readTime(`2026-11-21T${time} x`).time!))
  for (const [index, stamp] of named.entries()) {
    expect(named.filter((other) => isLater(other, stamp))).toEqual(named.slice(index + 1))
  }
})
