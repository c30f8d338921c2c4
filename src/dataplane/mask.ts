/**
 * Hides the values of secrets in whatever a build or an agent prints, before it is stored or shown.
 */

/** What stands in the place of a hidden value; the API shows the same for a value that may not be read. */
export const MASK = '••••••••'

/** Shorter values are words that output is full of (`1`, `on`, `dev`): hiding them would hide nothing and garble all. */
const SHORTEST = 4

export interface Mask {
  (text: string): string
  /** As the mask itself, for text that was cut at its end: a value of which only the beginning is left is hidden too. */
  cut(text: string): string
}

/** A function that hides these values; of a value with several lines each line too, since output comes line by line. */
export function createMask(values: Iterable<string>): Mask {
  const hidden = new Set<string>()
  for (const value of values) {
    for (const part of [value, value.trim(), ...value.split(/\r?\n/).map((line) => line.trim())])
      if (part.length >= SHORTEST) hidden.add(part)
  }
  // the longest first: a value may be part of another
  const ordered = [...hidden].sort((a, b) => b.length - a.length)
  const whole = (text: string) => {
    let masked = text
    for (const value of ordered) if (masked.includes(value)) masked = masked.replaceAll(value, MASK)
    return masked
  }
  const cut = (text: string) => {
    for (const value of ordered)
      for (let length = Math.min(value.length - 1, text.length); length >= SHORTEST; length--)
        if (text.endsWith(value.slice(0, length))) return whole(text.slice(0, -length)) + MASK
    return whole(text)
  }
  return Object.assign(whole, { cut })
}
