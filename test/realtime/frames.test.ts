/** A batch is encoded once per format, and a subscriber gets only the part that it lacks. */
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

test('Each format is encoded once for any number of outlets', () => {
  let made = 0
  const make = (form: string) => () => `${form} ${++made}`
  expect([batch.encoded('a', make('a')), batch.encoded('b', make('b')), batch.encoded('a', make('a'))]).toEqual([
    'a 1',
    'b 2',
    'a 1',
  ])
})

test('A subscriber with a part of a batch gets the rest, and shares it with others at the same position', () => {
  expect(batch.after(2n)).toBe(batch)
  expect(text(batch.after(3n))).toEqual(['5', '9'])
  expect(batch.after(3n)).toBe(batch.after(3n))
  expect([text(batch.after(9n)), batch.after(9n).end]).toEqual([[], 10n])
})
