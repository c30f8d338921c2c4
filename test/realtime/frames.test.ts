/** A batch is packed once for all who get it in the same form, and leaves out what one has already. */
import { expect, test } from 'vitest'
import { Batch } from '../../src/api/realtime/frames.ts'

const frame = (position: number) => ({
  cursor: `c${position}`,
  position: BigInt(position),
  value: null,
  text: `${position}`,
})
const batch = new Batch([frame(3), frame(5), frame(9)], 10n)
const text = (one: Batch) => one.frames.map((each) => each.text)

test('A form is made once, however many ask for it, and each form by itself', () => {
  let made = 0
  const make = (form: string) => () => `${form} ${++made}`
  expect([batch.encoded('a', make('a')), batch.encoded('b', make('b')), batch.encoded('a', make('a'))]).toEqual([
    'a 1',
    'b 2',
    'a 1',
  ])
})

test('Who has a part of it gets the rest, and those who have the same part share it', () => {
  expect(batch.after(2n)).toBe(batch)
  expect(text(batch.after(3n))).toEqual(['5', '9'])
  expect(batch.after(3n)).toBe(batch.after(3n))
  expect([text(batch.after(9n)), batch.after(9n).end]).toEqual([[], 10n])
})
