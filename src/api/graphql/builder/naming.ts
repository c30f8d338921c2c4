/** Converts between GraphQL's camelCase and the verbs' snake_case. */
import { camel, snake } from '../../../domain/parsing/codec.ts'

/** Members that are open maps (shapes.ts). Users choose their keys, for example of labels, so these are not converted. */
export const openMaps = new Set<string>()

/** A flat GraphQL input with the verb's member names. */
export function toSnake(input: object | null | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input ?? {}).map(([name, value]) => [snake(name), value]))
}

/** A violation's path in GraphQL's names: `['source_config', 'cpu_limit']` → `['sourceConfig', 'cpuLimit']`. */
export function toCamelPath(path: readonly (string | number)[]): (string | number)[] {
  const map = path.findIndex((part) => openMaps.has(String(part)))
  return path.map((part, i) => (typeof part === 'number' || (map !== -1 && i > map) ? part : camel(part)))
}
