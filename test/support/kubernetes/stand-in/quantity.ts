/** Quantities like `500m` or `2Gi`: parsing, comparison, and the API server's canonical form. */

const SUFFIXES: Record<string, { base: number; power: number }> = {
  n: { base: 10, power: -9 },
  u: { base: 10, power: -6 },
  m: { base: 10, power: -3 },
  '': { base: 10, power: 0 },
  k: { base: 10, power: 3 },
  M: { base: 10, power: 6 },
  G: { base: 10, power: 9 },
  T: { base: 10, power: 12 },
  P: { base: 10, power: 15 },
  E: { base: 10, power: 18 },
  Ki: { base: 2, power: 10 },
  Mi: { base: 2, power: 20 },
  Gi: { base: 2, power: 30 },
  Ti: { base: 2, power: 40 },
  Pi: { base: 2, power: 50 },
  Ei: { base: 2, power: 60 },
}

const PATTERN = /^([+-]?)(\d+|\d+\.\d*|\.\d+)(?:([eE][+-]?\d+)|(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?))$/

interface Parsed {
  /** in billionths, so that sums are exact */
  nano: bigint
  format: 'binary' | 'decimal' | 'exponent'
}

function parse(text: unknown): Parsed | null {
  const match = PATTERN.exec(String(text))
  if (!match) return null
  const [, sign, digits = '', exponent, suffix = ''] = match
  const [whole = '', fraction = ''] = digits.split('.')
  const { base, power } = exponent ? { base: 10, power: Number(exponent.slice(1)) } : SUFFIXES[suffix]!
  const mantissa = BigInt(whole + fraction)
  const shift = (base === 10 ? power : 0) + 9 - fraction.length
  const scaled = base === 2 ? mantissa * 2n ** BigInt(power) : mantissa
  // fractions of a billionth are rounded up, as in the API server
  const nano =
    shift >= 0 ? scaled * 10n ** BigInt(shift) : (scaled + 10n ** BigInt(-shift) - 1n) / 10n ** BigInt(-shift)
  return { nano: sign === '-' ? -nano : nano, format: exponent ? 'exponent' : base === 2 ? 'binary' : 'decimal' }
}

export const isQuantity = (value: unknown): boolean =>
  (typeof value === 'string' || typeof value === 'number') && parse(value) !== null

/** In billionths; 0 for an invalid quantity. */
export const nano = (value: unknown): bigint => (value === undefined ? 0n : (parse(value)?.nano ?? 0n))

/** The canonical form: no fraction, the largest suffix with a whole number. `2000m` → `2`, `1.5Gi` → `1536Mi`. */
export function canonical(value: unknown): string {
  const parsed = parse(value)
  if (!parsed) return String(value)
  return write(parsed.nano, parsed.format)
}

const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

function write(amount: bigint, format: Parsed['format']): string {
  if (amount === 0n) return '0'
  const binary = format === 'binary' && amount % 1_000_000_000n === 0n && abs(amount) >= 1024n * 1_000_000_000n
  const step = binary ? 1024n : 1000n
  const suffixes = binary ? BINARY : DECIMAL
  let rest = binary ? amount / 1_000_000_000n : amount
  let at = 0
  while (at < suffixes.length - 1 && rest % step === 0n) {
    rest /= step
    at++
  }
  if (format !== 'exponent') return `${rest}${suffixes[at]}`
  const power = (at - 3) * 3
  return power === 0 ? String(rest) : `${rest}e${power}`
}

const abs = (n: bigint): bigint => (n < 0n ? -n : n)

/** A sum of quantities as a quota reports it. */
export function format(amount: bigint, like: unknown): string {
  return write(amount, parse(like)?.format ?? 'decimal')
}
