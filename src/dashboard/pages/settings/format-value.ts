/** Formats field values for display, and parses typed `name=value` lines. */
import type { Field } from './fields.ts'
import { withoutNulls } from './staged-changes.ts'

export function formatValue(field: Field | undefined, value: unknown): string {
  const one = withoutNulls(value)
  if (one === null || one === '' || (Array.isArray(one) && one.length === 0)) return field?.defaultText ?? 'none'
  if (typeof one === 'boolean') return one ? 'on' : 'off'
  if (typeof one !== 'object') return String(one)
  if (field?.kind === 'names') return (one as { name: string }[]).map(({ name }) => name).join(', ')
  if (field?.kind === 'pairs') return formatPairs(one as Record<string, string>)
  if (field?.path === 'tags')
    return (one as { key: string; value: string }[]).map(({ key, value }) => `${key}: ${value}`).join('\n')
  return JSON.stringify(one, null, 2)
}

export const formatPairs = (pairs: Record<string, string> | null): string =>
  Object.entries(pairs ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')

/** Parses lines `name=value`. Returns an error message if a line has no name or no `=`. */
export function parsePairs(text: string): Record<string, string> | string {
  const pairs: Record<string, string> = {}
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const at = line.indexOf('=')
    if (at < 1) return `“${line.trim()}” is not name=value.`
    pairs[line.slice(0, at).trim()] = line.slice(at + 1)
  }
  return pairs
}

/** Parses an `.env` file. Null if no line has the form `NAME=value`. */
export function parseEnvFile(text: string): Map<string, string> | null {
  const found = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const [, name, raw] = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=(.*)$/.exec(line) ?? []
    if (name === undefined) continue
    const [, , quoted] = /^\s*(["'])(.*)\1\s*$/.exec(raw!) ?? []
    found.set(name, quoted ?? raw!.trim())
  }
  return found.size > 0 ? found : null
}
