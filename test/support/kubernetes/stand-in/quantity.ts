/** Quantities like `500m` or `2Gi`: parsing, comparison, and the API server's canonical form. */

const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const UNIT = 1_000_000_000n

/** `nano`: in billionths, so that sums are exact; null: no quantity. */
function parse(text: unknown): { nano: bigint; binary: boolean } | null {
  const [, whole, fraction = '', suffix = ''] = /^(\d+)(?:\.(\d+))?([A-Za-z]*)$/.exec(String(text)) ?? []
  const [decimals, powers] = [DECIMAL.indexOf(suffix), BINARY.indexOf(suffix)]
  if (whole === undefined || (decimals < 0 && powers < 0)) return null
  const factor = decimals < 0 ? UNIT * 1024n ** BigInt(powers) : 1000n ** BigInt(decimals)
  return { nano: (BigInt(whole + fraction) * factor) / 10n ** BigInt(fraction.length), binary: decimals < 0 }
}

export const isQuantity = (value: unknown): boolean => parse(value) !== null

/** In billionths; 0 for an absent or invalid quantity. */
export const nano = (value: unknown): bigint => parse(value)?.nano ?? 0n

/** The canonical form: no fraction, the largest suffix with a whole number. `2000m` → `2`, `1.5Gi` → `1536Mi`. */
export const canonical = (value: unknown): string => format(nano(value), value)

/** Formats an amount in billionths in the units of another quantity. */
export function format(amount: bigint, like: unknown): string {
  if (amount === 0n) return '0'
  const binary = parse(like)?.binary === true && amount % UNIT === 0n
  const [step, suffixes] = binary ? [1024n, BINARY] : [1000n, DECIMAL]
  let rest = binary ? amount / UNIT : amount
  let at = 0
  while (at < suffixes.length - 1 && rest % step === 0n) {
    rest /= step
    at++
  }
  return `${rest}${suffixes[at]}`
}
