/** Between GraphQL's camelCase and the snake_case of the verbs. */
import { camel, snake } from '../../../domain/parsing/naming.ts'

/** Members that are open maps, as the verbs' schemas say (shapes.ts): their keys belong to the user, as those of labels. */
export const openMaps = new Set<string>()

/** The members of a flat GraphQL input by a verb's names. */
export function toSnake(input: object | null | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input ?? {}).map(([name, value]) => [snake(name), value]))
}

/** A violation's path, in GraphQL's names: `['source_config', 'cpu_limit']` → `['sourceConfig', 'cpuLimit']`. */
export function toCamelPath(path: readonly (string | number)[]): (string | number)[] {
  const map = path.findIndex((part) => openMaps.has(String(part)))
  return path.map((part, i) => (typeof part === 'number' || (map !== -1 && i > map) ? part : camel(part)))
}
