/** Ranges of the charts. The address holds the name of the chosen one. */
export const RANGES = {
  '15m': { label: '15 min', words: 'the last 15 minutes', seconds: 900 },
  '1h': { label: '1 h', words: 'the last hour', seconds: 3600 },
  '6h': { label: '6 h', words: 'the last 6 hours', seconds: 21_600 },
  '24h': { label: '24 h', words: 'the last 24 hours', seconds: 86_400 },
  '7d': { label: '7 d', words: 'the last 7 days', seconds: 604_800 },
  '90d': { label: '90 d', words: 'the last 90 days', seconds: 7_776_000 },
} as const
export type RangeName = keyof typeof RANGES

export const DEFAULT_RANGE: RangeName = '1h'

export const isRange = (value: unknown): value is RangeName => typeof value === 'string' && Object.hasOwn(RANGES, value)
